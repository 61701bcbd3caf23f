#include "reference/operand.h"

#include <cmath>
#include <stdexcept>

namespace samebits::reference {
namespace {

struct Decoded {
  std::int16_t significand;
  std::int16_t exponent;
};

template <class F>
Decoded decode(std::uint8_t code) {
  const float value = F::from_bits(code).value();
  if (!std::isfinite(value) || value == 0) return {0, kZeroExponent};
  const int exponent = std::max(std::ilogb(value), F::kMinExponent);  // a subnormal stays as it is
  const float significand = std::ldexp(value, kOperandFractionBits - exponent);
  return {static_cast<std::int16_t>(significand), static_cast<std::int16_t>(exponent)};
}

template <class F>
void fill_tables(std::array<float, 256>& values, std::array<Decoded, 256>& decoded) {
  for (int code = 0; code < 256; ++code) {
    const auto bits = static_cast<std::uint8_t>(code);
    values[bits] = F::from_bits(bits).value();
    decoded[bits] = decode<F>(bits);
  }
}

std::int16_t block_exponent(float scale) {
  if (std::isnan(scale)) return 0;
  int exponent = 0;
  const bool is_power = std::isfinite(scale) && std::frexp(scale, &exponent) == 0.5f;
  if (!is_power || exponent < -126) {  // frexp counts from 1/2
    throw std::invalid_argument("a 1x32 block scale is not a power of two from 2^-127 to 2^127");
  }
  return static_cast<std::int16_t>(exponent - 1);
}

}  // namespace

Operand::Operand(const Quantized& source) : source_(source) {
  std::array<Decoded, 256> decoded;
  if (source.format == Fp8::kE4M3) {
    fill_tables<E4M3>(code_values_, decoded);
  } else {
    fill_tables<E5M2>(code_values_, decoded);
  }

  const Eigen::Index rows = source.codes.rows(), k = source.codes.cols();
  significands_.resize(rows, k);
  exponents_.resize(rows, k);
  row_is_finite_.assign(static_cast<std::size_t>(rows), 1);
  for (Eigen::Index row = 0; row < rows; ++row) {
    for (Eigen::Index i = 0; i < k; ++i) {
      const std::uint8_t code = source.codes(row, i);
      significands_(row, i) = decoded[code].significand;
      exponents_(row, i) = decoded[code].exponent;
      if (!std::isfinite(code_values_[code])) row_is_finite_[static_cast<std::size_t>(row)] = 0;
    }
  }
  if (source.granularity != Granularity::k1x32) return;

  block_exponents_ = source.scale_inv.unaryExpr(&block_exponent);
  for (Eigen::Index row = 0; row < rows; ++row) {
    if (!source.scale_inv.row(row).allFinite()) row_is_finite_[static_cast<std::size_t>(row)] = 0;
  }
}

OperandRow Operand::row(Eigen::Index index) const {
  const bool has_blocks = source_.granularity == Granularity::k1x32;
  return {.significands = significands_.row(index).data(),
          .exponents = exponents_.row(index).data(),
          .block_exponents = has_blocks ? block_exponents_.row(index).data() : nullptr,
          .codes = source_.codes.row(index).data(),
          .code_values = code_values_.data(),
          .block_scales = has_blocks ? source_.scale_inv.row(index).data() : nullptr,
          .all_finite = row_is_finite_[static_cast<std::size_t>(index)] != 0};
}

}  // namespace samebits::reference
