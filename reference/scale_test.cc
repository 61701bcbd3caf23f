#include "reference/scale.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace samebits::reference {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kFloatMax = std::numeric_limits<float>::max();
constexpr std::array kFormats = {Fp8::kE4M3, Fp8::kE5M2};

std::uint32_t bits(float v) { return std::bit_cast<std::uint32_t>(v); }
float from_bits(std::uint32_t b) { return std::bit_cast<float>(b); }

// 255 exponents with mantissas at both ends and in the middle: every amax that is not NaN.
template <class Check>
void for_each_amax(const Check& check) {
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (const std::uint32_t mantissa : {0u, 1u, 0x400000u, 0x600000u, 0x7fffffu}) {
      check(from_bits(exponent << 23 | mantissa));
    }
  }
  check(kInf);
}

TEST(Scale, IsOneFp32DivisionNotOneInTheInputType) {
  EXPECT_EQ(scale_from_amax(4.28125f, {}), 448.0f / 4.28125f);
  EXPECT_NEAR(scale_from_amax(4.28125f, {}), 104.642, 0.001);
  EXPECT_EQ(scale_from_amax(448, {}), 1);
  EXPECT_EQ(scale_from_amax(57344, {.format = Fp8::kE5M2}), 1);
}

TEST(Scale, IsTheNearestFp32ToTheExactQuotient) {
  for (const Fp8 format : kFormats) {
    for_each_amax([&](float amax) {
      const float scale = scale_from_amax(amax, {.format = format});
      if (amax == 0 || std::isinf(amax) || scale == kFloatMax) return;
      // max - scale * amax is exact: 48 bits of product against a short maximum.
      const auto error = [&](float s) { return std::abs(fp8_max(format) - double{s} * amax); };
      EXPECT_LE(error(scale), error(std::nextafter(scale, 0.0f))) << amax;
      EXPECT_LE(error(scale), error(std::nextafter(scale, kInf))) << amax;
    });
  }
}

TEST(Scale, IsFiniteAndPositiveForEveryAmaxEpsilonAndOption) {
  for (const Fp8 format : kFormats) {
    for (const bool power_of_two : {false, true}) {
      for (const float epsilon : {0.0f, 1e-12f, 1.0f, kInf}) {
        for (const auto type : {InputType::kFP32, InputType::kBF16, InputType::kFP16}) {
          const ScaleRule rule{format, power_of_two, epsilon, largest_finite(type)};
          const auto check = [&](float amax) {
            const float scale = scale_from_amax(amax, rule);
            EXPECT_TRUE(scale > 0 && scale <= kFloatMax) << amax;
            EXPECT_TRUE(scale_inverse(scale) > 0 && scale_inverse(scale) <= kFloatMax) << amax;
            EXPECT_TRUE(!power_of_two || (bits(scale) & 0x7fffff) == 0) << amax;
          };
          for_each_amax(check);
          check(kNan);
        }
      }
    }
  }
}

TEST(Scale, IsOneForAnAmaxOfZeroInfAndNan) {
  for (const float amax : {0.0f, kInf, kNan}) EXPECT_EQ(scale_from_amax(amax, {}), 1) << amax;
}

TEST(Scale, ClampsToEpsilonBeforeAnythingElse) {
  EXPECT_EQ(scale_from_amax(0, {.epsilon = 2}), 224);
  EXPECT_EQ(scale_from_amax(1, {.epsilon = 2}), 224);
  EXPECT_EQ(scale_from_amax(4, {.epsilon = 2}), 112);
  EXPECT_EQ(scale_from_amax(1, {.epsilon = kInf}), 1);
  EXPECT_EQ(scale_from_amax(kNan, {.epsilon = 2}), 1);
}

TEST(Scale, IsCappedWhereTheQuotientOverflows) {
  const float bf16 = largest_finite(InputType::kBF16);
  EXPECT_EQ(scale_from_amax(1e-36f, {}), kFloatMax);
  EXPECT_EQ(bits(scale_from_amax(1e-36f, {.largest = bf16})), 0x7f7f0000u);
  EXPECT_EQ(scale_from_amax(1e-36f, {.power_of_two = true}), 0x1p127f);
  EXPECT_EQ(scale_from_amax(1e-36f, {.power_of_two = true, .largest = bf16}), 0x1p127f);
  EXPECT_EQ(largest_finite(InputType::kFP32), kFloatMax);
  EXPECT_EQ(largest_finite(InputType::kFP16), 65504);

  // The last amax whose quotient overflows, and the first whose does not.
  for (const auto& [format, last] :
       {std::pair{Fp8::kE4M3, 0x03e00000u}, {Fp8::kE5M2, 0x07600000u}}) {
    const ScaleRule rule{.format = format, .largest = 1};
    EXPECT_EQ(scale_from_amax(from_bits(last), rule), 1);
    EXPECT_GT(scale_from_amax(from_bits(last + 1), rule), 0x1p127f);
  }
}

