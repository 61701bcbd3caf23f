#include "reference/quantize.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "reference/mutants.h"
#include "reference/parallel.h"

namespace samebits::reference {
namespace {

using Eigen::Index;

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

// Rows that are worth a thread of their own.
Index grain(Index cols) { return std::max<Index>(1, 65536 / std::max<Index>(1, cols)); }

// Calls body(row, block column, first column, count) for each stretch of a row within one block.
template <class Body>
void for_each_segment(Index rows, Index cols, const BlockGrid& grid, int threads,
                      const Body& body) {
  parallel_for(threads, rows, grain(cols), [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) {
      for (Index block = 0, col = 0; col < cols; ++block, col += grid.block_cols) {
        body(row, block, col, std::min(grid.block_cols, cols - col));
      }
    }
  });
}

// Magnitudes ascend with their bits, and integers (unlike floats) may be folded in any order, which
// lets the compiler vectorise.
float segment_amax(const float* x, Index count) {
  std::int32_t largest = 0;
  for (Index i = 0; i < count; ++i) {
    const std::int32_t mask = mutant("amax is the largest value") ? -1 : 0x7fffffff;
    const std::int32_t magnitude = std::bit_cast<std::int32_t>(x[i]) & mask;
    const bool nan = magnitude > 0x7f800000 && !mutant("amax sees NaN");
    largest = std::max(largest, nan ? 0 : magnitude);
  }
  return std::bit_cast<float>(largest);
}

// [grid.rows, grid.cols]
Matrix block_amax(const MatrixRef& x, const BlockGrid& grid, int threads) {
  Matrix by_row = Matrix::Zero(x.rows(), grid.cols);
  for_each_segment(x.rows(), x.cols(), grid, threads,
                   [&](Index row, Index block, Index col, Index count) {
                     if (mutant("amax misses the last element")) --count;
                     by_row(row, block) = segment_amax(x.row(row).data() + col, count);
                   });
  Matrix by_block = Matrix::Zero(grid.rows, grid.cols);
  for (Index row = 0; row < x.rows(); ++row) {
    auto block_row = by_block.row(row / grid.block_rows);
    block_row = block_row.cwiseMax(by_row.row(row));
  }
  return by_block;
}

struct BlockScale {
  float scale, scale_inv;
};

BlockScale block_scale(float amax, const QuantizeSpec& spec) {
  if (spec.granularity == Granularity::k1x32) {
    const E8M0 exponent = mx_exponent(amax, spec.rule.format);
    return {mx_multiplier(exponent), exponent.value()};
  }
  const float scale = spec.given_scale ? *spec.given_scale : scale_from_amax(amax, spec.rule);
  return {scale, scale_inverse(scale)};
}

// By tiles that stay in the cache: a whole column at a time would miss it at every byte.
Codes transposed(const Codes& codes) {
  constexpr Index kTile = 64;
  Codes result(codes.cols(), codes.rows());
  for (Index r = 0; r < codes.rows(); r += kTile) {
    for (Index c = 0; c < codes.cols(); c += kTile) {
      const Index rows = std::min(kTile, codes.rows() - r),
                  cols = std::min(kTile, codes.cols() - c);
      result.block(c, r, cols, rows) = codes.block(r, c, rows, cols).transpose();
    }
  }
  return result;
}

template <class F>
void cast_segment(const float* x, Index count, float scale, std::uint8_t* codes) {
  for (Index i = 0; i < count; ++i) {
    const bool late = mutant("scaled after the cast");
    codes[i] = F::saturate(late ? F::saturate(x[i]).value() * scale : x[i] * scale).bits();
  }
}

}  // namespace

BlockGrid block_grid(Granularity granularity, Index rows, Index cols) {
  switch (granularity) {
    case Granularity::kTensor:
      return {rows, cols, 1, 1};
    case Granularity::kRow:
      return {1, cols, rows, 1};
    case Granularity::k1x128:
      return {1, 128, rows, ceil_div(cols, 128)};
    case Granularity::k128x128:
      return {128, 128, ceil_div(rows, 128), ceil_div(cols, 128)};
    case Granularity::k1x32:
      return {1, 32, rows, ceil_div(cols, 32)};
  }
  throw std::invalid_argument("block_grid: no such granularity");
}

float amax(const MatrixRef& x) {
  return block_amax(x, block_grid(Granularity::kTensor, x.rows(), x.cols()), 1)(0, 0);
}

Quantized quantize(const MatrixRef& x, const QuantizeSpec& spec) {
  if (spec.given_scale && spec.granularity != Granularity::kTensor) {
    throw std::invalid_argument("quantize: only a whole tensor can be cast with a given scale");
  }
  const BlockGrid grid = block_grid(spec.granularity, x.rows(), x.cols());
  const Matrix amaxes = spec.given_scale ? Matrix::Zero(1, 1) : block_amax(x, grid, spec.threads);

  Matrix scales(grid.rows, grid.cols);
  Quantized q{spec.granularity, spec.rule.format, Codes(x.rows(), x.cols()),
              Matrix(grid.rows, grid.cols)};
  for (Index i = 0; i < scales.size(); ++i) {
    const auto [scale, scale_inv] = block_scale(amaxes.data()[i], spec);
    scales.data()[i] = scale;
    q.scale_inv.data()[i] = scale_inv;
  }

  const auto cast = spec.rule.format == Fp8::kE4M3 ? cast_segment<E4M3> : cast_segment<E5M2>;
  for_each_segment(
      x.rows(), x.cols(), grid, spec.threads, [&](Index row, Index block, Index col, Index count) {
        const bool tail = count < grid.block_cols && block > 0;
        const Index of = tail && mutant("a tail takes the scale before") ? block - 1 : block;
        const float scale = scales(row / grid.block_rows, of);
        cast(x.row(row).data() + col, count, scale, &q.codes(row, col));
      });
  return q;
}

Quantized transpose(const Quantized& q) {
  if (q.granularity != Granularity::kTensor && q.granularity != Granularity::k128x128) {
    throw std::invalid_argument(
        "transpose: one-dimensional blocks have no transpose, quantise the transposed source");
  }
  if (mutant("scales are not transposed")) {
    return {q.granularity, q.format, transposed(q.codes), q.scale_inv};
  }
  return {q.granularity, q.format, transposed(q.codes), q.scale_inv.transpose()};
}

double dequantize(const Quantized& q, Index row, Index col) {
  const BlockGrid grid = block_grid(q.granularity, q.codes.rows(), q.codes.cols());
  const double scale_inv = q.scale_inv(row / grid.block_rows, col / grid.block_cols);
  return fp8_value(q.codes(row, col), q.format) * scale_inv;
}

}  // namespace samebits::reference
