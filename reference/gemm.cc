#include "reference/gemm.h"

#include <algorithm>
#include <cmath>

#include "reference/exact_sum.h"
#include "reference/gemm_check.h"
#include "reference/parallel.h"

namespace samebits::reference {
namespace {

using Eigen::Index;

constexpr std::int64_t kBlock = 128;  // of K, for scales
constexpr std::int64_t kProductsPerThread = 1 << 18;

bool is_block_mode(Granularity g) { return g == Granularity::k1x128 || g == Granularity::k128x128; }

std::int64_t slice_length(std::int64_t k, int split_k, Granularity a, Granularity b) {
  if (split_k == 1) return k;
  const bool tile = a == Granularity::k128x128 || b == Granularity::k128x128;
  const std::int64_t multiple = tile ? 4 * kBlock : kBlock;
  return (k / split_k + multiple - 1) / multiple * multiple;
}

// The scale of an element of 1x128 or 128x128 blocks.
float block_scale(const Quantized& q, Index row, std::int64_t k) {
  return q.scale_inv(q.granularity == Granularity::k128x128 ? row / kBlock : row, k / kBlock);
}

// The FP32 sums behind one GEMM, before the epilogue.
class Accumulation {
 public:
  Accumulation(const Quantized& a, const Quantized& b, const GemmSpec& spec)
      : a_(a), b_(b), spec_(spec), decoded_a_(a), decoded_b_(b) {}

  // u of the epilogue.
  float operator()(Index m, Index n) const {
    const float total = spec_.model.exact ? exact_total(m, n) : sum_of_slices(m, n);
    if (a_.granularity != Granularity::kRow) return total;
    return total * a_.scale_inv(m) * b_.scale_inv(n);  // A's first
  }

 private:
  // Slices ascending, in FP32; none runs beyond the last, so a tail may be lost.
  float sum_of_slices(Index m, Index n) const {
    const std::int64_t k = a_.codes.cols();
    const auto length = slice_length(k, spec_.split_k, a_.granularity, b_.granularity);
    float total = slice(m, n, 0, std::min(k, length));
    for (int j = 1; j < spec_.split_k && j * length < k; ++j) {
      total += slice(m, n, j * length, std::min(k, (j + 1) * length));
    }
    return total;
  }

  float slice(Index m, Index n, std::int64_t begin, std::int64_t end) const {
    const OperandRow row_a = decoded_a_.row(m), row_b = decoded_b_.row(n);
    if (!is_block_mode(a_.granularity)) {
      return promoted_chains(spec_.model, row_a, row_b, begin, end);
    }
    float y = 0;
    for (std::int64_t k = begin; k < end; k += kBlock) {
      const float p = chain(spec_.model, row_a, row_b, k, std::min(end, k + kBlock));
      y = add_block(block_scale(a_, m, k), block_scale(b_, n, k), p, y);
    }
    return y;
  }

  // Powers of two make the two orders agree; arbitrary scales do not.
  float add_block(float scale_a, float scale_b, float p, float y) const {
    const bool both_1x128 =
        a_.granularity == Granularity::k1x128 && b_.granularity == Granularity::k1x128;
    return both_1x128 ? std::fma(scale_a, scale_b * p, y) : std::fma(scale_a * scale_b, p, y);
  }

  float exact_total(Index m, Index n) const {
    return exact_dot(decoded_a_.row(m), decoded_b_.row(n), a_.codes.cols(),
                     [&](std::int64_t k) -> BlockScales {
                       if (!is_block_mode(a_.granularity)) return {1, 1};
                       return {block_scale(a_, m, k), block_scale(b_, n, k)};
                     });
  }

  const Quantized& a_;
  const Quantized& b_;
  const GemmSpec& spec_;
  Operand decoded_a_;
  Operand decoded_b_;
};

Epilogue make_epilogue(const GemmInputs& in, const GemmSpec& spec) {
  const bool tensorwise = in.a->granularity == Granularity::kTensor;
  return {.output = spec.output,
          .factor = tensorwise ? spec.alpha * in.a->scale_inv(0) * in.b->scale_inv(0) : spec.alpha,
          .beta = spec.beta,
          .scale_d = spec.scale_d != nullptr ? *spec.scale_d : 1,
          .in_place = spec.in_place,
          .split_k = spec.split_k > 1,
          .has_bias = in.bias != nullptr};
}

}  // namespace

Matrix gemm(const GemmInputs& in, const GemmSpec& spec) {
  check_gemm(in, spec);
  const Accumulation accumulation(*in.a, *in.b, spec);
  const Epilogue epilogue = make_epilogue(in, spec);
  const Index m_count = in.a->codes.rows(), n_count = in.b->codes.rows();

  Matrix d(n_count, m_count);
  const std::int64_t grain = kProductsPerThread / std::max<Index>(1, in.a->codes.cols());
  parallel_for(spec.threads, n_count * m_count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Index n = i / m_count, m = i % m_count;
      const float c = spec.beta != 0 ? (*in.c)(n, m) : 0;
      const float bias = in.bias != nullptr ? (*in.bias)(m) : 0;
      d(n, m) = epilogue(accumulation(m, n), c, bias);
    }
  });
  return d;
}

std::int64_t summed_k(std::int64_t k, int split_k, Granularity a, Granularity b) {
  return std::min(k, split_k * slice_length(k, split_k, a, b));
}

}  // namespace samebits::reference
