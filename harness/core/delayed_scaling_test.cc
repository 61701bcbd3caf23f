// The amax history of delayed scaling, alone and as the engine drives it.
#include "harness/core/delayed_scaling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "harness/core/error.h"
#include "harness/core/scenario.h"
#include "harness/core/values.h"
#include "properties/test_layers.h"

namespace samebits {
namespace {

Recipe delayed() { return Recipe::defaults(RecipeKind::kDelayed); }

// The scale after each of these amaxes was recorded and the state updated.
std::vector<float> scales(const Recipe& recipe, const std::vector<float>& amaxes,
                          DType format = DType::kF8E4M3) {
  DelayedScaling state(recipe.history_length, format);
  std::vector<float> result;
  for (const float amax : amaxes) {
    state.record(amax);
    state.update(recipe);
    result.push_back(state.scale());
  }
  return result;
}

TEST(DelayedScaling, StartsWithScaleOne) {
  EXPECT_EQ(DelayedScaling(1024, DType::kF8E4M3).scale(), 1);
}

TEST(DelayedScaling, TakesTheMaximumOfTheHistory) {
  EXPECT_EQ(scales(delayed(), {10, 1, 1, 1}), (std::vector<float>{44.8F, 44.8F, 44.8F, 44.8F}));
}

TEST(DelayedScaling, ForgetsWhatLeftTheHistory) {
  Recipe recipe = delayed();
  recipe.history_length = 3;
  EXPECT_EQ(scales(recipe, {10, 1, 1, 1}), (std::vector<float>{44.8F, 44.8F, 44.8F, 448.0F}));
  recipe.history_length = 1;
  EXPECT_EQ(scales(recipe, {10, 1}), (std::vector<float>{44.8F, 448.0F}));
}

TEST(DelayedScaling, MostRecentTakesTheLastAmax) {
  Recipe recipe = delayed();
  recipe.most_recent = true;
  EXPECT_EQ(scales(recipe, {10, 1, 2}), (std::vector<float>{44.8F, 448.0F, 224.0F}));
}

TEST(DelayedScaling, AMarginHalvesTheScale) {
  Recipe recipe = delayed();
  recipe.margin = 2;
  EXPECT_EQ(scales(recipe, {10}), std::vector<float>{11.2F});
}

TEST(DelayedScaling, GradientsAimAtTheirOwnMaximum) {
  EXPECT_EQ(scales(delayed(), {7}, DType::kF8E5M2), std::vector<float>{8192.0F});
}

TEST(DelayedScaling, AnAmaxOfZeroOrInfKeepsTheScale) {
  Recipe recipe = delayed();
  recipe.most_recent = true;
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(scales(recipe, {0, 10, 0, infinity, 1}),
            (std::vector<float>{1.0F, 44.8F, 44.8F, 44.8F, 448.0F}));
}

TEST(DelayedScaling, AnUpdateWithoutARecordCountsAsNothingSeen) {
  DelayedScaling state(1024, DType::kF8E4M3);
  state.record(10);
  state.update(delayed());
  state.update(delayed());
  EXPECT_EQ(state.scale(), 44.8F);
}

TEST(DelayedScaling, TheLargestAmaxSinceTheLastUpdateCounts) {
  DelayedScaling state(1024, DType::kF8E4M3);
  for (const float amax : {1.0F, 10.0F, 2.0F}) state.record(amax);
  EXPECT_EQ(state.scale(), 1);
  state.update(delayed());
  EXPECT_EQ(state.scale(), 44.8F);
}

TEST(DelayedScaling, RefusesAnEmptyHistory) {
  EXPECT_THROW(DelayedScaling(0, DType::kF8E4M3), Error);
  EXPECT_THROW(DelayedScaling(-1, DType::kF8E4M3), Error);
}

// Of the engine: a trace's scales against the amaxes of its own tensors.

float amax_of(const HostTensor& tensor) {
  double most = 0;
  for (std::int64_t i = 0; i < element_count(tensor.shape); ++i) {
    most = std::fmax(most, std::abs(value_at(tensor, i)));
  }
  return static_cast<float>(most);
}

float inverse(float scale) { return 1 / scale; }

struct Delayed : testing::Test {
  CheckedLayer layer = test_layer("layer", DType::kBF16, 48, 80);
  Recipe recipe = delayed();

