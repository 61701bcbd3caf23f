// The mx recipe: 32 neighbouring elements along the operand's inner dimension share a power of two,
// kept as an E8M0 byte.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/quantize_arguments.h"

namespace samebits::kernels {

// Bytes of scale_inv of a [rows, k] operand: [rows][ceil(k / 32)].
constexpr std::int64_t scale_count_1x32(std::int64_t rows, std::int64_t k) {
  return rows * ceil_div(k, 32);
}

// Quantises x in the directions that have codes, from one read: rowwise is the operand
// [rows, cols], columnwise the operand [cols, rows], with its own scales down the columns of x.
// Throws std::invalid_argument (quantize_arguments.h), CudaError.
void quantize_1x32(const MatrixView& x, Format target, const Quantized<std::uint8_t>& rowwise,
                   const Quantized<std::uint8_t>& columnwise, cudaStream_t stream);

}  // namespace samebits::kernels
