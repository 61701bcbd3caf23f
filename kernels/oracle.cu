#include <stdexcept>

#include "kernels/device/check.h"
#include "kernels/oracle.h"
#include "kernels/oracle_arithmetic.h"
#include "kernels/oracle_epilogue.h"
#include "kernels/quantize_arguments.h"

namespace samebits::kernels {
namespace oracle {
namespace {

constexpr int kTile = 64;            // rows of A, and of B, of a thread block
constexpr int kPerThread = 4;        // rows of A, and of B, of a thread: 16 outputs
constexpr int kThreads = 256;        // 16 x 16
constexpr int kCodesPerThread = 16;  // 64 rows of 32 codes, twice, by 256 threads
constexpr int kThreadsAcross = kTile / kPerThread;
static_assert(kThreads == kThreadsAcross * kThreadsAcross);
static_assert(kThreads * kCodesPerThread == 2 * kTile * kProductsPerSum);

// [rows, k] codes with their scales.
struct Operand {
  const std::uint8_t* codes;
  const float* scales;
  std::int64_t rows;
  Format format;
  ScaleMode mode;
};

struct Gemm {
  Operand a, b;
  std::int64_t k;
  std::int64_t split_k;
  std::int64_t slice;  // elements of K
  bool fast_accumulation;
  Promotion promotion;
  float alpha, beta;
  bool in_place;
  Format output;
  Format bias_format;
  const void* c;
  const void* bias;      // or null
  const float* scale_d;  // or null
  void* d;
};

// 32 elements of each of 64 rows; packed, k by k, so that neighbouring rows lie side by side.
using Tile = std::uint32_t[kProductsPerSum][kTile];

// 16 codes of one row from k on, zeros beyond `end` and beyond the last row. K is a multiple of 16.
__device__ uint4 load_codes(const Operand& operand, std::int64_t row, std::int64_t k,
                            std::int64_t end, std::int64_t row_length) {
  if (row >= operand.rows || k >= end) return uint4{0, 0, 0, 0};
  return *reinterpret_cast<const uint4*>(operand.codes + row * row_length + k);
}

// Decodes 16 codes into the tile. Returns whether one of them is special.
__device__ bool fill(Tile& tile, int row, int k, const uint4& codes, Format format) {
  const std::uint32_t words[] = {codes.x, codes.y, codes.z, codes.w};
  bool any_special = false;
#pragma unroll
  for (int i = 0; i < kCodesPerThread; ++i) {
    const auto code = static_cast<std::uint8_t>(words[i / 4] >> 8 * (i % 4));
    tile[k + i][row] = pack(decode(code, format));
    any_special |= is_special(code, format);
  }
  return any_special;
}

// The next 32 elements of all rows of both operands. Returns whether any is special, to all
// threads; a barrier for all.
__device__ bool fill_both(Tile& a, Tile& b, const Gemm& g, std::int64_t first_a,
                          std::int64_t first_b, std::int64_t k, std::int64_t end) {
  constexpr int kRowsAtOnce = kThreads / 2;  // a thread takes half of a row of A or of B
  const int half = static_cast<int>(threadIdx.x) / kRowsAtOnce;
  const int row = static_cast<int>(threadIdx.x) % kTile;
  const bool is_b = threadIdx.x % kRowsAtOnce >= kTile;
  const int offset = half * kCodesPerThread;
  const Operand& operand = is_b ? g.b : g.a;
  const uint4 codes = load_codes(operand, (is_b ? first_b : first_a) + row, k + offset, end, g.k);
  const bool special = fill(is_b ? b : a, row, offset, codes, operand.format);
  return __syncthreads_or(special) != 0;
}

__device__ void load_words(std::uint32_t (&words)[kPerThread], const Tile& tile, int k, int row) {
  const uint4 v = *reinterpret_cast<const uint4*>(&tile[k][row]);
  words[0] = v.x;
  words[1] = v.y;
  words[2] = v.z;
  words[3] = v.w;
}

// The scale of a block of 128 elements of K, or 1 where there are none.
__device__ float block_scale(const Operand& operand, std::int64_t row, std::int64_t k,
                             std::int64_t row_length) {
  if (row >= operand.rows) return 1;
  const std::int64_t block = k / kBlock;
  if (operand.mode == ScaleMode::k1x128) {
    return operand.scales[block * round_up(operand.rows, 4) + row];
  }
  if (operand.mode == ScaleMode::k128x128) {
    return operand.scales[row / 128 * round_up(ceil_div(row_length, kBlock), 4) + block];
  }
  return 1;
}

// The terms of one instruction that are not finite, of rows m and n: 0 if all are.
__device__ float special_terms(const Gemm& g, std::int64_t m, std::int64_t n, std::int64_t k,
                               std::int64_t end) {
  float sum = 0;
  if (m >= g.a.rows || n >= g.b.rows) return sum;
  for (std::int64_t i = k; i < min(end, k + kProductsPerSum); ++i) {
    sum += special_product(g.a.codes[m * g.k + i], g.a.format, g.b.codes[n * g.k + i], g.b.format);
  }
  return sum;
}

// What the 16 outputs of a thread, [rows of A][rows of B], have come to.
struct Outputs {
  float c[kPerThread][kPerThread];      // the chain's accumulator
  float slice[kPerThread][kPerThread];  // T, or y
  float total[kPerThread][kPerThread];  // of the slices so far
};

template <class Body>
__device__ void for_each_output(Body&& body) {
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) body(i, j);
  }
}

// An accumulator that is no longer finite then passes the fused sum unchanged.
__device__ void add_special_terms(Outputs& out, const Gemm& g, std::int64_t m, std::int64_t n,
                                  std::int64_t k, std::int64_t end) {
  for_each_output([&](int i, int j) {
    const float special = special_terms(g, m + i, n + j, k, end);
    if (special != 0) out.c[i][j] = with_special(out.c[i][j], special);
  });
}

// One instruction for each output: 32 products and c become the next c.
__device__ void fused_sums(Outputs& out, const Tile& tile_a, const Tile& tile_b, int row_a,
                           int row_b) {
  FusedSum sums[kPerThread][kPerThread];
  std::uint32_t a[kPerThread], b[kPerThread];
  for_each_output([&](int i, int j) { sums[i][j].start(out.c[i][j]); });
#pragma unroll 4
  for (int k = 0; k < kProductsPerSum; ++k) {
    load_words(a, tile_a, k, row_a);
    load_words(b, tile_b, k, row_b);
    for_each_output(
        [&](int i, int j) { sums[i][j].look_at(exponent_of_word(a[i]), exponent_of_word(b[j])); });
  }
  for_each_output([&](int i, int j) { sums[i][j].start_sum(out.c[i][j]); });
#pragma unroll 4
  for (int k = 0; k < kProductsPerSum; ++k) {
    load_words(a, tile_a, k, row_a);
    load_words(b, tile_b, k, row_b);
    for_each_output(
        [&](int i, int j) { sums[i][j].add(unpack(a[i]), shifted_for_product(unpack(b[j]))); });
  }
  for_each_output([&](int i, int j) { out.c[i][j] = sums[i][j].result(out.c[i][j]); });
}

// The chains end: their results join the totals of the slice. `k` is inside their block of K.
__device__ void promote_all(Outputs& out, const Gemm& g, std::int64_t m, std::int64_t n,
                            std::int64_t k) {
  float scale_a[kPerThread], scale_b[kPerThread];
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    scale_a[i] = block_scale(g.a, m + i, k, g.k);
    scale_b[i] = block_scale(g.b, n + i, k, g.k);
  }
  for_each_output([&](int i, int j) {
    float& y = out.slice[i][j];
    y = promote(g.promotion, y, out.c[i][j], scale_a[i], scale_b[j]);
    out.c[i][j] = 0;
  });
}

