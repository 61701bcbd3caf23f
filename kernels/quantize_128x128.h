// The block recipe for weights: 128 by 128 elements share an FP32 scale, so that the columnwise
// copy is the exact transpose of the rowwise one.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/quantize_arguments.h"

namespace samebits::kernels {

// Floats of scale_inv of a [rows, k] operand, in the GEMM library's layout: block (i, j) lies at
// i * (k / 128, rounded up to a multiple of 4) + j. What lies between is neither written nor read.
constexpr std::int64_t scale_count_128x128(std::int64_t rows, std::int64_t k) {
  return ceil_div(rows, 128) * round_up(ceil_div(k, 128), 4);
}

// Quantises x in the directions that have codes, from one read: rowwise is the operand
// [rows, cols], columnwise the operand [cols, rows]. An infinite scale becomes the source type's
// largest finite value. Throws std::invalid_argument (quantize_arguments.h), CudaError.
void quantize_128x128(const MatrixView& x, Format target, const ScaleOptions& options,
                      const Quantized<float>& rowwise, const Quantized<float>& columnwise,
                      cudaStream_t stream);

}  // namespace samebits::kernels