TEST(Scale, PowerOfTwoRoundsDownAfterTheDivision) {
  const ScaleRule rule{.power_of_two = true};
  EXPECT_EQ(scale_from_amax(300, rule), 1);
  EXPECT_EQ(scale_from_amax(448, rule), 1);
  EXPECT_EQ(scale_from_amax(449, rule), 0.5);
  for_each_amax([&](float amax) {
    const float exact = scale_from_amax(amax, {}), rounded = scale_from_amax(amax, rule);
    EXPECT_TRUE(rounded <= exact && exact < 2 * double{rounded}) << amax;
  });
}

TEST(Scale, TinyAmaxGivesASubnormalInverse) {
  const float bf16 = largest_finite(InputType::kBF16);
  EXPECT_EQ(bits(scale_inverse(scale_from_amax(1e-36f, {.power_of_two = true}))), 0x00400000u);
  EXPECT_EQ(bits(scale_inverse(scale_from_amax(1e-36f, {}))), 0x00200000u);
  EXPECT_EQ(bits(scale_inverse(scale_from_amax(1e-36f, {.largest = bf16}))), 0x00202020u);
}

TEST(DelayedScale, KeepsThePreviousScaleWhereAmaxSaysNothing) {
  for (const float amax : {0.0f, kInf, kNan}) {
    EXPECT_EQ(delayed_scale(amax, Fp8::kE4M3, 0, 3.5f), 3.5f) << amax;
  }
}

TEST(DelayedScale, DividesTheMaximumLessTheMargin) {
  EXPECT_EQ(delayed_scale(10, Fp8::kE4M3, 0, 1), 44.8f);
  EXPECT_EQ(delayed_scale(10, Fp8::kE4M3, 2, 1), 11.2f);
  EXPECT_EQ(delayed_scale(7, Fp8::kE5M2, 0, 1), 8192);
  EXPECT_EQ(delayed_scale(1e-38f, Fp8::kE4M3, 0, 1), kFloatMax);
}

TEST(MxExponent, IsTheSmallestThatHoldsAmax) {
  // amax -> exponent never falls, so its steps decide it: exponent e holds amax up to
  // max*2^(e-127).
  for (const Fp8 format : kFormats) {
    const std::uint32_t underflow = format == Fp8::kE4M3 ? 0x04600001 : 0x07e00001;
    for (int e = 0; e < 254; ++e) {
      const double limit = std::ldexp(double{fp8_max(format)}, e - 127);
      if (limit > kFloatMax) break;
      const auto last = static_cast<float>(limit);
      ASSERT_EQ(double{last}, limit);
      EXPECT_EQ(mx_exponent(last, format).bits(), e);
      const float first = std::nextafter(last, kInf);
      // Here amax / max is below the step of FP32's subnormals above 2^-127, and rounds to it.
      const int expected = bits(first) == underflow ? e : e + 1;
      EXPECT_EQ(mx_exponent(first, format).bits(), std::isinf(first) ? 254 : expected)
          << std::hex << bits(first);
    }
  }
}

TEST(MxExponent, KnownAnswers) {
  EXPECT_EQ(mx_exponent(0, Fp8::kE4M3).bits(), 0x00);
  EXPECT_EQ(mx_exponent(kInf, Fp8::kE4M3).bits(), 0xfe);
  EXPECT_EQ(mx_exponent(224, Fp8::kE4M3).value(), 0.5);
  EXPECT_EQ(mx_exponent(225, Fp8::kE4M3).value(), 1);
  EXPECT_EQ(mx_exponent(57344, Fp8::kE5M2).value(), 1);
}

TEST(MxMultiplier, IsTheInversePowerAndDefinedAtBothEnds) {
  for (int e = 0; e < 255; ++e) {
    const E8M0 exponent = E8M0::from_bits(static_cast<std::uint8_t>(e));
    EXPECT_EQ(mx_multiplier(exponent), std::ldexp(1.0f, 127 - e));
    EXPECT_EQ(mx_multiplier(exponent) * exponent.value(), 1);
  }
  EXPECT_EQ(bits(mx_multiplier(E8M0::from_bits(255))), 0x7fffffffu);
}

}  // namespace
}  // namespace samebits::reference
