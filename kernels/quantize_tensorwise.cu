#include "kernels/device/check.h"
#include "kernels/quantize_dispatch.cuh"
#include "kernels/quantize_scale.cuh"
#include "kernels/quantize_tensorwise.h"
#include "kernels/quantize_tile.cuh"

namespace samebits::kernels {
namespace {

constexpr int kAmaxChunks = 4;  // chunks a thread has in flight
constexpr int kCastChunks = 2;
constexpr int kWarps = kThreads / kWarp;

// The first element of the thread's i-th chunk where a block takes `chunks` chunks a thread of a
// flat array: neighbouring threads take neighbouring chunks.
__device__ std::int64_t flat_chunk(int chunks, int i) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * chunks + i;
  return (first * kThreads + threadIdx.x) * kChunk;
}
std::int64_t flat_blocks(std::int64_t count, int chunks) {
  return ceil_div(count, std::int64_t{kThreads} * chunks * kChunk);
}

// A maximum has no order of summation, so the result does not depend on the order of the blocks.
__device__ void record_amax(float amax, float* cell, std::uint32_t* shared) {
  const float of_block = block_max(amax, shared);
  if (threadIdx.x == 0) {
    atomicMax(reinterpret_cast<std::uint32_t*>(cell), __float_as_uint(of_block));
  }
}

template <class Source, bool kVector>
__global__ void __launch_bounds__(kThreads)
    amax_kernel(const typename Source::Element* x, std::int64_t count, float* cell) {
  __shared__ std::uint32_t shared[kWarps];
  Chunk<typename Source::Element> chunks[kAmaxChunks];
#pragma unroll
  for (int i = 0; i < kAmaxChunks; ++i) {
    const std::int64_t first = flat_chunk(kAmaxChunks, i);
    chunks[i] = load_chunk<kVector>(x + first, count - first);
  }
  std::uint32_t most = 0;
#pragma unroll
  for (const auto& chunk : chunks) most = max_magnitude<Source>(chunk, most);
  record_amax(amax_of<Source>(most), cell, shared);
}

template <class Target>
__global__ void scale_kernel(const float* amax, ScaleOptions options, float* scale) {
  *scale = scale_from_amax<Target>(*amax, options, Fp32::kLargest).scale;
}

// RN(1 / scale), once.
__device__ void store_inverse(float scale, float* scale_inv) {
  if (scale_inv && blockIdx.x == 0 && threadIdx.x == 0) *scale_inv = __frcp_rn(scale);
}

// Of a flat array.
template <class Source, class Target, bool kVector>
__global__ void __launch_bounds__(kThreads)
    cast_kernel(const typename Source::Element* x, std::int64_t count, const float* scale_cell,
                float* amax_cell, std::uint8_t* codes, float* scale_inv) {
  __shared__ std::uint32_t shared[kWarps];
  Chunk<typename Source::Element> chunks[kCastChunks];
#pragma unroll
  for (int i = 0; i < kCastChunks; ++i) {
    const std::int64_t first = flat_chunk(kCastChunks, i);
    chunks[i] = load_chunk<kVector>(x + first, count - first);
  }
  const float scale = *scale_cell;
  store_inverse(scale, scale_inv);
#pragma unroll
  for (int i = 0; i < kCastChunks; ++i) {
    const std::int64_t first = flat_chunk(kCastChunks, i);
    store_codes<kVector>(codes + first, cast_chunk<Source, Target>(chunks[i], scale),
                         count - first);
  }
  if (!amax_cell) return;
  std::uint32_t most = 0;
#pragma unroll
  for (const auto& chunk : chunks) most = max_magnitude<Source>(chunk, most);
  record_amax(amax_of<Source>(most), amax_cell, shared);
}

// A tile a thread block: the codes, and their transpose by way of shared memory.
template <class Source, class Target, bool kVector>
__global__ void __launch_bounds__(kThreads)
    cast_transpose_kernel(const typename Source::Element* x, std::int64_t rows, std::int64_t cols,
                          const float* scale_cell, float* amax_cell, TensorwiseCodes codes) {
  __shared__ uint4 tile_memory[CodeTile::kBytes / sizeof(uint4)];
  __shared__ std::uint32_t shared[kWarps];
  const CodeTile tile{reinterpret_cast<std::uint32_t*>(tile_memory)};
  const TileOrigin origin = tile_origin(cols);
  const std::int64_t col = origin.col + col_in_tile();

  Chunk<typename Source::Element> chunks[kChunksPerThread];
#pragma unroll
  for (int i = 0; i < kChunksPerThread; ++i) {
    const std::int64_t row = origin.row + row_in_tile(i);
    chunks[i] = load_chunk<kVector>(x + row * cols + col, row < rows ? cols - col : 0);
  }
  const float scale = *scale_cell;
  store_inverse(scale, codes.scale_inv);
  std::uint32_t most = 0;
#pragma unroll
  for (int i = 0; i < kChunksPerThread; ++i) {
    const std::int64_t row = origin.row + row_in_tile(i);
    const uint4 bytes = cast_chunk<Source, Target>(chunks[i], scale);
    if (codes.rowwise) {
      store_codes<kVector>(codes.rowwise + row * cols + col, bytes, row < rows ? cols - col : 0);
    }
    tile.write(row_in_tile(i), threadIdx.x % kLanesPerRow, bytes);
    most = max_magnitude<Source>(chunks[i], most);
  }
  __syncthreads();
  store_transposed<kVector>(tile, origin, rows, cols, codes.columnwise);
  if (amax_cell) record_amax(amax_of<Source>(most), amax_cell, shared);
}

}  // namespace

