// Laws of the codecs over all doubles, drawn as bit patterns. The unit tests enumerate the codes
// and the midpoints; these look everywhere else.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "properties/generators.h"
#include "reference/formats.h"

namespace samebits::properties {
namespace {

using reference::E4M3;
using reference::E5M2;
using reference::Overflow;
using reference::Rounding;

template <class F>
class CodecLaws : public testing::Test {};
using SignedFormats = testing::Types<E4M3, E5M2, reference::FP16, reference::BF16>;

template <class F>
F nearest(double v) {
  return F::round(v, Rounding::kNearestEven, Overflow::kSaturate);
}

template <class F>
F toward_zero(double v) {
  return F::round(v, Rounding::kTowardZero, Overflow::kSaturate);
}

template <class F>
void nearest_is_no_farther_than_any_finite_code() {
  const double v = *any_double();
  RC_PRE(std::abs(v) <= F::max().value());
  const double distance = std::abs(v - nearest<F>(v).value());
  for (int bits = 0; bits < 256; ++bits) {
    const F code = F::from_bits(static_cast<std::uint8_t>(bits));
    if (std::isfinite(code.value())) RC_ASSERT(distance <= std::abs(v - code.value()));
  }
}

template <class F>
void rounding_keeps_order() {
  double a = *any_double(), b = *any_double();
  RC_PRE(!std::isnan(a) && !std::isnan(b));
  if (b < a) std::swap(a, b);
  RC_ASSERT(nearest<F>(a).value() <= nearest<F>(b).value());
  RC_ASSERT(toward_zero<F>(a).value() <= toward_zero<F>(b).value());
}

template <class F>
void negation_commutes_with_rounding() {
  const double v = *any_double();
  RC_PRE(!std::isnan(v));
  const int sign = 1 << (8 * sizeof(typename F::Bits) - 1);
  RC_ASSERT(nearest<F>(-v).bits() == (nearest<F>(v).bits() ^ sign));
  RC_ASSERT(toward_zero<F>(-v).bits() == (toward_zero<F>(v).bits() ^ sign));
}

template <class F>
void toward_zero_never_grows_and_nearest_is_it_or_the_next() {
  const double v = *any_double();
  RC_PRE(!std::isnan(v));
  RC_ASSERT(std::abs(double{toward_zero<F>(v).value()}) <= std::abs(v));
  const int up = nearest<F>(v).bits() - toward_zero<F>(v).bits();
  RC_ASSERT((up == 0 || up == 1));
}

template <class F>
void saturate_is_round() {
  const float v = *any_float();
  RC_ASSERT(F::saturate(v) == nearest<F>(v));
}

TYPED_TEST_SUITE(CodecLaws, SignedFormats);

TYPED_TEST(CodecLaws, RoundingKeepsOrder) {
  EXPECT_TRUE(rc::check(rounding_keeps_order<TypeParam>));
}

TYPED_TEST(CodecLaws, NegationCommutesWithRounding) {
  EXPECT_TRUE(rc::check(negation_commutes_with_rounding<TypeParam>));
}

TYPED_TEST(CodecLaws, TowardZeroNeverGrowsAndNearestIsItOrTheNext) {
  EXPECT_TRUE(rc::check(toward_zero_never_grows_and_nearest_is_it_or_the_next<TypeParam>));
}

template <class F>
class Fp8CodecLaws : public testing::Test {};
using Fp8Formats = testing::Types<E4M3, E5M2>;
TYPED_TEST_SUITE(Fp8CodecLaws, Fp8Formats);

TYPED_TEST(Fp8CodecLaws, NearestIsNoFartherThanAnyFiniteCode) {
  EXPECT_TRUE(rc::check(nearest_is_no_farther_than_any_finite_code<TypeParam>));
}

TYPED_TEST(Fp8CodecLaws, SaturateIsRound) { EXPECT_TRUE(rc::check(saturate_is_round<TypeParam>)); }

RC_GTEST_PROP(E8M0Laws, RoundUpIsTheSmallestPowerThatHoldsTheValue, ()) {
  const double v = std::abs(*any_double());
  RC_PRE(v <= 0x1p127);
  const auto code = reference::E8M0::round_up(v);
  RC_ASSERT(v <= code.value());
  RC_ASSERT((code.bits() == 0 || code.value() / 2 < v));
}

}  // namespace
}  // namespace samebits::properties
