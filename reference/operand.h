// A GEMM operand taken apart once, so that the inner loop only sees small integers.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "reference/quantize.h"

namespace samebits::reference {

inline constexpr int kOperandFractionBits = 3;
inline constexpr int kBlockOf32 = 32;

// The exponent of a zero: far below any other, also after two of them and two block exponents are
// added, and then still within 16 bits.
inline constexpr std::int16_t kZeroExponent = -4096;

// One row. A finite element is significand * 2^(exponent - kOperandFractionBits) times its block's
// 2^block_exponent; NaN and Inf have significand 0 and make `all_finite` false.
struct OperandRow {
  const std::int16_t* significands;
  const std::int16_t* exponents;
  const std::int16_t* block_exponents;  // one for each 32 elements, or null: none
  const std::uint8_t* codes;
  const float* code_values;   // of the format's 256 codes
  const float* block_scales;  // one for each 32 elements, or null
  bool all_finite;            // codes and block scales

  // Exact; for what the integers cannot say.
  double value(std::int64_t k) const {
    const double code_value = code_values[codes[k]];
    return block_scales == nullptr ? code_value : code_value * block_scales[k / kBlockOf32];
  }
};

class Operand {
 public:
  // Keeps a reference to `source`. Block exponents are those of k1x32 scales; other scales are not
  // part of an operand. Throws std::invalid_argument where a k1x32 scale is neither 2^-127 ...
  // 2^127 nor NaN.
  explicit Operand(const Quantized& source);

  OperandRow row(Eigen::Index index) const;

 private:
  const Quantized& source_;
  std::array<float, 256> code_values_;
  MatrixOf<std::int16_t> significands_;     // [rows, k]
  MatrixOf<std::int16_t> exponents_;        // [rows, k]
  MatrixOf<std::int16_t> block_exponents_;  // [rows, ceil(k / 32)], or empty
  std::vector<char> row_is_finite_;
};

}  // namespace samebits::reference
