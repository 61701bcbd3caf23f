// One-dimensional scale blocks, 1x128 and 1x32, down the rows and down the columns of one source.
// What differs between the two is a Block:
//   kLength   elements that share a scale: 16 times a power of two, at most 128
//   Scale     the type of scale_inv
//   scale<Source, Target>(amax, options)   the multiplier of the elements, and scale_inv
//   index(row, block, rows, cols)          where the scale of a row's block lies, in a matrix of
//                                          that shape
#pragma once

#include "kernels/device/check.h"
#include "kernels/quantize_dispatch.cuh"
#include "kernels/quantize_scale.cuh"
#include "kernels/quantize_tile.cuh"

namespace samebits::kernels {

template <class Scale>
struct BlockScale {
  float multiplier;
  Scale inverse;
};

// What a launch works on.
template <class Block>
struct Blocks1xN {
  std::int64_t rows, cols;
  ScaleOptions options;
  Quantized<typename Block::Scale> rowwise;     // [rows, cols], or no codes
  Quantized<typename Block::Scale> columnwise;  // [cols, rows], or no codes
};

constexpr int kRowPasses = 2;  // chunks a thread has in flight where only rows are wanted
constexpr int kRowTile = kRowPasses * kRowsPerPass;

// Over the neighbouring lanes that hold one block.
template <class Block, class Source>
__device__ std::uint32_t max_over_lanes(std::uint32_t most) {
#pragma unroll
  for (int distance = 1; distance < Block::kLength / kChunk; distance *= 2) {
    most = Source::max_magnitude(most, __shfl_xor_sync(kAllLanes, most, distance));
  }
  return most;
}

// Writes 16 codes at [row, col] of an operand of that shape; the first chunk of a block writes its
// scale.
template <class Block, bool kVector>
__device__ void store_chunk(const Quantized<typename Block::Scale>& out, std::int64_t row,
                            std::int64_t col, std::int64_t rows, std::int64_t cols,
                            const uint4& codes, typename Block::Scale inverse) {
  const std::int64_t valid = row < rows ? cols - col : 0;
  store_codes<kVector>(out.codes + row * cols + col, codes, valid);
  if (valid > 0 && col % Block::kLength == 0) {
    out.scale_inv[Block::index(row, col / Block::kLength, rows, cols)] = inverse;
  }
}

template <class Block, class Source, class Target, bool kVector>
__device__ void quantize_row_chunk(const Chunk<typename Source::Element>& chunk, std::int64_t row,
                                   std::int64_t col, const Blocks1xN<Block>& to) {
  const std::uint32_t most = max_over_lanes<Block, Source>(max_magnitude<Source>(chunk));
  const auto scale = Block::template scale<Source, Target>(amax_of<Source>(most), to.options);
  store_chunk<Block, kVector>(to.rowwise, row, col, to.rows, to.cols,
                              cast_chunk<Source, Target>(chunk, scale.multiplier), scale.inverse);
}

// From a tile of the source. The eight lanes that share a word's columns hold 16 rows each.
template <class Block, class Source, class Target, bool kVector>
__device__ void quantize_columns(const Tile<sizeof(typename Source::Element)>& tile,
                                 const TileOrigin& origin, const Blocks1xN<Block>& to) {
  const int first_row = tile.read_row();
#pragma unroll 1  // unrolled, it takes more registers than four blocks a multiprocessor leave
  for (int i = 0; i < tile.kReadsPerThread; ++i) {
    const int word = tile.read_word(i);
    std::uint32_t x[kChunk];
    tile.read(first_row, word, x);
    std::uint32_t most = 0;
#pragma unroll
    for (const std::uint32_t bits : x) most = Source::max_magnitude(most, bits);
    most = max_over_lanes<Block, Source>(most);
#pragma unroll
    for (int k = 0; k < Source::kPerWord; ++k) {
      const auto scale = Block::template scale<Source, Target>(Source::widen(most, k), to.options);
      const auto cast = [&](int j) {
        return cast_4<Target>(Source::widen(x[j], k), Source::widen(x[j + 1], k),
                              Source::widen(x[j + 2], k), Source::widen(x[j + 3], k),
                              scale.multiplier);
      };
      store_chunk<Block, kVector>(to.columnwise, origin.col + word * Source::kPerWord + k,
                                  origin.row + first_row, to.cols, to.rows,
                                  uint4{cast(0), cast(4), cast(8), cast(12)}, scale.inverse);
    }
  }
}

// Rows alone: everything stays in registers.
template <class Block, class Source, class Target, bool kVector>
__global__ void __launch_bounds__(kThreads)
    rows_kernel(const typename Source::Element* x, Blocks1xN<Block> to) {
  const TileOrigin origin = tile_origin(to.cols, kRowTile);
  const std::int64_t col = origin.col + col_in_tile();
  Chunk<typename Source::Element> chunks[kRowPasses];
#pragma unroll
  for (int i = 0; i < kRowPasses; ++i) {
    const std::int64_t row = origin.row + row_in_tile(i);
    chunks[i] = load_chunk<kVector>(x + row * to.cols + col, row < to.rows ? to.cols - col : 0);
  }
#pragma unroll
  for (int i = 0; i < kRowPasses; ++i) {
    quantize_row_chunk<Block, Source, Target, kVector>(chunks[i], origin.row + row_in_tile(i), col,
                                                       to);
  }
}

// Columns, and rows where they are wanted, from one read of the source.
template <class Block, class Source, class Target, bool kVector>
__global__ void __launch_bounds__(kThreads, kVector&& Source::kPerWord == 2 ? 4 : 2)
    columns_kernel(const typename Source::Element* x, Blocks1xN<Block> to) {
  using SourceChunk = Chunk<typename Source::Element>;
  extern __shared__ uint4 tile_memory[];
  const Tile<sizeof(typename Source::Element)> tile{reinterpret_cast<std::uint32_t*>(tile_memory)};
  const TileOrigin origin = tile_origin(to.cols);
  const std::int64_t col = origin.col + col_in_tile();

  SourceChunk chunks[kChunksPerThread];
#pragma unroll
  for (int i = 0; i < kChunksPerThread; ++i) {
    const std::int64_t row = origin.row + row_in_tile(i);
    chunks[i] = load_chunk<kVector>(x + row * to.cols + col, row < to.rows ? to.cols - col : 0);
  }
#pragma unroll
  for (int i = 0; i < kChunksPerThread; ++i) {
    constexpr int kVectors = SourceChunk::kWords / 4;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const std::uint32_t* words = chunks[i].words + 4 * v;
      tile.write(row_in_tile(i), threadIdx.x % kLanesPerRow * kVectors + v,
                 uint4{words[0], words[1], words[2], words[3]});
    }
    if (to.rowwise.codes) {
      quantize_row_chunk<Block, Source, Target, kVector>(chunks[i], origin.row + row_in_tile(i),
                                                         col, to);
    }
  }
  __syncthreads();
  quantize_columns<Block, Source, Target, kVector>(tile, origin, to);
}