  RecordedRun run(const std::string& scenario, int microbatches, bool cached = false) const {
    return record_run(make_scenario(scenario, recipe, MainGrad::kAccumulate, 1, microbatches),
                      layer, cached);
  }
};

float scale_inv(const RecordedRun& run, std::size_t event, const std::string& operand) {
  return run.tensor(event, operand + " scale_inv").at<float>(0);
}

TEST_F(Delayed, EachForwardAndBackwardUsesTheScaleThatThePreviousOneLeft) {
  const RecordedRun run = this->run("train", 3);
  DelayedScaling x(1024, DType::kF8E4M3), w(1024, DType::kF8E4M3), dy(1024, DType::kF8E5M2);
  for (std::size_t m = 0; m < 3; ++m) {
    const std::size_t fprop = 3 * m, dgrad = fprop + 1, wgrad = fprop + 2;
    EXPECT_EQ(scale_inv(run, fprop, "x"), inverse(x.scale())) << m;
    EXPECT_EQ(scale_inv(run, wgrad, "x columnwise"), inverse(x.scale())) << m;
    EXPECT_EQ(scale_inv(run, fprop, "weight"), inverse(w.scale())) << m;
    EXPECT_EQ(scale_inv(run, dgrad, "weight columnwise"), inverse(w.scale())) << m;
    EXPECT_EQ(scale_inv(run, dgrad, "dy"), inverse(dy.scale())) << m;
    EXPECT_EQ(scale_inv(run, wgrad, "dy columnwise"), inverse(dy.scale())) << m;
    x.record(amax_of(run.tensor(fprop, "x")));
    w.record(amax_of(layer.layer.weight));
    dy.record(amax_of(run.tensor(dgrad, "dy")));
    for (DelayedScaling* state : {&x, &w, &dy}) state->update(delayed());
  }
  EXPECT_NE(w.scale(), 1);
}

std::vector<Event> of_pass(const RecordedRun& run, Pass pass) {
  std::vector<Event> events;
  for (const Event& event : run.events) {
    if (event.key.pass == pass) events.push_back(event);
  }
  return events;
}

TEST_F(Delayed, AnEvaluationUpdatesNoScaleAndItsAmaxCountsInTheNextForward) {
  const RecordedRun with = run("eval-first", 2);
  ASSERT_EQ(of_pass(with, Pass::kEval).size(), 1U);
  EXPECT_EQ(scale_inv(with, 0, "x"), 1);
  EXPECT_EQ(scale_inv(with, 1, "x"), 1);  // microbatch 0, after the evaluation
  EXPECT_EQ(scale_inv(with, 1, "weight"), 1);
  DelayedScaling x(1024, DType::kF8E4M3);
  x.record(amax_of(with.tensor(0, "x")));
  x.record(amax_of(with.tensor(1, "x")));
  x.update(delayed());
  EXPECT_EQ(scale_inv(with, 4, "x"), inverse(x.scale()));
}

TEST_F(Delayed, ARecomputationUsesTheScalesOfItsForwardAndRecordsNothing) {
  // With the maximum over the history, to record an amax a second time would change nothing.
  recipe.most_recent = true;
  layer.inputs.seed = 1;  // whose second activation has the smaller amax
  const RecordedRun plain = run("train", 3);
  ASSERT_LT(amax_of(plain.tensor(3, "x")), amax_of(plain.tensor(0, "x")));
  const RecordedRun recomputed = run("recompute", 3);
  const auto again = of_pass(recomputed, Pass::kRecompute);
  const auto first = of_pass(recomputed, Pass::kTrain);
  ASSERT_EQ(again.size(), 3U);
  ASSERT_EQ(first.size(), plain.events.size());
  for (std::size_t e = 0; e < first.size(); ++e) {
    for (std::size_t t = 0; t < first[e].tensors.size(); ++t) {
      EXPECT_EQ(first[e].tensors[t].digest, plain.events[e].tensors[t].digest)
          << e << " " << first[e].tensors[t].name;
    }
  }
  for (std::size_t m = 0; m < again.size(); ++m) {
    const Event& forward = first[3 * m];
    for (std::size_t t = 0; t < forward.tensors.size(); ++t) {
      EXPECT_EQ(again[m].tensors[t].digest, forward.tensors[t].digest) << forward.tensors[t].name;
    }
  }
}

TEST_F(Delayed, ACachedForwardKeepsTheScaleOfItsBytes) {
  const RecordedRun cached = run("train", 3, true);
  for (const std::size_t fprop : {0, 3, 6}) EXPECT_EQ(scale_inv(cached, fprop, "weight"), 1);
}

// Four slots, three microbatches: at the start of step 2 only what a False recorded at the end of
// step 0 could still hold the scale of the first weight.
TEST_F(Delayed, ACachedFalseRecordsNoAmaxOfTheWeight) {
  Program program = make_scenario("train", delayed(), MainGrad::kAccumulate, 3, 3);
  program.recipe.history_length = 4;
  // One large weight, which its own squared error makes smaller.
  std::vector<std::byte> bytes(layer.layer.weight.bytes.begin(), layer.layer.weight.bytes.end());
  bytes[0] = std::byte{0x00}, bytes[1] = std::byte{0x41};  // 8
  layer.layer.weight = HostTensor::own(DType::kBF16, {48, 80}, std::move(bytes));
  const RecordedRun cached = record_run(program, layer, true);
  constexpr std::size_t kStep = 3 * 3 + 1;  // events of a step, the last of them the update
  const float before = amax_of(layer.layer.weight);
  const float after = amax_of(cached.tensor(kStep - 1, "weight"));
  ASSERT_LT(after, before);  // or the maximum could not tell
  EXPECT_EQ(scale_inv(cached, kStep, "weight"), inverse(448.0F / before));
  EXPECT_EQ(scale_inv(cached, 2 * kStep, "weight"), inverse(448.0F / after));
}

}  // namespace
}  // namespace samebits
