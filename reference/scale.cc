#include "reference/scale.h"

#include <cmath>
#include <limits>

#include "reference/mutants.h"

namespace samebits::reference {

float fp8_max(Fp8 format) {
  if (mutant("maximum of the other E4M3") && format == Fp8::kE4M3) return 240;
  return format == Fp8::kE4M3 ? E4M3::max().value() : E5M2::max().value();
}

float fp8_value(std::uint8_t code, Fp8 format) {
  return format == Fp8::kE4M3 ? E4M3::from_bits(code).value() : E5M2::from_bits(code).value();
}

std::uint8_t fp8_saturate(float value, Fp8 format) {
  return format == Fp8::kE4M3 ? E4M3::saturate(value).bits() : E5M2::saturate(value).bits();
}

float largest_finite(InputType type) {
  switch (type) {
    case InputType::kBF16:
      return BF16::max().value();
    case InputType::kFP16:
      return FP16::max().value();
    case InputType::kFP32:
      break;
  }
  return std::numeric_limits<float>::max();
}

float scale_from_amax(float amax, const ScaleRule& rule) {
  if (amax < rule.epsilon && !mutant("epsilon is ignored")) amax = rule.epsilon;
  if ((amax == 0 && !mutant("zero amax is divided by")) || !std::isfinite(amax)) return 1;
  float scale = fp8_max(rule.format) / amax;
  if (std::isinf(scale) && !mutant("infinite scale is kept")) scale = rule.largest;
  if (!rule.power_of_two) return scale;
  if (mutant("power of two rounds up")) scale *= 0x1.fffffep0f;
  // Clearing the mantissa rounds down. The scale is never subnormal: max / amax >= 2^-120.
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scale) & 0xff800000);
}

float scale_inverse(float scale) {
  return 1 / (mutant("scale_inv of another scale") ? 2 * scale : scale);
}

float delayed_scale(float amax, Fp8 format, int margin, float previous) {
  if (amax == 0 || !std::isfinite(amax)) return previous;
  if (mutant("margin is ignored")) margin = 0;
  const float scale = std::ldexp(fp8_max(format), -margin) / amax;
  return std::isinf(scale) ? std::numeric_limits<float>::max() : scale;
}

E8M0 mx_exponent(float amax, Fp8 format) {
  // A multiply by the rounded reciprocal (0x3b124925 or 0x37924925), not a division.
  const float reciprocal = 1 / fp8_max(format);
  return E8M0::round_up(mutant("E8M0 of amax alone") ? amax / 256 : amax * reciprocal);
}

float mx_multiplier(E8M0 exponent) {
  if (exponent.is_nan()) return kCanonicalNan;
  return E8M0::from_bits(static_cast<std::uint8_t>(254 - exponent.bits())).value();
}

}  // namespace samebits::reference