template <class Block, class Source, class Target, bool kVector>
void launch_1xn(const char* name, const void* data, const Blocks1xN<Block>& to,
                cudaStream_t stream) {
  const auto* x = static_cast<const typename Source::Element*>(data);
  const std::int64_t tiles_in_row = ceil_div(to.cols, kTile);
  if (!to.columnwise.codes) {
    const unsigned grid = check_grid(name, tiles_in_row * ceil_div(to.rows, kRowTile));
    rows_kernel<Block, Source, Target, kVector><<<grid, kThreads, 0, stream>>>(x, to);
  } else {
    constexpr int kShared = Tile<sizeof(typename Source::Element)>::kBytes;
    const auto kernel = columns_kernel<Block, Source, Target, kVector>;
    const unsigned grid = check_grid(name, tiles_in_row * ceil_div(to.rows, kTile));
    SAMEBITS_CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
    kernel<<<grid, kThreads, kShared, stream>>>(x, to);
  }
  SAMEBITS_CUDA_CHECK_LAUNCH();
}

template <class Block>
void quantize_1xn(const char* name, const MatrixView& x, Format target, const Blocks1xN<Block>& to,
                  cudaStream_t stream) {
  check_source(name, x);
  check_target(name, target);
  if (x.rows == 0 || x.cols == 0) return;
  for (const auto* out : {&to.rowwise, &to.columnwise}) {
    if (out->codes) check_pointer(name, "scale_inv", out->scale_inv, sizeof(*out->scale_inv));
  }
  if (!to.columnwise.codes) check_pointer(name, "codes", to.rowwise.codes, 1);

  const bool vector = is_16_byte_aligned(x.data) && is_16_byte_aligned(to.rowwise.codes) &&
                      is_16_byte_aligned(to.columnwise.codes) && x.cols % kChunk == 0 &&
                      (!to.columnwise.codes || x.rows % kChunk == 0);
  with_types(x.format, target, vector, [&](auto s, auto t, auto v) {
    launch_1xn<Block, decltype(s), decltype(t), decltype(v)::value>(name, x.data, to, stream);
  });
}

}  // namespace samebits::kernels
