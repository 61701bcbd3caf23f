// The engine's y, dx and main_grad against reference::linear, which has no cache, no backend and no
// events in it.
#include <gtest/gtest.h>

#include <bit>
#include <ostream>

#include "harness/core/scenario.h"
#include "harness/core/values.h"
#include "properties/test_layers.h"
#include "reference/linear.h"

namespace samebits {
namespace {

namespace ref = samebits::reference;

struct Case {
  Recipe recipe;
  DType weight;
  std::int64_t tokens, out, in;
  bool bias;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << describe(c.recipe) << ", " << dtype_name(c.weight) << " [" << c.out << ", " << c.in
             << "], " << c.tokens << " tokens" << (c.bias ? ", bias" : "");
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const RecipeKind kind : {RecipeKind::kCurrent, RecipeKind::kBlock, RecipeKind::kMx}) {
    for (const bool hybrid : {false, true}) {
      for (const bool power_of_two : {false, true}) {
        Recipe recipe = Recipe::defaults(kind);
        recipe.hybrid = hybrid;
        recipe.power_of_two = power_of_two;
        result.push_back({recipe, DType::kF32, 16, 48, 80, true});
        result.push_back({recipe, DType::kBF16, 144, 16, 272, false});
        result.push_back({recipe, DType::kF16, 48, 144, 160, true});
      }
    }
  }
  return result;
}

ref::Matrix widened(const HostTensor& tensor) {
  ref::Matrix matrix(tensor.shape.at(0), tensor.shape.at(1));
  for (std::int64_t i = 0; i < matrix.size(); ++i) {
    matrix.data()[i] = static_cast<float>(value_at(tensor, i));
  }
  return matrix;
}

ref::InputType input_type(DType dtype) {
  if (dtype == DType::kBF16) return ref::InputType::kBF16;
  return dtype == DType::kF16 ? ref::InputType::kFP16 : ref::InputType::kFP32;
}

ref::LinearRecipe linear_recipe(const Recipe& recipe) {
  const auto kind = recipe.kind == RecipeKind::kCurrent ? ref::RecipeKind::kCurrent
                    : recipe.kind == RecipeKind::kBlock ? ref::RecipeKind::kBlock
                                                        : ref::RecipeKind::kMx;
  return {kind, recipe.power_of_two, recipe.hybrid};
}

// Elements whose bits differ; every element where the shapes do.
std::int64_t different(const HostTensor& actual, const ref::Matrix& expected,
                       ref::OutputType type) {
  if (actual.shape != Shape{expected.rows(), expected.cols()}) return expected.size();
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    count += bits_at(actual, i) != ref::output_bits(expected.data()[i], type);
  }
  return count;
}

class EngineOracle : public testing::TestWithParam<Case> {};

TEST_P(EngineOracle, GivesTheSameBitsInEveryMicrobatchCachedOrNot) {
  const Case& c = GetParam();
  CheckedLayer checked = test_layer("layer", c.weight, c.out, c.in, c.tokens);
  Eigen::VectorXf bias;
  if (c.bias) {
    const HostTensor row = test_matrix(DType::kBF16, 1, c.out, 99);
    bias = widened(row).row(0).transpose();
    checked.layer.bias = row;
    checked.layer.bias->shape = {c.out};
  }
  const Program program = make_scenario("train", c.recipe, MainGrad::kAccumulate, 1, 2);
  for (const bool cached : {false, true}) {
    SCOPED_TRACE(cached ? "cached" : "uncached");
    const RecordedRun run = record_run(program, checked, cached);
    ref::Matrix main_grad = ref::Matrix::Zero(c.out, c.in);
    for (std::size_t fprop = 0; fprop < 6; fprop += 3) {
      ref::LinearInputs inputs;
      inputs.x = widened(run.tensor(fprop, "x"));
      inputs.w = widened(checked.layer.weight);
      inputs.dy = widened(run.tensor(fprop + 1, "dy"));
      inputs.bias = c.bias ? &bias : nullptr;
      inputs.w_type = input_type(c.weight);
      const ref::LinearOutputs expected =
          ref::linear(inputs, linear_recipe(c.recipe), main_grad, 1.0F);
      EXPECT_EQ(different(run.tensor(fprop, "y"), expected.y, ref::OutputType::kBF16), 0);
      EXPECT_EQ(different(run.tensor(fprop + 1, "dx"), expected.dx, ref::OutputType::kBF16), 0);
      EXPECT_EQ(different(run.tensor(fprop + 2, "main_grad"), expected.dw, ref::OutputType::kFP32),
                0);
      EXPECT_GT(expected.y.norm() * expected.dx.norm() * expected.dw.norm(), 0);
      main_grad = expected.dw;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EngineOracle, testing::ValuesIn(cases()));

TEST(EngineSteps, EachStartsFromAMainGradOfZeros) {
  const CheckedLayer checked = test_layer("layer", DType::kBF16, 48, 80);
  const Recipe recipe = Recipe::defaults(RecipeKind::kCurrent);
  const Program program = make_scenario("train", recipe, MainGrad::kAccumulate, 2, 1);
  const RecordedRun run = record_run(program, checked, true);
  constexpr std::size_t kEventsAStep = 4;  // fprop, dgrad, wgrad, update
  for (const std::size_t fprop : {std::size_t{0}, kEventsAStep}) {
    ref::LinearInputs inputs;
    inputs.x = widened(run.tensor(fprop, "x"));
    inputs.w = widened(checked.layer.weight);  // decides nothing of dw
    inputs.dy = widened(run.tensor(fprop + 1, "dy"));
    const ref::Matrix zeros = ref::Matrix::Zero(48, 80);
    const auto expected = ref::linear(inputs, linear_recipe(recipe), zeros, 1.0F);
    EXPECT_EQ(different(run.tensor(fprop + 2, "main_grad"), expected.dw, ref::OutputType::kFP32),
              0);
  }
}

// RN_bf16(RN(w - RN(lr * g))), each step in FP32, with the rate 2^-4 * max|w| / max|g|.
TEST(EngineUpdate, RoundsEachStepOnItsOwn) {
  const CheckedLayer checked = test_layer("layer", DType::kF32, 48, 80);
  const Program program =
      make_scenario("train", Recipe::defaults(RecipeKind::kCurrent), MainGrad::kAccumulate, 1, 1);
  const RecordedRun run = record_run(program, checked, false);
  const ref::Matrix w = widened(checked.layer.weight);
  const ref::Matrix g = widened(run.tensor(2, "main_grad"));
  const float rate = 0x1p-4F * ref::amax(w) / ref::amax(g);
  ASSERT_EQ(run.events.at(3).learning_rate, rate);
  const HostTensor& updated = run.tensor(3, "weight");
  EXPECT_EQ(updated.dtype, DType::kBF16);
  std::int64_t moved = 0;
  for (std::int64_t i = 0; i < w.size(); ++i) {
    const volatile float step = rate * g.data()[i];  // volatile: no excess precision, no FMA
    const volatile float result = w.data()[i] - step;
    EXPECT_EQ(bits_at(updated, i), to_bf16(result)) << i;
    moved += to_bf16(w.data()[i]) != to_bf16(result);
  }
  EXPECT_GT(moved, 0);
}

}  // namespace
}  // namespace samebits