void amax(const void* x, Format format, std::int64_t count, float* cell, cudaStream_t stream) {
  check_source("amax", {x, format, 1, count});
  check_pointer("amax", "result", cell, sizeof(float));
  SAMEBITS_CUDA_CHECK(cudaMemsetAsync(cell, 0, sizeof(float), stream));
  if (count == 0) return;
  const unsigned grid = check_grid("amax", flat_blocks(count, kAmaxChunks));
  with_source(format, [&](auto s) {
    using Source = decltype(s);
    const auto* elements = static_cast<const typename Source::Element*>(x);
    if (is_16_byte_aligned(x) && count % kChunk == 0) {
      amax_kernel<Source, true><<<grid, kThreads, 0, stream>>>(elements, count, cell);
    } else {
      amax_kernel<Source, false><<<grid, kThreads, 0, stream>>>(elements, count, cell);
    }
  });
  SAMEBITS_CUDA_CHECK_LAUNCH();
}

void tensor_scale(const float* amax, Format target, const ScaleOptions& options, float* scale,
                  cudaStream_t stream) {
  check_target("tensor_scale", target);
  check_pointer("tensor_scale", "amax", amax, sizeof(float));
  check_pointer("tensor_scale", "scale", scale, sizeof(float));
  if (target == Format::kE4M3) {
    scale_kernel<E4m3><<<1, 1, 0, stream>>>(amax, options, scale);
  } else {
    scale_kernel<E5m2><<<1, 1, 0, stream>>>(amax, options, scale);
  }
  SAMEBITS_CUDA_CHECK_LAUNCH();
}

void cast_tensorwise(const MatrixView& x, const float* scale, float* amax,
                     const TensorwiseCodes& codes, cudaStream_t stream) {
  constexpr char kName[] = "cast_tensorwise";
  check_source(kName, x);
  check_target(kName, codes.format);
  check_pointer(kName, "scale", scale, sizeof(float));
  if (codes.scale_inv) check_pointer(kName, "scale_inv", codes.scale_inv, sizeof(float));
  if (amax) {
    check_pointer(kName, "amax", amax, sizeof(float));
    SAMEBITS_CUDA_CHECK(cudaMemsetAsync(amax, 0, sizeof(float), stream));
  }
  const std::int64_t count = x.rows * x.cols;
  const bool aligned = is_16_byte_aligned(x.data) && is_16_byte_aligned(codes.rowwise) &&
                       is_16_byte_aligned(codes.columnwise);
  if (codes.columnwise && count != 0) {
    const unsigned grid = check_grid(kName, ceil_div(x.rows, kTile) * ceil_div(x.cols, kTile));
    const bool vector = aligned && x.rows % kChunk == 0 && x.cols % kChunk == 0;
    with_types(x.format, codes.format, vector, [&](auto s, auto t, auto v) {
      using Source = decltype(s);
      cast_transpose_kernel<Source, decltype(t), decltype(v)::value><<<grid, kThreads, 0, stream>>>(
          static_cast<const typename Source::Element*>(x.data), x.rows, x.cols, scale, amax, codes);
    });
  } else {
    // An empty matrix still has a scale_inv, so one block runs for it.
    if (count != 0) check_pointer(kName, "codes", codes.rowwise, 1);
    const unsigned grid = check_grid(kName, flat_blocks(count, kCastChunks) + (count == 0));
    with_types(x.format, codes.format, aligned && count % kChunk == 0, [&](auto s, auto t, auto v) {
      using Source = decltype(s);
      cast_kernel<Source, decltype(t), decltype(v)::value>
          <<<grid, kThreads, 0, stream>>>(static_cast<const typename Source::Element*>(x.data),
                                          count, scale, amax, codes.rowwise, codes.scale_inv);
    });
  }
  SAMEBITS_CUDA_CHECK_LAUNCH();
}

void quantize_tensorwise(const MatrixView& x, const ScaleOptions& options, float* amax,
                         float* scale, const TensorwiseCodes& codes, cudaStream_t stream) {
  check_source("quantize_tensorwise", x);
  kernels::amax(x.data, x.format, x.rows * x.cols, amax, stream);
  tensor_scale(amax, codes.format, options, scale, stream);
  cast_tensorwise(x, scale, nullptr, codes, stream);
}

}  // namespace samebits::kernels