__device__ std::uint32_t load_bits(const void* from, std::int64_t index, Format format) {
  if (format == Format::kFP32) return static_cast<const std::uint32_t*>(from)[index];
  return static_cast<const std::uint16_t*>(from)[index];
}

__device__ void store_bits(void* to, std::int64_t index, Format format, std::uint32_t bits) {
  if (format == Format::kFP32) {
    static_cast<std::uint32_t*>(to)[index] = bits;
  } else if (size_of(format) == 2) {
    static_cast<std::uint16_t*>(to)[index] = static_cast<std::uint16_t>(bits);
  } else {
    static_cast<std::uint8_t*>(to)[index] = static_cast<std::uint8_t>(bits);
  }
}

__device__ void finish(const Gemm& g, std::int64_t m, std::int64_t n, float total) {
  if (m >= g.a.rows || n >= g.b.rows) return;
  float u = total, factor = g.alpha;
  if (g.a.mode == ScaleMode::kRow) u = total * g.a.scales[m] * g.b.scales[n];
  if (g.a.mode == ScaleMode::kTensor) factor = g.alpha * g.a.scales[0] * g.b.scales[0];
  const Epilogue epilogue{.output = g.output,
                          .factor = factor,
                          .beta = g.beta,
                          .scale_d = g.scale_d != nullptr ? *g.scale_d : 1,
                          .in_place = g.in_place,
                          .split_k = g.split_k > 1};
  const std::int64_t at = n * g.a.rows + m;
  const float c = g.beta != 0 ? widen(load_bits(g.c, at, g.output), g.output) : 0;
  const float bias =
      g.bias != nullptr ? widen(load_bits(g.bias, m, g.bias_format), g.bias_format) : 0;
  store_bits(g.d, at, g.output, epilogue(u, c, g.bias != nullptr ? &bias : nullptr));
}

