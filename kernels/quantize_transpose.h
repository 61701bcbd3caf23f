// The columnwise half of a copy that lacks it, from its rowwise half: exact where the scale does
// not depend on the direction (one a matrix, or one a 128x128 block).
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/quantize_arguments.h"

namespace samebits::kernels {

// codes [rows, cols] to transposed [cols, rows]; the two may not overlap. Throws
// std::invalid_argument (quantize_arguments.h), CudaError.
void transpose_codes(const std::uint8_t* codes, std::int64_t rows, std::int64_t cols,
                     std::uint8_t* transposed, cudaStream_t stream);

// scale_inv of a [rows, cols] operand to that of its transpose, both in the layout of
// quantize_128x128.h.
void transpose_scales_128x128(const float* scale_inv, std::int64_t rows, std::int64_t cols,
                              float* transposed, cudaStream_t stream);

}  // namespace samebits::kernels
