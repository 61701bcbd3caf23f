// The number formats of FP8 training, as classes over their bit patterns.
//
// E4M3, E5M2: OCP 8-bit Floating Point Specification (OFP8), revision 1.0.  E8M0: OCP Microscaling
// Formats (MX), revision 1.0.  FP16: IEEE 754 binary16.  BF16: the upper half of IEEE 754 binary32.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "reference/mutants.h"

namespace samebits::reference {

enum class Rounding { kNearestEven, kTowardZero };

// What a finite value beyond the largest finite code, or an infinity, becomes. Saturating: the
// largest finite code with the value's sign. Not saturating: IEEE 754 overflow by the rounding mode
// (toward zero keeps a finite value finite); E4M3 has no infinity and gives NaN.
enum class Overflow { kSaturate, kToInfinityOrNan };

inline constexpr float kCanonicalNan = std::bit_cast<float>(0x7fffffffu);

// 2^exponent for an exponent of a normal double, -1022 to 1023.
constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// A sign, exponent bits with bias 2^(n-1) - 1, and mantissa bits; exponent 0 holds the subnormals.
// With kHasInfinity the top exponent holds Inf and the NaNs (IEEE 754), without it only the pattern
// of all ones is NaN (E4M3). The magnitudes of the codes ascend with their bits.
template <int kExponentBits, int kMantissaBits, bool kHasInfinity>
class Minifloat {
 public:
  using Bits =
      std::conditional_t<1 + kExponentBits + kMantissaBits == 8, std::uint8_t, std::uint16_t>;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kMinExponent = 1 - kBias;  // of the smallest normal

  static constexpr Minifloat from_bits(Bits bits) { return Minifloat(bits); }
  static constexpr Minifloat nan() { return Minifloat(kMagnitude); }  // canonical: all ones, sign 0
  static constexpr Minifloat max() { return Minifloat(kTop - 1); }
  static constexpr Minifloat min_normal() { return Minifloat(1 << kMantissaBits); }
  static constexpr Minifloat min_subnormal() { return Minifloat(1); }
  static constexpr Minifloat infinity() requires kHasInfinity { return Minifloat(kTop); }

  // One correct rounding of a double (so of any FP32). -0 is kept, also where a negative value
  // underflows; NaN gives the canonical NaN, its sign dropped, as on an H200.
  static constexpr Minifloat round(double v, Rounding rounding, Overflow overflow);

  // The same code as round(v, kNearestEven, kSaturate): the cast of every FP8 recipe, in FP32 bit
  // arithmetic without branches, for speed.
  static constexpr Minifloat saturate(float v) requires(kMantissaBits < 4);

  constexpr Bits bits() const { return bits_; }
  constexpr bool is_nan() const { return magnitude() > (kHasInfinity ? kTop : kTop - 1); }
  constexpr bool is_inf() const { return kHasInfinity && magnitude() == kTop; }
  constexpr bool is_negative() const { return (bits_ & kSign) != 0; }

  // Exact. NaN is 0x7fffffff.
  constexpr float value() const;

  // Equal codes, not equal values: NaN equals itself and -0 differs from +0.
  friend constexpr bool operator==(Minifloat, Minifloat) = default;

 private:
  static constexpr int kSign = 1 << (kExponentBits + kMantissaBits);
  static constexpr int kMagnitude = kSign - 1;
  // The first code that is not finite: Inf, or the only NaN.
  static constexpr int kTop =
      kHasInfinity ? ((1 << kExponentBits) - 1) << kMantissaBits : kMagnitude;

  explicit constexpr Minifloat(int bits) : bits_(static_cast<Bits>(bits)) {}
  static constexpr Minifloat beyond_max(int sign, bool stays_finite) {
    if (stays_finite && !constexpr_mutant("overflow does not saturate"))
      return Minifloat(sign | (kTop - 1));
    return kHasInfinity ? Minifloat(sign | kTop) : nan();
  }
  constexpr int magnitude() const { return bits_ & kMagnitude; }

  Bits bits_;
};

using E4M3 = Minifloat<4, 3, false>;
using E5M2 = Minifloat<5, 2, true>;
using FP16 = Minifloat<5, 10, true>;
using BF16 = Minifloat<8, 7, true>;

// An exponent alone, 2^(bits - 127): the block scale of MX. 255 is NaN; no zero, no sign.
class E8M0 {
 public:
  static constexpr E8M0 from_bits(std::uint8_t bits) { return E8M0(bits); }

  // The smallest power of two >= |v|: at least 2^-127 (also for 0), at most 2^127 (also for Inf).
  // NaN gives NaN.
  static constexpr E8M0 round_up(double v) {
    if (v != v) return from_bits(0xff);
    const auto bits = std::bit_cast<std::uint64_t>(v);
    const bool is_power = (bits << 12) == 0 || constexpr_mutant("E8M0 rounds down");
    const int exponent = (static_cast<int>(bits >> 52) & 0x7ff) - 1023 + (is_power ? 0 : 1);
    return from_bits(static_cast<std::uint8_t>(std::clamp(exponent, -127, 127) + 127));
  }

