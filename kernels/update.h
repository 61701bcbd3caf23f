// The weight after one step of SGD.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/format.h"

namespace samebits::kernels {

// updated[i] = RN_bf16(RN(w[i] - RN(learning_rate * g[i]))), the inner steps in FP32; NaN is
// 0x7fff. w is FP32, BF16 or FP16; g is FP32; updated is BF16 and may be w's own buffer if that is
// BF16. Throws std::invalid_argument (quantize_arguments.h), CudaError.
void update(const void* w, Format format, const float* g, std::int64_t count, float learning_rate,
            std::uint16_t* updated, cudaStream_t stream);

}  // namespace samebits::kernels
