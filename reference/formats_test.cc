#include "reference/formats.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace samebits::reference {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::array kRoundings = {Rounding::kNearestEven, Rounding::kTowardZero};
constexpr std::array kOverflows = {Overflow::kSaturate, Overflow::kToInfinityOrNan};

template <class F>
F nearest(double v, Overflow overflow = Overflow::kSaturate) {
  return F::round(v, Rounding::kNearestEven, overflow);
}

template <class F>
F negated(F f) {
  return F::from_bits(
      static_cast<typename F::Bits>(f.bits() ^ 1u << (8 * sizeof(typename F::Bits) - 1)));
}

// The next value of a source type away from zero, or toward it.
float next(float v, bool up) { return std::nextafterf(v, up ? INFINITY : 0.0f); }
double next(double v, bool up) { return std::nextafter(v, up ? kInf : 0.0); }
template <class F>
F next(F f, bool up) {
  return F::from_bits(static_cast<typename F::Bits>(f.bits() + (up ? 1 : -1)));
}

template <class F>
class Formats : public testing::Test {
 protected:
  static constexpr int kCodes = 1 << (8 * sizeof(typename F::Bits));
  static F code(int bits) { return F::from_bits(static_cast<typename F::Bits>(bits)); }

  // Calls check(lower, upper, the midpoint of their values) for each gap between finite codes >= 0.
  template <class Check>
  static void for_each_gap(const Check& check) {
    for (int bits = 0; bits < F::max().bits(); ++bits) {
      const F lower = code(bits), upper = code(bits + 1);
      check(lower, upper, (double{lower.value()} + double{upper.value()}) / 2);
    }
  }
};
using SignedFormats = testing::Types<E4M3, E5M2, FP16, BF16>;
TYPED_TEST_SUITE(Formats, SignedFormats);

template <class F>
class Fp8Formats : public Formats<F> {};
using Fp8Types = testing::Types<E4M3, E5M2>;
TYPED_TEST_SUITE(Fp8Formats, Fp8Types);

TYPED_TEST(Formats, EachCodeIsOneStepOfItsBinadeAboveTheOneBelow) {
  using F = TypeParam;
  const int mantissa_bits = std::countr_zero(unsigned{F::min_normal().bits()});
  EXPECT_EQ(F::from_bits(0).value(), 0);
  this->for_each_gap([&](F lower, F upper, double) {
    const int exponent = std::max(lower.bits() >> mantissa_bits, 1) - F::kBias;
    EXPECT_EQ(double{upper.value()} - double{lower.value()},
              std::ldexp(1.0, exponent - mantissa_bits));
  });
}

TYPED_TEST(Formats, EachCodeIsItsOwnRounding) {
  for (int bits = 0; bits < this->kCodes; ++bits) {
    const TypeParam code = this->code(bits);
    for (const Rounding rounding : kRoundings) {
      for (const Overflow overflow : kOverflows) {
        const auto again = TypeParam::round(code.value(), rounding, overflow);
        if (code.is_nan()) {
          EXPECT_EQ(again, TypeParam::nan());
        } else if (code.is_inf() && overflow == Overflow::kSaturate) {
          EXPECT_EQ(again, code.is_negative() ? negated(TypeParam::max()) : TypeParam::max());
        } else {
          EXPECT_EQ(again, code) << bits;
        }
      }
    }
  }
}

TYPED_TEST(Formats, NanInfAndFiniteCodesAreAsManyAsTheSpecificationSays) {
  int nans = 0, infs = 0;
  for (int bits = 0; bits < this->kCodes; ++bits) {
    nans += this->code(bits).is_nan();
    infs += this->code(bits).is_inf();
    EXPECT_EQ(this->code(bits).is_nan(), std::isnan(this->code(bits).value()));
    EXPECT_EQ(this->code(bits).is_inf(), std::isinf(this->code(bits).value()));
    EXPECT_EQ(this->code(bits).is_negative(), bits >= this->kCodes / 2);
  }
  constexpr bool kIsE4M3 = std::is_same_v<TypeParam, E4M3>;
  EXPECT_EQ(infs, kIsE4M3 ? 0 : 2);
  EXPECT_EQ(nans, kIsE4M3 ? 2 : 2 * (TypeParam::min_normal().bits() - 1));
}