  constexpr std::uint8_t bits() const { return bits_; }
  constexpr bool is_nan() const { return bits_ == 0xff; }
  // Exact (2^-127 is an FP32 subnormal). NaN is 0x7fffffff.
  constexpr float value() const {
    return is_nan() ? kCanonicalNan : static_cast<float>(power_of_two(bits_ - 127));
  }
  friend constexpr bool operator==(E8M0, E8M0) = default;

 private:
  explicit constexpr E8M0(std::uint8_t bits) : bits_(bits) {}
  std::uint8_t bits_;
};

template <int kExponentBits, int kMantissaBits, bool kHasInfinity>
constexpr float Minifloat<kExponentBits, kMantissaBits, kHasInfinity>::value() const {
  if (is_nan()) return kCanonicalNan;
  if (is_inf()) return std::bit_cast<float>(is_negative() ? 0xff800000u : 0x7f800000u);
  const int field = magnitude() >> kMantissaBits;
  const int mantissa = magnitude() & ((1 << kMantissaBits) - 1);
  const int significand = field == 0 ? mantissa : mantissa + (1 << kMantissaBits);
  const int exponent =
      constexpr_mutant("subnormals decode as normals") ? field : std::max(field, 1);
  const double step = power_of_two(exponent - kBias - kMantissaBits);
  return static_cast<float>(is_negative() ? -(significand * step) : significand * step);
}

template <int kExponentBits, int kMantissaBits, bool kHasInfinity>
constexpr auto Minifloat<kExponentBits, kMantissaBits, kHasInfinity>::round(double v,
                                                                            Rounding rounding,
                                                                            Overflow overflow)
    -> Minifloat {
  if (constexpr_mutant("double rounding")) v = static_cast<float>(v);
  if (v != v) return nan();
  const auto bits = std::bit_cast<std::uint64_t>(v);
  const int sign = (bits >> 63) != 0 ? kSign : 0;
  const int field = static_cast<int>(bits >> 52) & 0x7ff;
  if (field == 0x7ff) return beyond_max(sign, overflow == Overflow::kSaturate);

  // |v| = significand * 2^(exponent - 52). The format's step there is 2^(target - kMantissaBits).
  const int exponent = std::max(field, 1) - 1023;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const std::uint64_t significand = fraction | (std::uint64_t{field != 0} << 52);
  const int target = std::max(exponent, kMinExponent);
  // From 54 dropped bits on, |v| is below half a step; 63 keeps the shift defined.
  const int dropped = std::min((target - kMantissaBits) - (exponent - 52), 63);

  std::uint64_t steps = significand >> dropped;
  const std::uint64_t rest = significand - (steps << dropped);
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  const bool up = rest > half ||
                  (rest == half && ((steps & 1) != 0 || constexpr_mutant("ties away from zero")));
  if (rounding == Rounding::kNearestEven && up && !constexpr_mutant("cast truncates")) ++steps;

  // `steps` still holds the leading one of a normal, which counts as exponent 1; a carry out of the
  // mantissa runs into the exponent.
  const int code = ((target - kMinExponent) << kMantissaBits) + static_cast<int>(steps);
  if (constexpr_mutant("subnormals are flushed") && code < 1 << kMantissaBits)
    return Minifloat(sign);
  if (constexpr_mutant("underflow loses its sign") && code == 0) return Minifloat(0);
  if (code < kTop) return Minifloat(sign | code);
  return beyond_max(sign, overflow == Overflow::kSaturate || rounding == Rounding::kTowardZero);
}

template <int kExponentBits, int kMantissaBits, bool kHasInfinity>
constexpr auto Minifloat<kExponentBits, kMantissaBits, kHasInfinity>::saturate(float v) -> Minifloat
    requires(kMantissaBits < 4) {
  // Signed integers, masks and no conditions, so that a loop over this becomes vector code.
  constexpr auto bits_of = [](float f) { return std::bit_cast<std::int32_t>(f); };
  constexpr std::int32_t kExponent = 0x7f800000;
  constexpr std::int32_t kMinBinade = bits_of(min_normal().value());
  constexpr std::int32_t kMaxBinade = bits_of(max().value()) & kExponent;
  const std::int32_t magnitude = bits_of(v) & 0x7fffffff;
  const std::int32_t clamped = std::min(magnitude, bits_of(max().value()));

  // As in round(), a code is its binade's first code plus a count of steps. The count comes from
  // one FP32 sum with the power of two whose ulp is the step: the sum rounds to nearest even by
  // itself.
  constexpr int kDropped = 23 - kMantissaBits;
  const std::int32_t binade = std::clamp(magnitude & kExponent, kMinBinade, kMaxBinade);
  const auto aligner = std::bit_cast<float>(binade + (kDropped << 23));
  const std::int32_t steps = bits_of(std::bit_cast<float>(clamped) + aligner) - bits_of(aligner);
  const std::int32_t code = ((binade - kMinBinade) >> kDropped) + steps;

  const std::int32_t nan_mask =  // all ones for NaN, else 0
      constexpr_mutant("NaN becomes the largest code") ? 0 : (kExponent - magnitude) >> 31;
  const std::int32_t sign = (bits_of(v) >> 24) & kSign & ~nan_mask;
  return Minifloat(sign | code | (nan_mask & kMagnitude));
}

}  // namespace samebits::reference
