#include <stdexcept>
#include <string>

#include "kernels/compare.h"
#include "kernels/device/check.h"
#include "kernels/quantize_arguments.h"
#include "kernels/quantize_chunk.cuh"

namespace samebits::kernels {
namespace {

constexpr int kVectorsPerThread = 4;

__device__ void add(Comparison& sum, std::int64_t index, bool differs) {
  if (!differs) return;
  ++sum.differing;
  sum.first = min(sum.first, static_cast<std::uint64_t>(index));
}

// Of one 16-byte vector whose first element is `index`. Nearly all are equal.
template <class Element>
__device__ void compare_vector(Comparison& sum, std::int64_t index, const uint4& a,
                               const uint4& b) {
  const std::uint32_t differences[] = {a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w};
  if ((differences[0] | differences[1] | differences[2] | differences[3]) == 0) return;
  constexpr int kPerVector = 16 / sizeof(Element);
#pragma unroll
  for (int i = 0; i < kPerVector; ++i) {
    constexpr int kElementBytes = sizeof(Element);
    if constexpr (kElementBytes == 8) {
      add(sum, index + i, (differences[2 * i] | differences[2 * i + 1]) != 0);
    } else {
      const std::uint32_t word = differences[i * kElementBytes / 4];
      add(sum, index + i, static_cast<Element>(word >> 8 * (i * kElementBytes % 4)) != 0);
    }
  }
}

// Counts and minima do not depend on the order of the blocks.
__device__ void record(const Comparison& mine, Comparison* result) {
  if (mine.differing == 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&result->differing), mine.differing);
  atomicMin(reinterpret_cast<unsigned long long*>(&result->first), mine.first);
}

template <class Element>
__global__ void __launch_bounds__(kThreads)
    vectors_kernel(const uint4* a, const uint4* b, std::int64_t vectors, Comparison* result) {
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * kVectorsPerThread * kThreads;
  uint4 left[kVectorsPerThread], right[kVectorsPerThread];
#pragma unroll
  for (int i = 0; i < kVectorsPerThread; ++i) {
    const std::int64_t at = block + i * kThreads + threadIdx.x;
    left[i] = right[i] = uint4{0, 0, 0, 0};
    if (at < vectors) {
      left[i] = a[at];
      right[i] = b[at];
    }
  }
  Comparison mine{0, Comparison::kNone};
#pragma unroll
  for (int i = 0; i < kVectorsPerThread; ++i) {
    const std::int64_t at = block + i * kThreads + threadIdx.x;
    compare_vector<Element>(mine, at * (16 / sizeof(Element)), left[i], right[i]);
  }
  record(mine, result);
}

template <class Element>
__global__ void __launch_bounds__(kThreads)
    elements_kernel(const Element* a, const Element* b, std::int64_t first, std::int64_t count,
                    Comparison* result) {
  const std::int64_t at = first + static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  Comparison mine{0, Comparison::kNone};
  if (at < count) add(mine, at, a[at] != b[at]);
  record(mine, result);
}

// Vectors as far as they go where both start at one, single elements for the rest.
template <class Element>
void launch(const void* a, const void* b, std::int64_t count, Comparison* result,
            cudaStream_t stream) {
  constexpr std::int64_t kPerVector = 16 / sizeof(Element);
  const bool aligned = is_16_byte_aligned(a) && is_16_byte_aligned(b);
  const std::int64_t vectors = aligned ? count / kPerVector : 0,
                     rest = count - vectors * kPerVector;
  if (vectors != 0) {
    const unsigned grid = check_grid("compare", ceil_div(vectors, kThreads * kVectorsPerThread));
    vectors_kernel<Element><<<grid, kThreads, 0, stream>>>(
        static_cast<const uint4*>(a), static_cast<const uint4*>(b), vectors, result);
    SAMEBITS_CUDA_CHECK_LAUNCH();
  }
  if (rest == 0) return;
  elements_kernel<<<check_grid("compare", ceil_div(rest, kThreads)), kThreads, 0, stream>>>(
      static_cast<const Element*>(a), static_cast<const Element*>(b), vectors * kPerVector, count,
      result);
  SAMEBITS_CUDA_CHECK_LAUNCH();
}

}  // namespace

void compare(const void* a, const void* b, std::int64_t count, int element_bytes,
             Comparison* result, cudaStream_t stream) {
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4 && element_bytes != 8) {
    throw std::invalid_argument("compare: elements of " + std::to_string(element_bytes) +
                                " bytes; 1, 2, 4 or 8 are wanted");
  }
  check_shape("compare", 1, count, element_bytes);
  check_pointer("compare", "result", result, alignof(Comparison));
  SAMEBITS_CUDA_CHECK(cudaMemsetAsync(&result->differing, 0, sizeof(result->differing), stream));
  SAMEBITS_CUDA_CHECK(cudaMemsetAsync(&result->first, 0xff, sizeof(result->first), stream));
  if (count == 0) return;
  check_pointer("compare", "left side", a, element_bytes);
  check_pointer("compare", "right side", b, element_bytes);
  if (element_bytes == 1) return launch<std::uint8_t>(a, b, count, result, stream);
  if (element_bytes == 2) return launch<std::uint16_t>(a, b, count, result, stream);
  if (element_bytes == 4) return launch<std::uint32_t>(a, b, count, result, stream);
  launch<std::uint64_t>(a, b, count, result, stream);
}

}  // namespace samebits::kernels
