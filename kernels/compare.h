// Bitwise comparison of what lies on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace samebits::kernels {

struct Comparison {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t differing;  // elements whose bits differ
  std::uint64_t first;      // the lowest index among them, or kNone
};

// *result (on the device) tells how a and b differ, `count` elements of 1, 2, 4 or 8 bytes each, in
// one pass: NaN equals itself, -0 differs from +0. Throws std::invalid_argument for another element
// size, a negative count and misaligned pointers; CudaError.
void compare(const void* a, const void* b, std::int64_t count, int element_bytes,
             Comparison* result, cudaStream_t stream);

}  // namespace samebits::kernels
