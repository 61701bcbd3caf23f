#include "kernels/device/check.h"
#include "kernels/quantize_arguments.h"
#include "kernels/quantize_cast_sums.h"
#include "kernels/quantize_chunk.cuh"

namespace samebits::kernels {
namespace {

// A thread block an upper half, 16 neighbouring patterns a step.
template <class Target>
__global__ void __launch_bounds__(kThreads) sums_kernel(unsigned long long* sums) {
  unsigned long long sum = 0;
  for (std::uint32_t lo = threadIdx.x * kChunk; lo < kCastSums; lo += kThreads * kChunk) {
    Chunk<std::uint32_t> patterns;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) patterns.words[i] = blockIdx.x << 16 | (lo + i);
    const uint4 codes = cast_chunk<Fp32, Target>(patterns, 1);
    const std::uint32_t words[] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      const std::uint64_t code = words[i / 4] >> 8 * (i % 4) & 0xff;
      sum += (code + 1) * ((lo + i) * 0x9e3779b97f4a7c15 + 0xd1b54a32d192ed03);
    }
  }
  atomicAdd(sums + blockIdx.x, sum);
}

}  // namespace

void cast_sums(Format target, std::uint64_t* sums, cudaStream_t stream) {
  check_target("cast_sums", target);
  check_pointer("cast_sums", "result", sums, sizeof(*sums));
  SAMEBITS_CUDA_CHECK(cudaMemsetAsync(sums, 0, kCastSums * sizeof(*sums), stream));
  auto* cells = reinterpret_cast<unsigned long long*>(sums);
  const auto kernel = target == Format::kE4M3 ? sums_kernel<E4m3> : sums_kernel<E5m2>;
  kernel<<<kCastSums, kThreads, 0, stream>>>(cells);
  SAMEBITS_CUDA_CHECK_LAUNCH();
}

}  // namespace samebits::kernels
