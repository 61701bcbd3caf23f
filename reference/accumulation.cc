#include "reference/accumulation.h"

#include <algorithm>
#include <cmath>

#include "reference/exact_sum.h"
#include "reference/mutants.h"

namespace samebits::reference {

using Eigen::Index;

bool is_block_mode(Granularity granularity) {
  return granularity == Granularity::k1x128 || granularity == Granularity::k128x128;
}

std::int64_t slice_length(std::int64_t k, int split_k, Granularity a, Granularity b) {
  if (split_k == 1) return k;
  if (mutant("slices are not whole blocks")) return (k + split_k - 1) / split_k;
  const bool tile = a == Granularity::k128x128 || b == Granularity::k128x128;
  const std::int64_t multiple = tile ? 4 * kScaleBlock : kScaleBlock;
  return (k / split_k + multiple - 1) / multiple * multiple;
}

float block_scale(const Quantized& q, Index row, std::int64_t k) {
  const bool tile = q.granularity == Granularity::k128x128;
  if (tile && mutant("tile scales by the first row")) row = 0;
  return q.scale_inv(tile ? row / kScaleBlock : row, k / kScaleBlock);
}

Epilogue make_epilogue(const GemmInputs& in, const GemmSpec& spec) {
  const bool tensorwise = in.a->granularity == Granularity::kTensor;
  return {.output = spec.output,
          .factor = tensorwise ? spec.alpha * in.a->scale_inv(0) * in.b->scale_inv(0) : spec.alpha,
          .beta = mutant("beta is ignored") ? 0 : spec.beta,
          .scale_d = spec.scale_d != nullptr ? *spec.scale_d : 1,
          .in_place = spec.in_place,
          .split_k = spec.split_k > 1,
          .has_bias = in.bias != nullptr};
}

float Accumulation::operator()(Index m, Index n) const {
  const float total = spec_.model.exact ? exact_total(m, n) : sum_of_slices(m, n);
  if (a_.granularity != Granularity::kRow) return total;
  if (mutant("row scales swapped")) return total * b_.scale_inv(n) * a_.scale_inv(m);
  return total * a_.scale_inv(m) * b_.scale_inv(n);  // A's first
}

// Slices ascending, in FP32; none runs beyond the last, so a tail may be lost.
float Accumulation::sum_of_slices(Index m, Index n) const {
  const std::int64_t k = a_.codes.cols();
  const auto length = slice_length(k, spec_.split_k, a_.granularity, b_.granularity);
  float total = slice(m, n, 0, std::min(k, length));
  const int slices = mutant("the last slice is lost") ? spec_.split_k - 1 : spec_.split_k;
  for (int j = 1; j < slices && j * length < k; ++j) {
    total += slice(m, n, j * length, std::min(k, (j + 1) * length));
  }
  return total;
}

float Accumulation::slice(Index m, Index n, std::int64_t begin, std::int64_t end) const {
  const OperandRow row_a = decoded_a_.row(m), row_b = decoded_b_.row(n);
  if (!is_block_mode(a_.granularity)) {
    return promoted_chains(spec_.model, row_a, row_b, begin, end);
  }
  float y = 0;
  for (std::int64_t k = begin; k < end; k += kScaleBlock) {
    const float p = chain(spec_.model, row_a, row_b, k, std::min(end, k + kScaleBlock));
    y = add_block(block_scale(a_, m, k), block_scale(b_, n, k), p, y);
  }
  return y;
}

// Powers of two make the two orders agree; arbitrary scales do not.
float Accumulation::add_block(float scale_a, float scale_b, float p, float y) const {
  const bool both_1x128 =
      a_.granularity == Granularity::k1x128 && b_.granularity == Granularity::k1x128;
  return both_1x128 != mutant("block scales in the other order")
             ? std::fma(scale_a, scale_b * p, y)
             : std::fma(scale_a * scale_b, p, y);
}

float Accumulation::exact_total(Index m, Index n) const {
  return exact_dot(decoded_a_.row(m), decoded_b_.row(n), a_.codes.cols(),
                   [&](std::int64_t k) -> BlockScales {
                     if (!is_block_mode(a_.granularity)) return {1, 1};
                     return {block_scale(a_, m, k), block_scale(b_, n, k)};
                   });
}

}  // namespace samebits::reference
