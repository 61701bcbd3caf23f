// What becomes of the accumulation of one output on its way to memory, as measured on an H200.
// RN is one FP32 operation, cast rounds to nearest even into the output type.
//   beta 0           v = RN(f * u + 0), but u where f is 1; D = cast(v + bias)
//   beta             v = fma(f, u, RN(beta * C));           D = cast(v + bias)
//   beta 1 in place  w = cast(v of beta 0, + bias);         D = cast(C + w): rounded twice
//   split K          w = RN(f * u); beta 0: D = cast(w + bias), FP8 cast(w + 0 + bias);
//                    else D = cast(fma(beta, C, w) + bias), in place or not
// The zero that is added makes +0 of an exact -0. f is alpha, tensorwise RN(RN(alpha * scale_a) *
// scale_b); u is rowwise RN(RN(total * scale_a) * scale_b), else the total.
#pragma once

#include "kernels/oracle_arithmetic.h"

namespace samebits::kernels::oracle {

// A binary format by its widths, the sign beside them. Where the last exponent is of specials
// alone, it holds Inf; else (E4M3) only the pattern of all ones is NaN. FP8 saturates.
struct Narrow {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;
  bool saturates;

  constexpr std::uint32_t nan() const { return (1u << (exponent_bits + mantissa_bits)) - 1; }
  constexpr std::uint32_t first_special() const {
    return has_infinity ? ((1u << exponent_bits) - 1) << mantissa_bits : nan();
  }
  constexpr std::uint32_t sign_bit() const { return nan() + 1; }
};

constexpr Narrow narrow(Format format) {
  switch (format) {
    case Format::kFP16:
      return {5, 10, true, false};
    case Format::kE4M3:
      return {4, 3, false, true};
    case Format::kE5M2:
      return {5, 2, true, true};
    default:
      return {8, 7, true, false};  // BF16
  }
}

// The bits of `value` in the format; NaN is all ones but for the sign.
constexpr std::uint32_t cast_bits(float value, Format format) {
  if (is_nan(value)) return format == Format::kFP32 ? kNan : narrow(format).nan();
  if (format == Format::kFP32) return bits_of(value);
  const Narrow n = narrow(format);
  const std::uint32_t sign = bits_of(value) >> 31 != 0 ? n.sign_bit() : 0;
  const std::uint32_t overflow = sign | (n.first_special() - (n.saturates ? 1 : 0));
  if (!is_finite(value)) return overflow;

  // |value| = significand * 2^(exponent - 23). Codes count steps of 2^(at - mantissa_bits) from
  // the first of the binade `at`; below the normals the step stays the least.
  const int exponent = std::max(exponent_field(value), 1) - 127;
  const std::uint32_t significand =
      (bits_of(value) & 0x7fffff) | (exponent_field(value) != 0 ? 0x800000 : 0);
  const int least = 2 - (1 << (n.exponent_bits - 1));
  const int at = std::max(exponent, least);
  const int dropped = std::min(at - n.mantissa_bits - (exponent - 23), 30);
  const std::uint32_t odd = significand >> dropped & 1;
  const std::uint32_t steps = (significand + (1u << (dropped - 1)) - 1 + odd) >> dropped;
  const std::uint32_t code = (static_cast<std::uint32_t>(at - least) << n.mantissa_bits) + steps;
  return code < n.first_special() ? sign | code : overflow;
}

// The value of bits of FP32, BF16 or FP16.
constexpr float widen(std::uint32_t bits, Format format) {
  if (format == Format::kFP32) return float_of(bits);
  if (format == Format::kBF16) return float_of(bits << 16);
  const std::uint32_t sign = (bits & 0x8000) << 16, field = bits >> 10 & 0x1f,
                      mantissa = bits & 0x3ff;
  if (field == 0x1f) return float_of(mantissa != 0 ? kNan : sign | 0x7f800000);
  const auto steps = static_cast<float>(static_cast<int>(field == 0 ? mantissa : mantissa + 0x400));
  const float magnitude = steps * power_of_two((field == 0 ? 1 : static_cast<int>(field)) - 25);
  return float_of(bits_of(magnitude) | sign);
}

struct Epilogue {
  Format output;
  float factor;  // f
  float beta;
  float scale_d;  // 1 without one
  bool in_place;
  bool split_k;

  constexpr bool is_fp8() const { return output == Format::kE4M3 || output == Format::kE5M2; }
  constexpr std::uint32_t store(float value) const {
    return cast_bits(is_fp8() ? value * scale_d : value, output);
  }

  // The bits of D. `bias` is null where there is none; c is read where beta is not 0.
  constexpr std::uint32_t operator()(float u, float c, const float* bias) const {
    const auto plus_bias = [bias](float value) { return bias != nullptr ? value + *bias : value; };
    if (split_k) {
      const float w = factor * u;
      if (beta != 0) return store(plus_bias(std::fma(beta, c, w)));
      return store(plus_bias(is_fp8() ? w + 0.0f : w));
    }
    const bool adds_in_place = in_place && beta == 1;
    if (beta != 0 && !adds_in_place) return store(plus_bias(std::fma(factor, u, beta * c)));
    const float v = plus_bias(factor == 1 ? u : std::fma(factor, u, 0.0f));
    return adds_in_place ? store(c + widen(store(v), output)) : store(v);
  }
};

}  // namespace samebits::kernels::oracle