// One block a tile of 64 x 64 outputs, one thread 4 x 4 of them.
__global__ void __launch_bounds__(kThreads, 2) oracle_kernel(const __grid_constant__ Gemm g) {
  __shared__ alignas(16) Tile tile_a, tile_b;
  const std::int64_t tiles_of_m = ceil_div(g.a.rows, kTile);
  const std::int64_t first_a = blockIdx.x % tiles_of_m * kTile;
  const std::int64_t first_b = blockIdx.x / tiles_of_m * kTile;
  const int row_a = static_cast<int>(threadIdx.x) % kThreadsAcross * kPerThread;
  const int row_b = static_cast<int>(threadIdx.x) / kThreadsAcross * kPerThread;
  const std::int64_t m = first_a + row_a, n = first_b + row_b;

  Outputs out{};
  for (std::int64_t j = 0; j < g.split_k && j * g.slice < g.k; ++j) {
    const std::int64_t end = min(g.k, (j + 1) * g.slice);
    for_each_output([&](int i, int l) { out.slice[i][l] = 0; });
    for (std::int64_t k = j * g.slice; k < end; k += kProductsPerSum) {
      const bool any_special = fill_both(tile_a, tile_b, g, first_a, first_b, k, end);
      if (any_special) add_special_terms(out, g, m, n, k, end);
      fused_sums(out, tile_a, tile_b, row_a, row_b);
      const std::int64_t next = k + kProductsPerSum;
      if (next >= end || (!g.fast_accumulation && next % kBlock == 0)) promote_all(out, g, m, n, k);
      __syncthreads();  // before the tiles are filled anew
    }
    for_each_output([&](int i, int l) {
      out.total[i][l] = j == 0 ? out.slice[i][l] : out.total[i][l] + out.slice[i][l];
    });
  }
  for_each_output([&](int i, int l) { finish(g, m + i, n + l, out.total[i][l]); });
}

Promotion promotion_of(const GemmProblem& problem) {
  if (!is_block_scaled(problem)) return Promotion::kPlain;
  return has_128x128_scales(problem) ? Promotion::kOne128x128 : Promotion::kBoth1x128;
}

// The copy of C stands for C, so the problem is refused as one that is not in place.
void check(const GemmProblem& problem, std::int64_t split_k, const GemmOperands& operands) {
  check_problem(problem);
  GemmProblem out_of_place = problem;
  out_of_place.in_place = false;
  check_operands(out_of_place, operands);
  if (split_k < 1) throw std::invalid_argument("oracle: split_k is below 1");
}

}  // namespace
}  // namespace oracle

void oracle_gemm(const GemmProblem& problem, std::int64_t split_k, const GemmOperands& operands,
                 cudaStream_t stream) {
  oracle::check(problem, split_k, operands);
  const auto operand = [&](const void* codes, const float* scales, std::int64_t rows, Format format,
                           ScaleMode mode) {
    return oracle::Operand{static_cast<const std::uint8_t*>(codes), scales, rows, format, mode};
  };
  const oracle::Gemm gemm{
      .a = operand(operands.a, operands.scale_a, problem.m, problem.a, problem.scale_a),
      .b = operand(operands.b, operands.scale_b, problem.n, problem.b, problem.scale_b),
      .k = problem.k,
      .split_k = split_k,
      .slice = oracle::slice_length(problem.k, split_k, has_128x128_scales(problem)),
      .fast_accumulation = problem.fast_accumulation,
      .promotion = oracle::promotion_of(problem),
      .alpha = problem.alpha,
      .beta = problem.beta,
      .in_place = problem.in_place,
      .output = problem.output,
      .bias_format = problem.bias.value_or(Format::kBF16),
      .c = operands.c,
      .bias = problem.bias ? operands.bias : nullptr,
      .scale_d = problem.scale_d ? operands.scale_d : nullptr,
      .d = operands.d};
  const std::int64_t tiles =
      ceil_div(problem.m, oracle::kTile) * ceil_div(problem.n, oracle::kTile);
  const unsigned grid = check_grid("oracle_gemm", tiles);
  oracle::oracle_kernel<<<grid, oracle::kThreads, 0, stream>>>(gemm);
  SAMEBITS_CUDA_CHECK_LAUNCH();
}

}  // namespace samebits::kernels
