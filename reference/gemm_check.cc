#include "reference/gemm_check.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "reference/formats.h"

namespace samebits::reference {
namespace {

using Eigen::Index;

void require(bool holds, const char* reason) {
  if (!holds) throw std::invalid_argument(std::string("gemm: ") + reason);
}

void check_scales(const Quantized& q) {
  const BlockGrid grid = block_grid(q.granularity, q.codes.rows(), q.codes.cols());
  require(q.scale_inv.rows() == grid.rows && q.scale_inv.cols() == grid.cols,
          "the scales do not have the shape of their granularity");
}

void check_modes(Granularity a, Granularity b, const AccumulationModel& model) {
  using enum Granularity;
  const bool same = a == b && (a == kTensor || a == kRow);
  const bool blocks = (a == k1x128 && b == k1x128) || (a == k128x128 && b == k1x128) ||
                      (a == k1x128 && b == k128x128);
  const bool mx = a == k1x32 && b == k1x32;
  require(same || blocks || mx, "no algorithm for this pair of scale granularities");
  if (model.exact) return;
  require(!blocks || model.promotion_interval == 128,
          "block scales need a model that promotes every 128 elements");
  require(!mx || model.block_exponents, "1x32 scales need a model that takes block exponents");
}

void check_output(const GemmInputs& in, const GemmSpec& spec) {
  const bool to_e5m2 = spec.output == OutputType::kE5M2;
  const bool to_fp8 = to_e5m2 || spec.output == OutputType::kE4M3;
  const bool a_is_e5m2 = in.a->format == Fp8::kE5M2, b_is_e5m2 = in.b->format == Fp8::kE5M2;
  require(spec.model.exact || !a_is_e5m2 || !b_is_e5m2, "no algorithm for E5M2 x E5M2");
  require(!to_e5m2 || a_is_e5m2 || b_is_e5m2, "E5M2 output needs an E5M2 operand");
  require(spec.scale_d == nullptr || to_fp8, "a D scale needs FP8 output");
  require(!to_fp8 || spec.beta == 0, "FP8 output with beta is not modelled");
}

bool is_bias_value(float value, OutputType output) {
  const auto survives = [value](auto rounded) {
    return std::isnan(value) || rounded.value() == value;
  };
  const bool bf16 = survives(BF16::round(value, Rounding::kTowardZero, Overflow::kSaturate));
  const bool fp16 = survives(FP16::round(value, Rounding::kTowardZero, Overflow::kSaturate));
  switch (output) {
    case OutputType::kFP32:
    case OutputType::kBF16:
      return bf16 || std::isinf(value);
    case OutputType::kFP16:
      return fp16 || std::isinf(value);
    default:
      return bf16 || fp16 || std::isinf(value);
  }
}

}  // namespace

void check_gemm(const GemmInputs& in, const GemmSpec& spec) {
  require(in.a != nullptr && in.b != nullptr, "an operand is missing");
  const Index m = in.a->codes.rows(), n = in.b->codes.rows(), k = in.a->codes.cols();
  require(k == in.b->codes.cols(), "the operands differ in K");
  check(spec.model);
  check_scales(*in.a);
  check_scales(*in.b);
  check_modes(in.a->granularity, in.b->granularity, spec.model);
  check_output(in, spec);
  require(spec.split_k >= 1, "split_k is below 1");
  require(spec.split_k == 1 || spec.split_k <= k, "more slices than elements of K");
  if (spec.beta != 0) {
    require(in.c != nullptr, "beta without C");
    require(in.c->rows() == n && in.c->cols() == m, "C is not [n, m]");
  }
  if (in.bias != nullptr) {
    require(in.bias->size() == m, "the bias has not M elements");
    for (const float value : *in.bias) {
      require(is_bias_value(value, spec.output), "the bias does not hold values of its type");
    }
  }
}

}  // namespace samebits::reference
