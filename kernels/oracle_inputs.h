// Inputs for whole GEMMs, made on the device: fixed sequences, the same on every machine.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace samebits::kernels {

// `count` BF16 numbers as activations and gradients are: about normal, of standard deviation near
// 1, but one in 512 is 2 to 64 times larger and one in 512 is subnormal or a zero. Element i
// depends on the seed and i alone. Throws std::invalid_argument, CudaError.
void fill_bf16(std::uint16_t* values, std::int64_t count, std::uint64_t seed, cudaStream_t stream);

// The same in FP32 with all 24 bits in use, of standard deviation near 256: a main_grad that
// further gradients are added to.
void fill_fp32(float* values, std::int64_t count, std::uint64_t seed, cudaStream_t stream);

}  // namespace samebits::kernels
