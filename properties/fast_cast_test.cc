// The fast cast gives the plain one's bytes on each instruction set of this CPU: for every FP32
// pattern in the exhaustive run, for one in 255 else.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <vector>

#include "reference/fast/cast.h"
#include "reference/fast/isa.h"
#include "reference/formats.h"
#include "reference/parallel.h"

namespace samebits::properties {
namespace {

using reference::Fp8;
using reference::fast::Isa;

constexpr std::int64_t kPatterns = std::int64_t{1} << 32;
constexpr std::int64_t kBlock = 1 << 16;

class FastCast : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("SAMEBITS_ISA", std::string(reference::fast::name(GetParam())).c_str(), 1), 0);
  }
  void TearDown() override { unsetenv("SAMEBITS_ISA"); }
};

INSTANTIATE_TEST_SUITE_P(ForcedTo, FastCast, ::testing::ValuesIn(reference::fast::available()),
                         [](const auto& isa) {
                           return std::string(reference::fast::name(isa.param));
                         });

template <class F>
std::int64_t differences(Fp8 format, float scale, std::int64_t step) {
  std::atomic<std::int64_t> different = 0;
  reference::parallel_for(0, kPatterns / step, kBlock, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> values(kBlock);
    std::vector<std::uint8_t> codes(kBlock);
    std::int64_t found = 0;
    for (std::int64_t first = begin; first < end; first += kBlock) {
      const std::int64_t count = std::min(kBlock, end - first);
      for (std::int64_t i = 0; i < count; ++i) {
        values[static_cast<std::size_t>(i)] =
            std::bit_cast<float>(static_cast<std::uint32_t>((first + i) * step));
      }
      reference::fast::cast(values.data(), count, scale, format, codes.data());
      for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        found += codes[at] != F::saturate(values[at] * scale).bits();
      }
    }
    different += found;
  });
  return different;
}

TEST_P(FastCast, GivesThePlainBytesForEveryPattern) {
  const std::int64_t step = std::getenv("SAMEBITS_EXHAUSTIVE") != nullptr ? 1 : 255;
  EXPECT_EQ(differences<reference::E4M3>(Fp8::kE4M3, 1, step), 0);
  EXPECT_EQ(differences<reference::E5M2>(Fp8::kE5M2, 1, step), 0);
}

TEST_P(FastCast, RoundsTheScaledValueOnce) {
  for (const float scale : {0x1.8p0F, 0x1.fffffep10F, -3.7e-5F, 0x1p-140F, 0.0F}) {
    EXPECT_EQ(differences<reference::E4M3>(Fp8::kE4M3, scale, 65'521), 0) << scale;
    EXPECT_EQ(differences<reference::E5M2>(Fp8::kE5M2, scale, 65'521), 0) << scale;
  }
}

}  // namespace
}  // namespace samebits::properties
