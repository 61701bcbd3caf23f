// From amax to scale on the device, in the recipes' order of steps. Explicitly rounded operations:
// no compiler option changes them.
#pragma once

#include "kernels/quantize_arguments.h"
#include "kernels/quantize_chunk.cuh"

namespace samebits::kernels {

// The current and block recipes: clamp, 1 for amax 0 and Inf, one division, `largest` for Inf, and
// with powers of two the mantissa cleared (the scale is never subnormal: max / amax >= 2^-120).
template <class Target>
__device__ float scale_from_amax(float amax, const ScaleOptions& options, float largest) {
  if (amax < options.epsilon) amax = options.epsilon;
  if (amax == 0 || isinf(amax)) return 1;
  float scale = __fdiv_rn(Target::kMax, amax);
  if (isinf(scale)) scale = largest;
  return options.power_of_two ? __uint_as_float(__float_as_uint(scale) & 0xff800000) : scale;
}

// RN(1 / scale).
__device__ inline float scale_inverse(float scale) { return __frcp_rn(scale); }

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

// 2^(127 - e), for e in 0..254. 2^-127 is subnormal.
__device__ inline float mx_multiplier(std::uint32_t exponent) {
  return __uint_as_float(exponent == 254 ? 0x00400000 : (254 - exponent) << 23);
}

}  // namespace samebits::kernels
