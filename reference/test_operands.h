// Operands for the tests of the GEMM: from values, ones, random codes.
#pragma once

#include <initializer_list>
#include <random>

#include "reference/quantize.h"

namespace samebits::reference {

// Scales of one in the shape of the granularity.
inline Quantized with_unit_scales(Codes codes, Granularity granularity = Granularity::kTensor,
                                  Fp8 format = Fp8::kE4M3) {
  const BlockGrid grid = block_grid(granularity, codes.rows(), codes.cols());
  Quantized result{granularity, format, std::move(codes), {}};
  result.scale_inv.setOnes(grid.rows, grid.cols);
  return result;
}

inline Quantized ones(Eigen::Index rows, Eigen::Index k,
                      Granularity granularity = Granularity::kTensor) {
  return with_unit_scales(Codes::Constant(rows, k, fp8_saturate(1, Fp8::kE4M3)), granularity);
}

// One row of values that the format holds.
inline Quantized row_of(std::initializer_list<float> values, Fp8 format = Fp8::kE4M3) {
  Codes codes(1, static_cast<Eigen::Index>(values.size()));
  Eigen::Index i = 0;
  for (const float value : values) codes(0, i++) = fp8_saturate(value, format);
  return with_unit_scales(codes, Granularity::kTensor, format);
}

// Every finite code alike.
inline Codes random_codes(std::mt19937& random, Eigen::Index rows, Eigen::Index k,
                          Fp8 format = Fp8::kE4M3) {
  Codes codes(rows, k);
  for (Eigen::Index i = 0; i < codes.size(); ++i) {
    std::uint8_t code = 0;
    do {
      code = static_cast<std::uint8_t>(random());
    } while (!std::isfinite(fp8_value(code, format)));
    codes.data()[i] = code;
  }
  return codes;
}

}  // namespace samebits::reference
