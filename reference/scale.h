// From amax to scale, for every recipe: pure functions of numbers.
#pragma once

#include <cstdint>

#include "reference/formats.h"

namespace samebits::reference {

enum class Fp8 { kE4M3, kE5M2 };  // the two GEMM operand formats
enum class InputType {
  kFP32,
  kBF16,
  kFP16
};  // what a matrix was stored as before it was quantised

float fp8_max(Fp8 format);                           // 448 or 57344
float fp8_value(std::uint8_t code, Fp8 format);      // exact; NaN is 0x7fffffff
std::uint8_t fp8_saturate(float value, Fp8 format);  // nearest even, NaN 0x7f
float largest_finite(InputType type);

struct ScaleRule {
  Fp8 format = Fp8::kE4M3;
  bool power_of_two = false;
  float epsilon = 0;  // lower clamp of amax, applied first
  // What an infinite scale becomes: FP32's largest in the current recipe, largest_finite(the type
  // of the matrix) in the block recipe.
  float largest = 0x1.fffffep127f;
};

// scale = RN(max / amax), see the definition for the five steps in their order. Finite and > 0 for
// every amax that is not negative, NaN included.
float scale_from_amax(float amax, const ScaleRule& rule);
float scale_inverse(float scale);  // RN(1 / scale)

// delayed: RN(max * 2^-margin / amax); amax 0, Inf or NaN keeps `previous`; an infinite scale
// becomes FP32 max.
float delayed_scale(float amax, Fp8 format, int margin, float previous);

// mx: the block's exponent, E8M0 rounded up of RN(amax * RN(1 / max)), and the multiplier
// 2^(127 - e) of its elements (254 gives 2^-127, 255 NaN).
E8M0 mx_exponent(float amax, Fp8 format);
float mx_multiplier(E8M0 exponent);

}  // namespace samebits::reference
