#include <cuda_bf16.h>

#include "kernels/device/check.h"
#include "kernels/quantize_dispatch.cuh"
#include "kernels/update.h"

namespace samebits::kernels {
namespace {

// The conversion gives 0x7fff for every NaN.
__device__ std::uint32_t updated_bits(float w, float g, float learning_rate) {
  const float value = __fsub_rn(w, __fmul_rn(learning_rate, g));
  return __bfloat16_as_ushort(__float2bfloat16_rn(value));
}

template <bool kVector>
__device__ void store_bf16(std::uint16_t* p, const Chunk<std::uint16_t>& chunk,
                           std::int64_t valid) {
  if constexpr (kVector) {
    if (valid <= 0) return;
    auto* vectors = reinterpret_cast<uint4*>(p);
    const std::uint32_t* w = chunk.words;
    vectors[0] = uint4{w[0], w[1], w[2], w[3]};
    vectors[1] = uint4{w[4], w[5], w[6], w[7]};
  } else {
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      if (i < valid) p[i] = static_cast<std::uint16_t>(chunk.words[i / 2] >> 16 * (i % 2));
    }
  }
}

template <class Source, bool kVector>
__global__ void __launch_bounds__(kThreads)
    update_kernel(const typename Source::Element* w, const std::uint32_t* g, std::int64_t count,
                  float learning_rate, std::uint16_t* updated) {
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kChunk;
  const auto weights = load_chunk<kVector>(w + first, count - first);
  const auto gradients = load_chunk<kVector>(g + first, count - first);
  Chunk<std::uint16_t> result{};
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    const float weight = Source::widen(weights.words[i / Source::kPerWord], i % Source::kPerWord);
    const float gradient = __uint_as_float(gradients.words[i]);
    result.words[i / 2] |= updated_bits(weight, gradient, learning_rate) << 16 * (i % 2);
  }
  store_bf16<kVector>(updated + first, result, count - first);
}

}  // namespace

void update(const void* w, Format format, const float* g, std::int64_t count, float learning_rate,
            std::uint16_t* updated, cudaStream_t stream) {
  check_source("update", {w, format, 1, count});
  if (count == 0) return;
  check_pointer("update", "gradient", g, sizeof(float));
  check_pointer("update", "result", updated, sizeof(std::uint16_t));
  const unsigned grid = check_grid("update", ceil_div(count, kThreads * kChunk));
  const bool vector = is_16_byte_aligned(w) && is_16_byte_aligned(g) &&
                      is_16_byte_aligned(updated) && count % kChunk == 0;
  with_source(format, [&](auto s) {
    using Source = decltype(s);
    const auto* weights = static_cast<const typename Source::Element*>(w);
    const auto* gradients = reinterpret_cast<const std::uint32_t*>(g);
    const auto kernel = vector ? update_kernel<Source, true> : update_kernel<Source, false>;
    kernel<<<grid, kThreads, 0, stream>>>(weights, gradients, count, learning_rate, updated);
  });
  SAMEBITS_CUDA_CHECK_LAUNCH();
}

}  // namespace samebits::kernels
