// The cast, held against an H200's own instruction on every FP32, FP16 and BF16 pattern.
//
// corpora/golden/cast_fp8.safetensors keeps, for each upper half-word `hi` of an FP32 pattern and
// each format, the sum over all lower half-words `lo` of (code + 1) * weight(lo) mod 2^64. A usual
// run takes every 61st upper half-word, so each sign and exponent at least twice; with
// SAMEBITS_EXHAUSTIVE set in the environment, all 65536 of them: all 2^32 patterns.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "harness/checkpoint/tensor_source.h"
#include "reference/formats.h"
#include "reference/parallel.h"

namespace samebits {
namespace {

using reference::BF16;
using reference::E4M3;
using reference::E5M2;
using reference::FP16;

constexpr std::uint32_t kHalfWords = 1 << 16;

template <class F>
F nearest_saturated(float v) {
  return F::round(v, reference::Rounding::kNearestEven, reference::Overflow::kSaturate);
}

HostTensor golden(const std::string& name) {
  return checkpoint::open_checkpoint(SAMEBITS_CORPORA "/golden/cast_fp8.safetensors")->read(name);
}

std::vector<std::uint64_t> checksum_weights() {
  std::vector<std::uint64_t> weights(kHalfWords);
  for (std::uint64_t lo = 0; lo < kHalfWords; ++lo) {
    weights[lo] = lo * 0x9e3779b97f4a7c15 + 0xd1b54a32d192ed03;
  }
  return weights;
}

// Both forms of the cast: round() is the definition, saturate() what quantise uses.
template <class F>
void expect_the_hardware_cast(const std::string& tensor) {
  const HostTensor sums = golden(tensor);
  ASSERT_EQ(sums.shape, Shape{kHalfWords});
  const std::vector<std::uint64_t> weights = checksum_weights();
  const std::uint32_t stride = std::getenv("SAMEBITS_EXHAUSTIVE") ? 1 : 61;
  const std::uint32_t count = (kHalfWords + stride - 1) / stride;

  std::atomic<std::uint64_t> compared = 0, forms_differ = 0, hardware_differs = 0;
  std::atomic<std::uint32_t> first = kHalfWords;
  reference::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint32_t hi = static_cast<std::uint32_t>(i) * stride;
      std::uint64_t sum = 0, unequal = 0;
      for (std::uint32_t lo = 0; lo < kHalfWords; ++lo) {
        const auto v = std::bit_cast<float>(hi << 16 | lo);
        const F code = F::saturate(v);
        unequal += code != nearest_saturated<F>(v);
        sum += (code.bits() + std::uint64_t{1}) * weights[lo];
      }
      compared += kHalfWords;
      forms_differ += unequal;
      if (sum == sums.at<std::uint64_t>(hi)) continue;
      ++hardware_differs;
      for (auto seen = first.load(); hi < seen && !first.compare_exchange_weak(seen, hi);) {
      }
    }
  });
  std::printf(
      "%s: %llu patterns compared, %llu differ between round and saturate; %llu of %u "
      "upper half-words differ from the H200\n",
      tensor.c_str(), static_cast<unsigned long long>(compared),
      static_cast<unsigned long long>(forms_differ),
      static_cast<unsigned long long>(hardware_differs), count);
  EXPECT_EQ(forms_differ, 0u);
  EXPECT_EQ(hardware_differs, 0u) << "first upper half-word: 0x" << std::hex << first;
}

TEST(CastGolden, EveryFp32PatternBecomesTheHardwaresE4m3Code) {
  expect_the_hardware_cast<E4M3>("e4m3_sums");
}

TEST(CastGolden, EveryFp32PatternBecomesTheHardwaresE5m2Code) {
  expect_the_hardware_cast<E5M2>("e5m2_sums");
}

TEST(CastGolden, EveryFp16AndBf16PatternBecomesTheHardwaresCodes) {
  const HostTensor codes = golden("from_16bit");
  ASSERT_EQ(codes.shape, (Shape{kHalfWords, 4}));
  int differ = 0;
  for (std::uint32_t i = 0; i < kHalfWords; ++i) {
    const float fp16 = FP16::from_bits(static_cast<std::uint16_t>(i)).value();
    const float bf16 = BF16::from_bits(static_cast<std::uint16_t>(i)).value();
    const std::uint8_t ours[] = {
        nearest_saturated<E4M3>(fp16).bits(), nearest_saturated<E5M2>(fp16).bits(),
        nearest_saturated<E4M3>(bf16).bits(), nearest_saturated<E5M2>(bf16).bits()};
    for (std::int64_t column = 0; column < 4; ++column) {
      differ += ours[column] != codes.at<std::uint8_t>(4 * std::int64_t{i} + column);
    }
  }
  std::printf("from_16bit: %u codes compared, %d differ from the H200\n", 4 * kHalfWords, differ);
  EXPECT_EQ(differ, 0);
}

}  // namespace
}  // namespace samebits
