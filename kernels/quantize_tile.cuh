// Tiles of 128 by 128 elements in shared memory, for results that run down the columns. Rows are
// written as 16-byte vectors and columns read as 32-bit words, both without bank conflicts: the
// vectors of a row are permuted (XOR) by the row's place among the tile's eight groups of 16 rows.
#pragma once

#include "kernels/quantize_chunk.cuh"

namespace samebits::kernels {

constexpr int kTile = 128;
constexpr int kLanesPerRow = kTile / kChunk;            // 8 lanes hold a tile's row
constexpr int kRowsPerPass = kThreads / kLanesPerRow;   // 32
constexpr int kChunksPerThread = kTile / kRowsPerPass;  // 4

// Where a thread block's tile starts; tiles of a row of tiles come one after another.
struct TileOrigin {
  std::int64_t row, col;
};
__device__ inline TileOrigin tile_origin(std::int64_t cols, int tile_rows = kTile) {
  const auto tiles_in_row = static_cast<std::uint32_t>((cols + kTile - 1) / kTile);
  return {static_cast<std::int64_t>(blockIdx.x / tiles_in_row) * tile_rows,
          static_cast<std::int64_t>(blockIdx.x % tiles_in_row) * kTile};
}

// The thread's place when the tile is walked by rows: chunk `i` is row_in_tile(i), columns from
// col_in_tile() on.
__device__ inline int row_in_tile(int i) { return threadIdx.x / kLanesPerRow + kRowsPerPass * i; }
__device__ inline int col_in_tile() { return threadIdx.x % kLanesPerRow * kChunk; }

// A tile of elements of this many bytes.
template <int kElementBytes>
struct Tile {
  static constexpr int kRowWords = kTile * kElementBytes / 4;
  // Columns are read by words: each thread takes 16 rows of one word, eight lanes a column.
  static constexpr int kReadsPerThread = kRowWords * kLanesPerRow / kThreads;
  static constexpr int kBytes = kTile * kRowWords * 4;

  std::uint32_t* words;  // shared memory, kBytes, aligned to 16

  static __device__ int place(int row, int word) {
    return row * kRowWords + (word ^ (row / kChunk) << 2);
  }

  // Vector `i` of the 16-byte vectors of a row.
  __device__ void write(int row, int i, const uint4& vector) const {
    *reinterpret_cast<uint4*>(words + place(row, 4 * i)) = vector;
  }
  // Word `word` of rows first_row to first_row + 15, first_row a multiple of 16.
  __device__ void read(int first_row, int word, std::uint32_t (&column)[kChunk]) const {
#pragma unroll
    for (int i = 0; i < kChunk; ++i) column[i] = words[place(first_row + i, word)];
  }

  // The thread's place when the tile is walked by columns: read `i`.
  static __device__ int read_word(int i) { return (threadIdx.x + kThreads * i) / kLanesPerRow; }
  static __device__ int read_row() { return threadIdx.x % kLanesPerRow * kChunk; }
};

using CodeTile = Tile<1>;

// Four rows of four bytes become four columns.
__device__ inline void transpose_4x4(const std::uint32_t* rows, std::uint32_t (&columns)[4]) {
  const std::uint32_t low_01 = __byte_perm(rows[0], rows[1], 0x5140);
  const std::uint32_t low_23 = __byte_perm(rows[2], rows[3], 0x5140);
  const std::uint32_t high_01 = __byte_perm(rows[0], rows[1], 0x7362);
  const std::uint32_t high_23 = __byte_perm(rows[2], rows[3], 0x7362);
  columns[0] = __byte_perm(low_01, low_23, 0x5410);
  columns[1] = __byte_perm(low_01, low_23, 0x7632);
  columns[2] = __byte_perm(high_01, high_23, 0x5410);
  columns[3] = __byte_perm(high_01, high_23, 0x7632);
}

// Writes a tile of codes of a [rows, cols] matrix into its transpose, [cols, rows]. After the
// barrier that follows the tile's writes.
template <bool kVector>
__device__ void store_transposed(const CodeTile& tile, const TileOrigin& origin, std::int64_t rows,
                                 std::int64_t cols, std::uint8_t* transposed) {
  static_assert(CodeTile::kReadsPerThread == 1);
  const int word = CodeTile::read_word(0), first_row = CodeTile::read_row();
  std::uint32_t bytes[kChunk];
  tile.read(first_row, word, bytes);

  std::uint32_t columns[4][4];  // [rows / 4][column]
#pragma unroll
  for (int i = 0; i < 4; ++i) transpose_4x4(bytes + 4 * i, columns[i]);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::int64_t row = origin.row + first_row, col = origin.col + 4 * word + i;
    const uint4 codes{columns[0][i], columns[1][i], columns[2][i], columns[3][i]};
    store_codes<kVector>(transposed + col * rows + row, codes, col < cols ? rows - row : 0);
  }
}

}  // namespace samebits::kernels