TYPED_TEST(Formats, AMidpointGoesToTheEvenCodeAndADoubleBesideItToTheNearer) {
  using F = TypeParam;
  this->for_each_gap([](F lower, F upper, double middle) {
    EXPECT_EQ(nearest<F>(middle), lower.bits() % 2 == 0 ? lower : upper);
    EXPECT_EQ(nearest<F>(next(middle, true)), upper);
    EXPECT_EQ(nearest<F>(next(middle, false)), lower);
    EXPECT_EQ(nearest<F>(-middle), negated(nearest<F>(middle)));
    EXPECT_EQ(nearest<F>(-next(middle, true)), negated(upper));
    EXPECT_EQ(nearest<F>(-next(middle, false)), negated(lower));
  });
}

TYPED_TEST(Formats, TowardZeroKeepsTheLowerCodeUpToTheNext) {
  using F = TypeParam;
  this->for_each_gap([](F lower, F upper, double middle) {
    for (const double v : {middle, next(double{upper.value()}, false)}) {
      for (const Overflow overflow : kOverflows) {
        EXPECT_EQ(F::round(v, Rounding::kTowardZero, overflow), lower);
        EXPECT_EQ(F::round(-v, Rounding::kTowardZero, overflow), negated(lower));
      }
    }
  });
}

TYPED_TEST(Fp8Formats, FromEverySourceTypeAUlpDecidesAMidpoint) {
  using F = TypeParam;
  this->for_each_gap([](F lower, F upper, double middle) {
    const auto check = [&](auto source, auto value) {
      ASSERT_EQ(value(source), middle) << "the source type holds the midpoint";
      const F even = lower.bits() % 2 == 0 ? lower : upper;
      for (const auto& [v, expected] : {std::pair{value(source), even},
                                        {value(next(source, true)), upper},
                                        {value(next(source, false)), lower}}) {
        EXPECT_EQ(nearest<F>(v), expected);
        EXPECT_EQ(F::saturate(v), expected);
        EXPECT_EQ(F::saturate(-v), negated(expected));
      }
    };
    check(static_cast<float>(middle), [](float v) { return v; });
    check(nearest<BF16>(middle), [](BF16 v) { return v.value(); });
    check(nearest<FP16>(middle), [](FP16 v) { return v.value(); });
  });
}

TYPED_TEST(Formats, OverflowFollowsThePolicyFromHalfAStepBeyondTheMaximum) {
  using F = TypeParam;
  const F max = F::max();
  const F below = this->code(max.bits() - 1);
  const double tie = max.value() + (double{max.value()} - double{below.value()}) / 2;
  F beyond = F::nan();
  if constexpr (!std::is_same_v<F, E4M3>) beyond = F::infinity();
  const bool tie_goes_up = max.bits() % 2 != 0;

  EXPECT_EQ(nearest<F>(next(tie, false), Overflow::kToInfinityOrNan), max);
  EXPECT_EQ(nearest<F>(tie, Overflow::kToInfinityOrNan), tie_goes_up ? beyond : max);
  for (const double v : {next(tie, true), 2 * tie, 1e300, kInf}) {
    EXPECT_EQ(nearest<F>(v, Overflow::kToInfinityOrNan), beyond) << v;
    EXPECT_EQ(nearest<F>(v, Overflow::kSaturate), max) << v;
    EXPECT_EQ(nearest<F>(-v, Overflow::kSaturate), negated(max)) << v;
    EXPECT_EQ(F::round(v, Rounding::kTowardZero, Overflow::kSaturate), max) << v;
    EXPECT_EQ(F::round(v, Rounding::kTowardZero, Overflow::kToInfinityOrNan),
              std::isinf(v) ? beyond : max)
        << v;
  }
}

