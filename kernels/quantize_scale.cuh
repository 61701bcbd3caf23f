// From amax to scale on the device, in the recipes' order of steps. Explicitly rounded operations:
// no compiler option changes them.
#pragma once

#include "kernels/quantize_arguments.h"
#include "kernels/quantize_chunk.cuh"

namespace samebits::kernels {

// What elements are multiplied with, and RN(1 / scale) to multiply codes with.
struct ScalePair {
  float scale, inverse;
};

// A power of two by its exponent + 127, for 0..254; 2^-127, of exponent 0, is subnormal.
__device__ inline float power_of_two(std::uint32_t exponent) {
  return __uint_as_float(exponent == 0 ? 0x00400000 : exponent << 23);
}

// RN(max / amax) with its mantissa cleared, by integers alone. With amax = a * 2^i, max = 1.75 *
// 2^j: max / amax is 2^(j - i) * 1.75 / a, at least 1 below 2^(j - i) only where a > 1.75, which is
// where the difference of the bits borrows from the exponent. No rounding reaches the next power,
// as 1.75 / (1.75 + 2^-23) is nearer to 1 - 2^-24 than to 1. Beyond 2^127 the recipe takes the
// largest finite value, whose mantissa cleared is 2^127; a subnormal amax always lies there.
template <class Target>
__device__ ScalePair power_of_two_scale(float amax) {
  const std::int32_t difference = __float_as_int(Target::kMax) - __float_as_int(amax);
  const std::int32_t exponent = min((difference >> 23) + 127, 254);
  return {power_of_two(exponent), power_of_two(254 - exponent)};
}

// The current and block recipes: clamp, 1 for amax 0 and Inf, one division, `largest` for Inf, and
// with powers of two the mantissa cleared. `largest` is 2^127 or more wherever max / amax can be
// Inf.
template <class Target>
__device__ ScalePair scale_from_amax(float amax, const ScaleOptions& options, float largest) {
  if (amax < options.epsilon) amax = options.epsilon;
  if (amax == 0 || isinf(amax)) return {1, 1};
  if (options.power_of_two) return power_of_two_scale<Target>(amax);
  float scale = __fdiv_rn(Target::kMax, amax);
  if (isinf(scale)) scale = largest;
  return {scale, __frcp_rn(scale)};
}

// The mx recipe: E8M0, the smallest power of two >= RN(amax * RN(1 / max)), as its exponent + 127;
// 0 for 0 and 254 for Inf.
template <class Target>
__device__ std::uint32_t mx_exponent(float amax) {
  const float ratio = __fmul_rn(amax, __uint_as_float(Target::kMxReciprocal));
  const std::uint32_t bits = __float_as_uint(ratio);
  const std::uint32_t exponent = bits >> 23, mantissa = bits & 0x7fffff;
  if (exponent == 0) return mantissa > 0x400000 ? 1 : 0;  // 0x400000 is 2^-127, byte 0
  return min(exponent + (mantissa != 0 ? 1 : 0), 254u);
}

}  // namespace samebits::kernels
