// What is said beside the verdict, and when an error.
#include "harness/core/findings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "harness/core/scenario.h"
#include "properties/test_layers.h"

namespace samebits {
namespace {

HostTensor constant(std::int64_t rows, std::int64_t cols, float value) {
  return HostTensor::of<float>(DType::kF32, {rows, cols},
                               std::vector<float>(static_cast<std::size_t>(rows * cols), value));
}
HostTensor with_first(HostTensor weight, float value) {
  std::vector<std::byte> bytes(weight.bytes.begin(), weight.bytes.end());
  std::memcpy(bytes.data(), &value, sizeof value);
  return HostTensor::own(weight.dtype, weight.shape, std::move(bytes));
}

struct Findings : testing::Test {
  Recipe recipe = Recipe::defaults(RecipeKind::kBlock);
  int steps = 1, microbatches = 2;
  std::string scenario = "train";
  std::optional<float> learning_rate;
  std::vector<CheckedLayer> layers{test_layer("layer", DType::kF32, 32, 48)};

  CheckResult check() const {
    CheckRequest request = caching_check(
        make_scenario(scenario, recipe, MainGrad::kAccumulate, steps, microbatches), layers);
    request.learning_rate = learning_rate;
    return check_on_reference(request);
  }
  std::vector<std::string> kinds() const {
    std::vector<std::string> result;
    for (const Finding& finding : check().findings) result.push_back(finding.kind);
    return result;
  }
};

using Kinds = std::vector<std::string>;

TEST_F(Findings, AnOrdinaryRunHasNone) {
  steps = 2;
  EXPECT_EQ(kinds(), Kinds{});
}

TEST_F(Findings, AnUpdateTooSmallToChangeAByteIsVacuous) {
  steps = 3;
  learning_rate = 1e-30F;
  layers[0].layer.weight = test_matrix(DType::kBF16, 32, 48, 1);
  const auto findings = check().findings;
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, "vacuous update");
  EXPECT_EQ(findings[0].where, "layer");
  EXPECT_EQ(findings[0].count, 2);  // the last update has no use after it
  EXPECT_FALSE(findings[0].error);
}

TEST_F(Findings, OnlyTheLayerWhoseBytesStayedIsVacuous) {
  steps = 2;
  learning_rate = 0x1p-12F;
  layers.push_back(test_layer("huge", DType::kBF16, 32, 48));
  layers[1].layer.weight = test_matrix(DType::kBF16, 32, 48, 2, 0x1p+60);
  // Gradients of ordinary size, so that they vanish beside such weights.
  layers[1].inputs.dy = HostTensor::of<std::uint16_t>(DType::kBF16, {1, 16, 32},
                                                      std::vector<std::uint16_t>(512, 0x3f80));
  const auto findings = check().findings;
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, "vacuous update");
  EXPECT_EQ(findings[0].where, "huge");
}

TEST_F(Findings, AVacuousUpdateIsSeenBesideAStaleCopyToo) {
  scenario = "stale-weight";
  steps = 2;
  learning_rate = 0.0F;
  layers[0].layer.weight = test_matrix(DType::kBF16, 32, 48, 1);
  const CheckResult result = check();
  EXPECT_EQ(result.outcome, Outcome::kSame);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, "vacuous update");
}

TEST_F(Findings, AStaleCopyOfAWeightThatMovedIsNotVacuous) {
  scenario = "stale-weight";
  steps = 2;
  EXPECT_EQ(kinds(), Kinds{});
}

TEST_F(Findings, NonFiniteWeightsAreCounted) {
  layers[0].layer.weight =
      with_first(layers[0].layer.weight, std::numeric_limits<float>::quiet_NaN());
  const auto findings = check().findings;
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, "non-finite weight");
  EXPECT_EQ(findings[0].count, 1);
  EXPECT_FALSE(findings[0].error);
}

struct Control : Findings {
  Control() { recipe = Recipe::defaults(RecipeKind::kDelayed); }

  // The reason why delayed scaling showed nothing.
  std::string reason() const {
    const CheckResult result = check();
    EXPECT_EQ(result.outcome, Outcome::kSame);
    EXPECT_FALSE(result.has_error());
    const auto found =
        std::find_if(result.findings.begin(), result.findings.end(),
                     [](const Finding& f) { return f.kind == "control not exercised"; });
    return found == result.findings.end() ? "" : found->advice;
  }
};

constexpr char kNothing[] = "delayed scaling had no scale to move: ";

TEST_F(Control, IsExercisedByAnOrdinaryWeight) {
  EXPECT_EQ(kinds(), Kinds{});
  EXPECT_EQ(check().outcome, Outcome::kDifferent);
}

TEST_F(Control, NeedsTwoMicrobatches) {
  microbatches = 1;
  EXPECT_EQ(reason(), std::string(kNothing) + "there is one microbatch");
}

TEST_F(Control, NeedsAScaleOtherThanOne) {
  layers[0].layer.weight = with_first(layers[0].layer.weight, -448.0F);
  EXPECT_EQ(reason(), std::string(kNothing) + "max|W| gives the scale 1");
  recipe.margin = 1;
  EXPECT_EQ(kinds(), Kinds{});
  layers[0].layer.weight = with_first(layers[0].layer.weight, 224.0F);
  EXPECT_EQ(reason(), std::string(kNothing) + "max|W| gives the scale 1");
}

TEST_F(Control, NeedsAWeightThatIsNotZero) {
  layers[0].layer.weight = constant(32, 48, -0.0F);
  EXPECT_EQ(reason(), std::string(kNothing) + "max|W| is 0, which keeps the scale at 1");
}

TEST_F(Control, NeedsAFiniteWeight) {
  layers[0].layer.weight =
      with_first(layers[0].layer.weight, std::numeric_limits<float>::infinity());
  EXPECT_EQ(reason(), std::string(kNothing) + "max|W| is infinite, which keeps the scale at 1");
}

TEST_F(Control, IsAskedOfEachLayer) {
  layers.push_back(test_layer("zero", DType::kF32, 32, 48));
  layers[1].layer.weight = constant(32, 48, 0.0F);
  const auto findings = check().findings;
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].where, "zero");
}

// The traces say that nothing moved, and no reason explains it: then the run is not to be trusted.
TEST_F(Control, ThatDidNotDifferWithoutReasonIsAnError) {
  const CheckRequest request = caching_check(
      make_scenario(scenario, recipe, MainGrad::kAccumulate, steps, microbatches), layers);
  const CheckResult result = check();
  const auto findings = find_findings(request, result.a, result.a);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, "control did not differ");
  EXPECT_TRUE(findings[0].error);
}

TEST_F(Control, IsNotAskedOfArmsThatCacheAlike) {
  CheckRequest request = caching_check(
      make_scenario(scenario, recipe, MainGrad::kAccumulate, steps, microbatches), layers);
  request.b.cached = false;
  EXPECT_TRUE(check_on_reference(request).findings.empty());
}

}  // namespace
}  // namespace samebits