TYPED_TEST(Formats, ZeroKeepsItsSignAndSoDoesAnUnderflow) {
  using F = TypeParam;
  const double tie = F::min_subnormal().value() / 2.0;
  for (const double v : {0.0, 5e-324, 0x1p-1022, tie}) {
    EXPECT_EQ(nearest<F>(v), F::from_bits(0)) << v;
    EXPECT_EQ(nearest<F>(-v), negated(F::from_bits(0))) << v;
  }
  EXPECT_EQ(nearest<F>(next(tie, true)), F::min_subnormal());
}

TYPED_TEST(Formats, NanLosesItsSignAndPayload) {
  for (const std::uint64_t bits : {0x7ff0000000000001u, 0xfff8000000000000u, 0xffffffffffffffffu}) {
    const auto v = std::bit_cast<double>(bits);
    for (const Overflow overflow : kOverflows) {
      EXPECT_EQ(nearest<TypeParam>(v, overflow), TypeParam::nan());
    }
  }
  EXPECT_EQ(std::bit_cast<std::uint32_t>(TypeParam::nan().value()), 0x7fffffffu);
}

// Each of these once came out wrong somewhere: by rounding twice, by truncating, or by a table.
TEST(E4M3, RoundsOnceFromFp32AndFp64) {
  EXPECT_EQ(nearest<E4M3>(136.0020752f).value(), 144);  // through FP16: 128
  EXPECT_EQ(nearest<E4M3>(400.199585f).value(), 416);
  EXPECT_EQ(nearest<E4M3>(1.0625001f).value(), 1.125);
  EXPECT_EQ(nearest<E4M3>(126.2386f).value(), 128);
  EXPECT_EQ(nearest<E4M3>(-431.99999999999994).value(), -416);  // through FP32: -448
  EXPECT_EQ(nearest<E4M3>(464).value(), 448);
  EXPECT_EQ(nearest<E4M3>(465).value(), 448);
  EXPECT_EQ(nearest<E4M3>(500).bits(), 0x7e);
  EXPECT_EQ(nearest<E4M3>(-0x1p-10).bits(), 0x80);
}

TEST(E5M2, RoundsTiesToEvenAndOverflowsByPolicy) {
  EXPECT_EQ(nearest<E5M2>(9).value(), 8);
  EXPECT_EQ(nearest<E5M2>(1.125).value(), 1);
  EXPECT_EQ(nearest<E5M2>(61440).value(), 57344);
  EXPECT_EQ(nearest<E5M2>(61440, Overflow::kToInfinityOrNan), E5M2::infinity());
}

TEST(E8M0, EachCodeIsAPowerOfTwoAndItsOwnRounding) {
  for (int bits = 0; bits < 255; ++bits) {
    const E8M0 code = E8M0::from_bits(static_cast<std::uint8_t>(bits));
    EXPECT_EQ(code.value(), std::ldexp(1.0f, bits - 127));
    EXPECT_EQ(E8M0::round_up(code.value()), code);
  }
  EXPECT_EQ(std::bit_cast<std::uint32_t>(E8M0::from_bits(255).value()), 0x7fffffffu);
}

TEST(E8M0, RoundsUpToTheNextPowerOfTwo) {
  for (int k = -126; k < 127; ++k) {
    const double power = std::ldexp(1.0, k);
    EXPECT_EQ(E8M0::round_up(power * (1 + 0x1p-23)).bits(), k + 128);
    EXPECT_EQ(E8M0::round_up(next(power, true)).bits(), k + 128);
    EXPECT_EQ(E8M0::round_up(next(power, false)).bits(), k + 127);
  }
}

TEST(E8M0, HasAFloorAndACeiling) {
  for (const double v : {0.0, -0.0, 5e-324, 0x1p-149, 0x1p-128, 0x1p-127}) {
    EXPECT_EQ(E8M0::round_up(v).bits(), 0) << v;
  }
  EXPECT_EQ(E8M0::round_up(next(0x1p-127, true)).bits(), 1);
  for (const double v : {next(0x1p127, true), 0x1.fffffep127, 1e300, kInf}) {
    EXPECT_EQ(E8M0::round_up(v).bits(), 254) << v;
  }
  EXPECT_TRUE(E8M0::round_up(std::nan("")).is_nan());
}

}  // namespace
}  // namespace samebits::reference
