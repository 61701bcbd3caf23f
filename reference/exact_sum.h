// A fixed-point number wide enough that no sum of this project rounds (a long accumulator, after
// U. Kulisch, "Computer Arithmetic and Validity").
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "reference/operand.h"

namespace samebits::reference {

// Two's complement with 448 bits above the point and 384 below. A product of two FP8 values and two
// FP32 scales is a multiple of 2^-330 (two subnormals 2^-16, two scales 2^-149) and below 2^288, so
// 2^63 of them fit.
class ExactSum {
 public:
  static constexpr int kMinExponent = -384;
  static constexpr int kMaxExponent = 319;

  // Adds significand * 2^exponent; exponent is in [kMinExponent, kMaxExponent].
  void add(std::int64_t significand, int exponent);

  // Rounded once, to nearest even, subnormals kept, overflow to Inf. Zero gives +0.
  float to_float() const;

 private:
  static constexpr int kLimbs = 13;
  std::array<std::uint64_t, kLimbs> limbs_{};  // the least significant first
};

struct BlockScales {
  float a, b;
};

// The dot product of two rows, each product times the two scales of its place in K and its 1x32
// block exponents: exact, rounded once. Terms that are not finite add as in IEEE arithmetic; NaN is
// canonical. `scales_at` is asked at each multiple of 128.
float exact_dot(const OperandRow& a, const OperandRow& b, std::int64_t k,
                const std::function<BlockScales(std::int64_t)>& scales_at);

}  // namespace samebits::reference
