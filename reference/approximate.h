// Running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section
// 3.3): a computation is followed with, for each number in it, where the exact one lies and how far
// from it the computed one can be.
//
// Doubles hold all three. `value` carries its own rounding in `spread`. `spread` and `error` come
// from sums, products and maxima of numbers that are not negative, so N operations leave them at
// least (1 - 2^-53)^N of what they should be: outward() makes up for 2^32 of them. FP32 factors and
// FP8 products keep every one of them far from a double's range (2^-1022, 2^1023).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace samebits::reference {

struct Approximate {
  double value = 0;   // the exact number is within `spread` of this one,
  double spread = 0;  // >= 0
  double error = 0;   // and the computed number within `error` of the exact one, >= 0

  bool is_known() const { return spread == 0 && error == 0; }          // both are `value`
  double exact_magnitude() const { return std::abs(value) + spread; }  // >= |the exact number|
  double magnitude() const { return exact_magnitude() + error; }       // >= |the computed number|
};

inline Approximate exactly(double value) { return {value, 0, 0}; }
inline Approximate at_most(double magnitude) { return {0, magnitude, 0}; }

inline constexpr double kDoubleRounding = 0x1p-53;

// The exact sum of two computed numbers.
inline Approximate operator+(const Approximate& x, const Approximate& y) {
  const double value = x.value + y.value;
  return {value, x.spread + y.spread + kDoubleRounding * std::abs(value), x.error + y.error};
}

// Their exact product: x'y' - xy = x'(y' - y) + (x' - x)y. The fma is what `value` was rounded by.
inline Approximate operator*(const Approximate& x, const Approximate& y) {
  const double value = x.value * y.value;
  const double spread = std::abs(x.value) * y.spread + x.spread * y.exact_magnitude();
  return {value, spread + std::abs(std::fma(x.value, y.value, -value)),
          x.magnitude() * y.error + x.error * y.exact_magnitude()};
}

// A number format that rounds to nearest.
struct Precision {
  double unit;             // 2^-p with p significant bits: rounding moves x by at most unit * |x|
  double half_least;       // or, among the subnormals, by at most half of the least of them
  double largest;          // finite
  bool saturates = false;  // what is beyond becomes the largest; else there is no bound
};

// 24 bits, least subnormal 2^-149.
inline constexpr Precision kFp32Precision{0x1p-24, 0x1p-150, std::numeric_limits<float>::max()};

inline Approximate rounded(Approximate x, const Precision& to) {
  const double magnitude = x.magnitude();
  if (magnitude == 0) return x;
  double moved = std::max(to.unit * magnitude, to.half_least);
  if (!(magnitude <= to.largest)) {
    moved = to.saturates ? std::max(moved, magnitude - to.largest)
                         : std::numeric_limits<double>::infinity();
  }
  x.error += moved;
  return x;
}

// To FP32.
inline Approximate rounded(const Approximate& x) {
  const bool is_fp32 = x.is_known() && static_cast<float>(x.value) == x.value;
  return is_fp32 ? x : rounded(x, kFp32Precision);
}

// What is not finite is no bound.
inline double outward(double bound) {
  return std::isfinite(bound) ? bound * (1 + 0x1p-20) : std::numeric_limits<double>::infinity();
}

}  // namespace samebits::reference
