// The block recipe for activations and gradients: 128 neighbouring elements along the operand's
// inner dimension share an FP32 scale.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/quantize_arguments.h"

namespace samebits::kernels {

// Floats of scale_inv of a [rows, k] operand, in the GEMM library's layout: block b of row r lies
// at b * (rows rounded up to a multiple of 4) + r. What lies between is neither written nor read.
constexpr std::int64_t scale_count_1x128(std::int64_t rows, std::int64_t k) {
  return ceil_div(k, 128) * round_up(rows, 4);
}

// Quantises x in the directions that have codes, from one read: rowwise is the operand
// [rows, cols], columnwise the operand [cols, rows], with its own scales down the columns of x. An
// infinite scale becomes the source type's largest finite value. Throws std::invalid_argument
// (quantize_arguments.h), CudaError.
void quantize_1x128(const MatrixView& x, Format target, const ScaleOptions& options,
                    const Quantized<float>& rowwise, const Quantized<float>& columnwise,
                    cudaStream_t stream);

}  // namespace samebits::kernels
