// One scale for a whole matrix: the current recipe (amax, then scale, then cast) and the delayed
// one (cast with a scale that is given, amax recorded).
//
// No launcher waits for the device. All throw std::invalid_argument (quantize_arguments.h) and
// CudaError.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/quantize_arguments.h"

namespace samebits::kernels {

// *cell = max |x| over `count` elements, NaN invisible; 0 for none.
void amax(const void* x, Format format, std::int64_t count, float* cell, cudaStream_t stream);

// *scale from *amax, the current recipe's rule.
void tensor_scale(const float* amax, Format target, const ScaleOptions& options, float* scale,
                  cudaStream_t stream);

struct TensorwiseCodes {
  Format format = Format::kE4M3;
  std::uint8_t* rowwise = nullptr;     // [rows, cols], or null
  std::uint8_t* columnwise = nullptr;  // [cols, rows]: the transposed bytes, or null
  float* scale_inv = nullptr;          // [1]: RN(1 / *scale), or null
};

// Casts with the scale that lies at `scale` when the kernel runs. Both directions are written in
// one pass over x (the plain form: rowwise alone, then transpose_codes). The amax of x is recorded
// at `amax` unless it is null.
void cast_tensorwise(const MatrixView& x, const float* scale, float* amax,
                     const TensorwiseCodes& codes, cudaStream_t stream);

// The current recipe: the three launches above. `amax` and `scale` are cells to work in.
void quantize_tensorwise(const MatrixView& x, const ScaleOptions& options, float* amax,
                         float* scale, const TensorwiseCodes& codes, cudaStream_t stream);

}  // namespace samebits::kernels
