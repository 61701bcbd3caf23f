// The semantics table of weight caching: what uncached against cached must give, in every scenario,
// recipe and mode of main_grad.
#include <gtest/gtest.h>

#include <cstdio>
#include <ostream>
#include <string>

#include "harness/core/scenario.h"
#include "properties/test_layers.h"

namespace samebits {

// For GoogleTest's messages.
inline void PrintTo(Cause cause, std::ostream* out) { *out << cause_name(cause); }
void PrintTo(Outcome outcome, std::ostream* out) { *out << outcome_name(outcome); }

namespace {

constexpr int kSteps = 2;
constexpr int kMicrobatches = 4;

// Where a cause first shows, and in which tensor; an empty name: in a weight's scale or bytes.
struct Place {
  Cause cause;
  int step, microbatch;
  Operation operation;
  std::string tensor;

  bool operator==(const Place&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Place& place) {
  return out << cause_name(place.cause) << " at (" << place.step << ", " << place.microbatch << ") "
             << operation_name(place.operation) << " " << place.tensor;
}

const Place kScaleMoved{Cause::kScaleMoved, 0, 1, Operation::kFprop, "weight scale_inv"};
const Place kStaleWeight{Cause::kStaleWeight, 1, 0, Operation::kFprop, ""};
const Place kStaleRecipe{Cause::kStaleRecipe, 1, 0, Operation::kFprop, "weight scale_inv"};

// The causes in the order in which they first show; none: the arms are the same.
std::vector<Place> expected(std::string_view scenario, RecipeKind recipe, MainGrad main_grad) {
  std::vector<Place> places;
  if (recipe == RecipeKind::kDelayed) places.push_back(kScaleMoved);
  const bool overwrite = main_grad == MainGrad::kOverwriteFirst;
  if (scenario == "two-trues" && overwrite) {
    places.push_back({Cause::kAccumulationMode, 0, 2, Operation::kWgrad, "main_grad"});
  }
  if (scenario == "backward-reversed" && overwrite) {
    places.push_back({Cause::kAccumulationMode, 0, 0, Operation::kWgrad, "main_grad"});
  }
  if (scenario == "stale-weight") places.push_back(kStaleWeight);
  if (scenario == "recipe-switch" &&
      (recipe == RecipeKind::kCurrent || recipe == RecipeKind::kBlock)) {
    places.push_back(kStaleRecipe);
  }
  return places;
}

Place place_of(const CheckResult& result, Cause cause, std::size_t event, std::size_t tensor) {
  const Event& at = result.a.events[event];
  std::string name = at.tensors[tensor].name;
  // Which of the two a stale weight shows in depends on whether its amax moved.
  if (cause == Cause::kStaleWeight && name.starts_with("weight ")) name.clear();
  return {cause, at.key.step, at.key.microbatch, at.key.operation, name};
}

std::vector<Place> places_of(const CheckResult& result) {
  std::vector<Place> places;
  for (const CauseAt& found : result.causes) {
    places.push_back(place_of(result, found.cause, found.event, found.tensor));
  }
  return places;
}

void expect_as_the_table_says(const CheckResult& result, const std::vector<Place>& places) {
  EXPECT_EQ(result.outcome, places.empty() ? Outcome::kSame : Outcome::kDifferent) << result.reason;
  EXPECT_EQ(places_of(result), places);
  EXPECT_EQ(trace_digest(result.a) == trace_digest(result.b), places.empty());
  if (places.empty()) {
    EXPECT_EQ(result.a.loss, result.b.loss);
  }
  EXPECT_FALSE(result.has_error());
  ASSERT_EQ(result.first.has_value(), !places.empty());
  if (!result.first) return;
  EXPECT_EQ(place_of(result, result.first->cause, result.first->event, result.first->tensor),
            places.front());
  EXPECT_GT(result.first->elements.different, 0);
}

// Small, but with more than one block of 128 in either direction.
std::vector<CheckedLayer> layers() {
  return {test_layer("wide", DType::kBF16, 48, 144), test_layer("tall", DType::kF32, 144, 32)};
}

class ScenarioTable : public testing::TestWithParam<RecipeKind> {};

TEST_P(ScenarioTable, HoldsInEveryScenarioAndModeOfMainGrad) {
  int combinations = 0;
  for (const ScenarioRow& row : scenarios()) {
    for (const MainGrad main_grad : {MainGrad::kAccumulate, MainGrad::kOverwriteFirst}) {
      SCOPED_TRACE(std::string(row.name) + ", " + std::string(main_grad_name(main_grad)));
      const CheckResult result = check_on_reference(caching_check(
          make_scenario(row.name, Recipe::defaults(GetParam()), main_grad, kSteps, kMicrobatches),
          layers()));
      expect_as_the_table_says(result, expected(row.name, GetParam(), main_grad));
      ++combinations;
    }
  }
  EXPECT_EQ(combinations, 16);
  std::printf("%d combinations of scenario and main_grad\n", combinations);
}

INSTANTIATE_TEST_SUITE_P(Recipes, ScenarioTable,
                         testing::Values(RecipeKind::kCurrent, RecipeKind::kBlock, RecipeKind::kMx,
                                         RecipeKind::kDelayed),
                         [](const auto& recipe) { return std::string(recipe_name(recipe.param)); });

}  // namespace
}  // namespace samebits
