#include "kernels/device/check.h"
#include "kernels/quantize_128x128.h"
#include "kernels/quantize_dispatch.cuh"
#include "kernels/quantize_scale.cuh"
#include "kernels/quantize_tile.cuh"

namespace samebits::kernels {
namespace {

// Where the scale of block (i, j) lies in an operand with `blocks` blocks in a row.
__device__ std::int64_t scale_index(std::int64_t i, std::int64_t j, std::int64_t blocks) {
  return i * ((blocks + 3) / 4 * 4) + j;
}

__device__ void store_scale(float scale_inv, const TileOrigin& origin, std::int64_t rows,
                            std::int64_t cols, float* rowwise, float* columnwise) {
  const std::int64_t i = origin.row / kTile, j = origin.col / kTile;
  if (rowwise) rowwise[scale_index(i, j, (cols + kTile - 1) / kTile)] = scale_inv;
  if (columnwise) columnwise[scale_index(j, i, (rows + kTile - 1) / kTile)] = scale_inv;
}

// A scale block a thread block: its elements stay in registers, the codes pass through shared
// memory on their way to the columns.
template <class Source, class Target, bool kVector>
__global__ void __launch_bounds__(kThreads)
    quantize_kernel(const typename Source::Element* x, std::int64_t rows, std::int64_t cols,
                    ScaleOptions options, Quantized<float> rowwise, Quantized<float> columnwise) {
  __shared__ uint4 tile_memory[CodeTile::kBytes / sizeof(uint4)];
  __shared__ std::uint32_t shared[kThreads / kWarp];
  const CodeTile tile{reinterpret_cast<std::uint32_t*>(tile_memory)};
  const TileOrigin origin = tile_origin(cols);
  const std::int64_t col = origin.col + col_in_tile();

  Chunk<typename Source::Element> chunks[kChunksPerThread];
#pragma unroll
  for (int i = 0; i < kChunksPerThread; ++i) {
    const std::int64_t row = origin.row + row_in_tile(i);
    chunks[i] = load_chunk<kVector>(x + row * cols + col, row < rows ? cols - col : 0);
  }
  std::uint32_t most = 0;
#pragma unroll
  for (const auto& chunk : chunks) most = max_magnitude<Source>(chunk, most);
  const float amax = block_max(amax_of<Source>(most), shared);
  const ScalePair scale = scale_from_amax<Target>(amax, options, Source::kLargest);
  if (threadIdx.x == 0) {
    store_scale(scale.inverse, origin, rows, cols, rowwise.codes ? rowwise.scale_inv : nullptr,
                columnwise.codes ? columnwise.scale_inv : nullptr);
  }
#pragma unroll
  for (int i = 0; i < kChunksPerThread; ++i) {
    const std::int64_t row = origin.row + row_in_tile(i);
    const uint4 codes = cast_chunk<Source, Target>(chunks[i], scale.scale);
    if (rowwise.codes) {
      store_codes<kVector>(rowwise.codes + row * cols + col, codes, row < rows ? cols - col : 0);
    }
    tile.write(row_in_tile(i), threadIdx.x % kLanesPerRow, codes);
  }
  if (!columnwise.codes) return;
  __syncthreads();
  store_transposed<kVector>(tile, origin, rows, cols, columnwise.codes);
}

}  // namespace

void quantize_128x128(const MatrixView& x, Format target, const ScaleOptions& options,
                      const Quantized<float>& rowwise, const Quantized<float>& columnwise,
                      cudaStream_t stream) {
  constexpr char kName[] = "quantize_128x128";
  check_source(kName, x);
  check_target(kName, target);
  if (x.rows == 0 || x.cols == 0) return;
  for (const auto* out : {&rowwise, &columnwise}) {
    if (out->codes) check_pointer(kName, "scale_inv", out->scale_inv, sizeof(float));
  }
  if (!columnwise.codes) check_pointer(kName, "codes", rowwise.codes, 1);

  const unsigned grid = check_grid(kName, ceil_div(x.rows, kTile) * ceil_div(x.cols, kTile));
  const bool vector = is_16_byte_aligned(x.data) && is_16_byte_aligned(rowwise.codes) &&
                      is_16_byte_aligned(columnwise.codes) && x.cols % kChunk == 0 &&
                      (!columnwise.codes || x.rows % kChunk == 0);
  with_types(x.format, target, vector, [&](auto s, auto t, auto v) {
    using Source = decltype(s);
    quantize_kernel<Source, decltype(t), decltype(v)::value>
        <<<grid, kThreads, 0, stream>>>(static_cast<const typename Source::Element*>(x.data),
                                        x.rows, x.cols, options, rowwise, columnwise);
  });
  SAMEBITS_CUDA_CHECK_LAUNCH();
}

}  // namespace samebits::kernels
