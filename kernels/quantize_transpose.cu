#include "kernels/device/check.h"
#include "kernels/quantize_tile.cuh"
#include "kernels/quantize_transpose.h"

namespace samebits::kernels {
namespace {

template <bool kVector>
__global__ void __launch_bounds__(kThreads)
    transpose_kernel(const std::uint8_t* codes, std::int64_t rows, std::int64_t cols,
                     std::uint8_t* transposed) {
  __shared__ uint4 tile_memory[CodeTile::kBytes / sizeof(uint4)];
  const CodeTile tile{reinterpret_cast<std::uint32_t*>(tile_memory)};
  const TileOrigin origin = tile_origin(cols);
  const std::int64_t col = origin.col + col_in_tile();

  Chunk<std::uint8_t> chunks[kChunksPerThread];
#pragma unroll
  for (int i = 0; i < kChunksPerThread; ++i) {
    const std::int64_t row = origin.row + row_in_tile(i);
    chunks[i] = load_chunk<kVector>(codes + row * cols + col, row < rows ? cols - col : 0);
  }
#pragma unroll
  for (int i = 0; i < kChunksPerThread; ++i) {
    const std::uint32_t* words = chunks[i].words;
    tile.write(row_in_tile(i), threadIdx.x % kLanesPerRow,
               uint4{words[0], words[1], words[2], words[3]});
  }
  __syncthreads();
  store_transposed<kVector>(tile, origin, rows, cols, transposed);
}

// One thread a scale. `blocks` in a row of blocks, each row padded to `pitch`.
__global__ void transpose_scales_kernel(const float* scale_inv, std::int64_t row_blocks,
                                        std::int64_t col_blocks, std::int64_t pitch,
                                        float* transposed, std::int64_t transposed_pitch) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index >= row_blocks * col_blocks) return;
  const std::int64_t i = index / col_blocks, j = index % col_blocks;
  transposed[j * transposed_pitch + i] = scale_inv[i * pitch + j];
}

}  // namespace

void transpose_codes(const std::uint8_t* codes, std::int64_t rows, std::int64_t cols,
                     std::uint8_t* transposed, cudaStream_t stream) {
  constexpr char kName[] = "transpose_codes";
  check_shape(kName, rows, cols, 1);
  if (rows == 0 || cols == 0) return;
  check_pointer(kName, "codes", codes, 1);
  check_pointer(kName, "result", transposed, 1);
  const unsigned grid = check_grid(kName, ceil_div(rows, kTile) * ceil_div(cols, kTile));
  if (is_16_byte_aligned(codes) && is_16_byte_aligned(transposed) && rows % kChunk == 0 &&
      cols % kChunk == 0) {
    transpose_kernel<true><<<grid, kThreads, 0, stream>>>(codes, rows, cols, transposed);
  } else {
    transpose_kernel<false><<<grid, kThreads, 0, stream>>>(codes, rows, cols, transposed);
  }
  SAMEBITS_CUDA_CHECK_LAUNCH();
}

void transpose_scales_128x128(const float* scale_inv, std::int64_t rows, std::int64_t cols,
                              float* transposed, cudaStream_t stream) {
  constexpr char kName[] = "transpose_scales_128x128";
  check_shape(kName, rows, cols, 1);
  if (rows == 0 || cols == 0) return;
  check_pointer(kName, "scale_inv", scale_inv, sizeof(float));
  check_pointer(kName, "result", transposed, sizeof(float));
  const std::int64_t row_blocks = ceil_div(rows, kTile), col_blocks = ceil_div(cols, kTile);
  const unsigned grid = check_grid(kName, ceil_div(row_blocks * col_blocks, kThreads));
  transpose_scales_kernel<<<grid, kThreads, 0, stream>>>(scale_inv, row_blocks, col_blocks,
                                                         round_up(col_blocks, 4), transposed,
                                                         round_up(row_blocks, 4));
  SAMEBITS_CUDA_CHECK_LAUNCH();
}

}  // namespace samebits::kernels
