// The kernels' cast of every FP32 pattern, summed up on the device: 2^32 codes are too many to
// fetch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/format.h"

namespace samebits::kernels {

constexpr std::int64_t kCastSums = 65536;

// sums[hi], for each upper half of an FP32 pattern, over all lower halves lo, with scale 1:
// (code + 1) * (lo * 0x9e3779b97f4a7c15 + 0xd1b54a32d192ed03), modulo 2^64. Throws
// std::invalid_argument (quantize_arguments.h), CudaError.
void cast_sums(Format target, std::uint64_t* sums, cudaStream_t stream);

}  // namespace samebits::kernels
