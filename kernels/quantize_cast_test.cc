// The kernels' cast, on every pattern, against what was recorded from an H200's own instruction.
// The recording is also what the reference is held to.
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/checkpoint/tensor_source.h"
#include "kernels/gpu_test.h"
#include "kernels/quantize_cast_sums.h"
#include "kernels/quantize_tensorwise.h"

namespace samebits::kernels {
namespace {

constexpr std::int64_t kPatterns = 65536;

// SAMEBITS_CORPORA in the environment names the folder where the program runs on another machine
// than the one that built it.
HostTensor golden(const std::string& name) {
  const char* elsewhere = std::getenv("SAMEBITS_CORPORA");
  const std::string corpora = elsewhere ? elsewhere : SAMEBITS_CORPORA;
  return checkpoint::open_checkpoint(corpora + "/golden/cast_fp8.safetensors")->read(name);
}

void expect_every_fp32_pattern(Format target, const std::string& tensor) {
  const HostTensor expected = golden(tensor);
  ASSERT_EQ(expected.shape, Shape{kCastSums});
  const Stream stream;
  const Buffer sums(kCastSums * sizeof(std::uint64_t), stream);
  cast_sums(target, sums.as<std::uint64_t>(), stream);
  const auto ours = download<std::uint64_t>(sums, stream);
  std::int64_t differ = 0, first = -1;
  for (std::int64_t hi = kCastSums - 1; hi >= 0; --hi) {
    if (ours[static_cast<std::size_t>(hi)] == expected.at<std::uint64_t>(hi)) continue;
    ++differ;
    first = hi;
  }
  std::printf("%s: 4294967296 patterns, %lld of 65536 upper half-words differ\n", tensor.c_str(),
              static_cast<long long>(differ));
  EXPECT_EQ(differ, 0) << "first upper half-word: 0x" << std::hex << first;
  EXPECT_FALSE(sums.verify_guards(stream));
}

TEST(QuantizeCast, EveryFp32PatternBecomesTheRecordedE4m3Code) {
  SAMEBITS_NEEDS_GPU();
  expect_every_fp32_pattern(Format::kE4M3, "e4m3_sums");
}

TEST(QuantizeCast, EveryFp32PatternBecomesTheRecordedE5m2Code) {
  SAMEBITS_NEEDS_GPU();
  expect_every_fp32_pattern(Format::kE5M2, "e5m2_sums");
}

TEST(QuantizeCast, EveryFp16AndBf16PatternBecomesTheRecordedCodes) {
  SAMEBITS_NEEDS_GPU();
  const HostTensor expected = golden("from_16bit");  // FP16 to E4M3, E5M2, BF16 to E4M3, E5M2
  ASSERT_EQ(expected.shape, (Shape{kPatterns, 4}));
  const Stream stream;
  std::vector<std::uint16_t> patterns(kPatterns);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  const Buffer x = upload(patterns, stream), scale = upload<float>({1}, stream);
  std::int64_t column = 0;
  for (const Format source : {Format::kFP16, Format::kBF16}) {
    for (const Format target : {Format::kE4M3, Format::kE5M2}) {
      const Buffer codes(kPatterns, stream);
      cast_tensorwise({x.data(), source, 1, kPatterns}, scale.as<float>(), nullptr,
                      {target, codes.data(), nullptr, nullptr}, stream);
      const auto ours = download<std::uint8_t>(codes, stream);
      std::int64_t differ = 0;
      for (std::int64_t i = 0; i < kPatterns; ++i) {
        differ += ours[static_cast<std::size_t>(i)] != expected.at<std::uint8_t>(4 * i + column);
      }
      EXPECT_EQ(differ, 0) << name_of(source) << " to " << name_of(target);
      ++column;
    }
  }
}

}  // namespace
}  // namespace samebits::kernels
