// The accumulation of Hopper's FP8 tensor cores, and what cuBLASLt makes of it up to the epilogue,
// in plain integers and single FP32 operations: the model was measured on an H200.
//
// It is the oracle's own: written apart from the CPU reference, so that the two can be held against
// each other. All functions are constexpr, so that the device and the host run the same text.
//
// One instruction sums 32 exact products and the accumulator c:
//   * a product's exponent is the sum of its operands' exponents, also where its significand is 2
//     or more; a subnormal operand keeps the format's least exponent;
//   * E is the largest exponent among the products and c that are not zero;
//   * the magnitude of each term is cut to a multiple of 2^(E - 13), the integer sum is exact, and
//     its magnitude is cut to its 14 leading bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/format.h"

namespace samebits::kernels::oracle {

inline constexpr int kProductsPerSum = 32;
inline constexpr int kBlock = 128;  // of K: the length of a chain that is added to FP32, of a scale
inline constexpr int kFractionBits = 13;  // of a term below E, of a sum below its first bit
inline constexpr int kFp32FractionBits = 23;
inline constexpr int kOperandFractionBits = 3;     // E5M2 has two, and a zero below them
inline constexpr int kNoExponent = -1024;          // of a zero: below all others, also twice
inline constexpr std::uint32_t kNan = 0x7fffffff;  // the only NaN that the chip stores

constexpr std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
constexpr float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
constexpr int exponent_field(float value) { return static_cast<int>(bits_of(value) >> 23 & 0xff); }
constexpr bool is_finite(float value) { return exponent_field(value) != 0xff; }
constexpr bool is_nan(float value) { return (bits_of(value) & 0x7fffffff) > 0x7f800000; }

// sign * magnitude * 2^(exponent - 3); the sign is 1 or -1.
struct Element {
  int magnitude;
  int sign;
  int exponent;
};

constexpr bool is_special(std::uint8_t code, Format format) {  // Inf or NaN
  return format == Format::kE5M2 ? (code & 0x7c) == 0x7c : (code & 0x7f) == 0x7f;
}

// A special counts as zero here; see special_product().
constexpr Element decode(std::uint8_t code, Format format) {
  const int mantissa_bits = format == Format::kE5M2 ? 2 : 3;
  const int bias = format == Format::kE5M2 ? 15 : 7;
  const int field = (code & 0x7f) >> mantissa_bits;
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const int significand = field == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  const int sign = (code & 0x80) != 0 ? -1 : 1;
  if (significand == 0 || is_special(code, format)) return {0, sign, kNoExponent};
  return {significand << (kOperandFractionBits - mantissa_bits), sign, std::max(field, 1) - bias};
}

// An element in one word, [exponent:16 | sign:8 | magnitude:8], as tiles in shared memory hold it.
constexpr std::uint32_t pack(const Element& e) {
  return static_cast<std::uint32_t>(e.exponent) << 16 |
         (static_cast<std::uint32_t>(e.sign) & 0xff) << 8 | static_cast<std::uint32_t>(e.magnitude);
}
constexpr int exponent_of_word(std::uint32_t word) { return static_cast<std::int32_t>(word) >> 16; }
constexpr Element unpack(std::uint32_t word) {
  return {static_cast<int>(word & 0xff), static_cast<std::int8_t>(word >> 8 & 0xff),
          exponent_of_word(word)};
}

// 2^exponent, for exponents of normal numbers.
constexpr float power_of_two(int exponent) {
  return float_of(static_cast<std::uint32_t>(exponent + 127) << 23);
}

constexpr float value_of(std::uint8_t code, Format format) {
  if (is_special(code, format)) {
    const bool is_infinite = format == Format::kE5M2 && (code & 3) == 0;
    if (!is_infinite) return float_of(kNan);
    return float_of((code & 0x80) != 0 ? 0xff800000 : 0x7f800000);
  }
  const Element e = decode(code, format);
  if (e.magnitude == 0) return 0;
  return static_cast<float>(e.sign * e.magnitude) * power_of_two(e.exponent - kOperandFractionBits);
}

// What two codes add to the terms that are not finite: Inf, NaN (also of Inf * 0), or 0.
constexpr float special_product(std::uint8_t a, Format format_a, std::uint8_t b, Format format_b) {
  const float product = value_of(a, format_a) * value_of(b, format_b);
  return is_finite(product) ? 0 : product;
}

// One instruction: start(), look_at() every pair, start_sum(), add() every pair, result(). The
// accumulator is FP32 with at most 14 significant bits, and never subnormal: no term is below
// 2^-33.
class FusedSum {
 public:
  constexpr void start(float c) { largest_ = exponent_of(c); }

  constexpr void look_at(int exponent_a, int exponent_b) {
    largest_ = std::max(largest_, exponent_a + exponent_b);
  }

  constexpr void start_sum(float c) {
    sum_ = 0;
    if (c == 0) return;
    const int significand = static_cast<int>(bits_of(c) & 0x7fffff) | 0x800000;
    const int below = largest_ - exponent_of(c);
    const int term = significand >> std::min(kFp32FractionBits - kFractionBits + below, 31);
    sum_ = c < 0 ? -term : term;
  }

  // `b` is shifted_for_product().
  constexpr void add(const Element& a, const Element& b) {
    const int below = largest_ - a.exponent - b.exponent;
    sum_ += a.sign * b.sign * (a.magnitude * b.magnitude >> std::min(below, 31));
  }

  // The next c. One that is not finite stays what it is.
  constexpr float result(float c) const {
    if (!is_finite(c)) return c;
    if (sum_ == 0) return 0;
    const auto magnitude = static_cast<std::uint32_t>(sum_ < 0 ? -sum_ : sum_);
    const int excess = static_cast<int>(std::bit_width(magnitude)) - (kFractionBits + 1);
    const int dropped = std::max(excess, 0);
    const auto kept = static_cast<float>(static_cast<int>(magnitude >> dropped));
    return (sum_ < 0 ? -kept : kept) * power_of_two(largest_ - kFractionBits + dropped);
  }

 private:
  static constexpr int exponent_of(float c) {
    return c == 0 ? 2 * kNoExponent : exponent_field(c) - 127;
  }

  int largest_ = 0;  // E
  int sum_ = 0;      // in units of 2^(E - 13); below 2^20
};

// So that a product has the 13 fraction bits of a term.
constexpr Element shifted_for_product(Element e) {
  e.magnitude <<= kFractionBits - 2 * kOperandFractionBits;
  return e;
}

// The accumulator after an instruction some of whose terms are not finite: `special` is their sum.
constexpr float with_special(float c, float special) {
  const float sum = is_finite(c) ? special : c + special;
  return is_nan(sum) ? float_of(kNan) : sum;
}

// How a chain's result p joins the FP32 total y of its slice.
enum class Promotion { kPlain, kBoth1x128, kOne128x128 };

constexpr float promote(Promotion promotion, float y, float p, float scale_a, float scale_b) {
  if (promotion == Promotion::kPlain) return y + p;
  if (promotion == Promotion::kBoth1x128) return std::fma(scale_a, scale_b * p, y);
  return std::fma(scale_a * scale_b, p, y);
}

// Elements of K in a slice of split K. 128x128 scales come four blocks of K at a time.
constexpr std::int64_t slice_length(std::int64_t k, std::int64_t split_k, bool any_128x128) {
  if (split_k == 1) return k;
  const std::int64_t unit = any_128x128 ? 4 * kBlock : kBlock;
  return (k / split_k + unit - 1) / unit * unit;
}

}  // namespace samebits::kernels::oracle
