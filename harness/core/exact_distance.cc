#include "harness/core/exact_distance.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "harness/core/values.h"
#include "reference/bound.h"

namespace samebits {
namespace {

namespace ref = samebits::reference;

struct Side {
  std::string name;  // of the operand in the event
  Role role;
};
struct Sides {
  Side a, b;
};
// A and B of the operation's GEMM.
Sides sides(Operation operation) {
  switch (operation) {
    case Operation::kDgrad:
      return {{"weight columnwise", Role::kWeight}, {"dy", Role::kGradient}};
    case Operation::kWgrad:
      return {{"x columnwise", Role::kActivation}, {"dy columnwise", Role::kGradient}};
    default:
      return {{"weight", Role::kWeight}, {"x", Role::kActivation}};
  }
}

const HostTensor& tensor(const Event& event, const std::vector<HostTensor>& tensors,
                         const std::string& name) {
  const auto found = std::find_if(event.tensors.begin(), event.tensors.end(),
                                  [&](const EventTensor& t) { return t.name == name; });
  return tensors.at(static_cast<std::size_t>(found - event.tensors.begin()));
}

// One row of an operand, alone.
ref::Quantized row_of(const HostTensor& codes, const HostTensor& scales, ScaleMode mode,
                      std::int64_t row) {
  ref::Quantized q;
  q.format = codes.dtype == DType::kF8E5M2 ? ref::Fp8::kE5M2 : ref::Fp8::kE4M3;
  if (mode == ScaleMode::k1x128) q.granularity = ref::Granularity::k1x128;
  if (mode == ScaleMode::k128x128) q.granularity = ref::Granularity::k128x128;
  const std::int64_t k = codes.shape.at(1);
  q.codes.resize(1, k);
  for (std::int64_t i = 0; i < k; ++i) q.codes(0, i) = codes.at<std::uint8_t>(row * k + i);
  const std::int64_t scale_row = row / scale_block(mode, codes.shape).rows;
  const std::int64_t scale_cols = scales.shape.at(1);
  q.scale_inv.resize(1, scale_cols);
  for (std::int64_t i = 0; i < scale_cols; ++i) {
    q.scale_inv(0, i) = scales.at<float>(scale_row * scale_cols + i);
  }
  return q;
}

// The bias of one output, as the engine adds it.
std::optional<float> bias_of(const CheckRequest& request, const Event& event, std::int64_t m) {
  if (event.key.operation != Operation::kFprop) return std::nullopt;
  for (const CheckedLayer& checked : request.layers) {
    if (checked.layer.name != event.key.layer || !checked.layer.bias) continue;
    return ref::BF16::from_bits(to_bf16(value_at(*checked.layer.bias, m))).value();
  }
  return std::nullopt;
}

}  // namespace

std::optional<ExactDistance> exact_distance(const CheckRequest& request, const Event& event,
                                            const std::vector<HostTensor>& tensors_a,
                                            const HostTensor& result_b, std::int64_t index) {
  const Recipe& recipe = request.program.recipe;
  const bool adds = event.beta.value_or(0) != 0 && !event.onto_zeros;
  if (!event.gemm || adds || recipe.kind == RecipeKind::kMx) return std::nullopt;
  const HostTensor& result_a = tensors_a.back();
  const std::int64_t width = result_a.shape.at(1), n = index / width, m = index % width;

  const auto [side_a, side_b] = sides(event.key.operation);
  const auto operand = [&](const Side& side, std::int64_t row) {
    return row_of(tensor(event, tensors_a, side.name + " bytes"),
                  tensor(event, tensors_a, side.name + " scale_inv"),
                  recipe.quantize(side.role).mode, row);
  };
  const ref::Quantized a = operand(side_a, m), b = operand(side_b, n);
  ref::GemmInputs inputs;
  inputs.a = &a;
  inputs.b = &b;
  Eigen::VectorXf bias(1);
  if (const auto value = bias_of(request, event, m)) {
    bias(0) = *value;
    inputs.bias = &bias;
  }

  // The exact result, rounded to FP32 and so within a bound of its own.
  ref::GemmSpec exact;
  exact.model = ref::exact();
  exact.output = ref::OutputType::kFP32;
  const double result = ref::gemm(inputs, exact)(0, 0);
  ref::GemmSpec modelled;
  modelled.model = ref::hopper(recipe.fast_accumulation(event.key.operation));
  modelled.output = result_a.dtype == DType::kF32 ? ref::OutputType::kFP32 : ref::OutputType::kBF16;
  modelled.split_k = event.gemm->split_k;
  return ExactDistance{
      std::abs(value_at(result_a, index) - result), std::abs(value_at(result_b, index) - result),
      ref::ErrorBound(inputs, modelled)(0, 0) + ref::ErrorBound(inputs, exact)(0, 0)};
}

}  // namespace samebits
