// The named scenarios, operation by operation.
#include "harness/core/scenario.h"

#include <gtest/gtest.h>

#include "harness/core/error.h"

namespace samebits {
namespace {

// F0T: the forward of microbatch 0 with True. E evaluation, R recomputation, B backward, | begin of
// a step, U update, S set recipe.
std::string text(const Program& program) {
  std::string result;
  for (const Op& op : program.ops) {
    result += "|FRBEUS"[static_cast<std::size_t>(op.kind)];
    const bool forward = op.kind == OpKind::kForward || op.kind == OpKind::kRecompute ||
                         op.kind == OpKind::kEvaluate;
    if (forward || op.kind == OpKind::kBackward) result += std::to_string(op.microbatch);
    if (forward) result += flag_name(op.flag)[0];
    result += ' ';
  }
  return result;
}

Program make(std::string_view name, int steps, int microbatches,
             RecipeKind kind = RecipeKind::kBlock) {
  return make_scenario(name, Recipe::defaults(kind), MainGrad::kOverwriteFirst, steps,
                       microbatches);
}

TEST(Scenarios, AreTheseOperations) {
  EXPECT_EQ(text(make("train", 2, 3)), "| F0T B0 F1F B1 F2F B2 U | F0T B0 F1F B1 F2F B2 U ");
  EXPECT_EQ(text(make("eval-first", 2, 1)), "E0T | F0T B0 U | F0T B0 U ");
  EXPECT_EQ(text(make("eval-between", 2, 3)),
            "| F0T B0 F1F B1 E2F F2F B2 U | F0T B0 F1F B1 E2F F2F B2 U ");
  EXPECT_EQ(text(make("recompute", 1, 2)), "| F0T R0T B0 F1F R1F B1 U ");
  EXPECT_EQ(text(make("two-trues", 1, 4)), "| F0T B0 F1F B1 F2T B2 F3F B3 U ");
  EXPECT_EQ(text(make("backward-reversed", 1, 3)), "| F0T F1F F2F B2 B1 B0 U ");
  EXPECT_EQ(text(make("stale-weight", 3, 2)),
            "| F0T B0 F1F B1 U | F0F B0 F1F B1 U | F0F B0 F1F B1 U ");
  EXPECT_EQ(text(make("recipe-switch", 3, 1)), "| F0T B0 U S | F0T B0 U | F0T B0 U ");
}

TEST(Scenarios, NumberTheirStepsAndEndEachWithItsUpdate) {
  for (const ScenarioRow& row : scenarios()) {
    const Program program = make(row.name, 3, 4);
    EXPECT_EQ(program.name, row.name);
    EXPECT_EQ(program.steps, 3);
    EXPECT_EQ(program.microbatches, 4);
    EXPECT_EQ(program.main_grad, MainGrad::kOverwriteFirst);
    int step = 0;
    for (const Op& op : program.ops) {
      EXPECT_EQ(op.step, step) << row.name;
      step += op.kind == OpKind::kUpdate;
    }
    EXPECT_EQ(step, 3) << row.name;
  }
}

TEST(Scenarios, RefuseTooFewStepsOrMicrobatchesToShowWhatTheyAreFor) {
  for (const ScenarioRow& row : scenarios()) {
    SCOPED_TRACE(row.name);
    EXPECT_NO_THROW(make(row.name, row.least_steps, row.least_microbatches));
    EXPECT_THROW(make(row.name, row.least_steps - 1, row.least_microbatches), Error);
    EXPECT_THROW(make(row.name, row.least_steps, row.least_microbatches - 1), Error);
  }
}

TEST(Scenarios, NeedWhatTheySay) {
  EXPECT_THROW(make("two-trues", 1, 2), Error);
  EXPECT_THROW(make("eval-between", 1, 2), Error);
  EXPECT_THROW(make("backward-reversed", 1, 1), Error);
  EXPECT_THROW(make("stale-weight", 1, 4), Error);
  EXPECT_THROW(make("recipe-switch", 1, 4), Error);
  EXPECT_NO_THROW(make("train", 1, 1));
}

TEST(Scenarios, RefuseAnUnknownName) {
  for (const char* name : {"", "Train", "training"}) EXPECT_THROW(make(name, 2, 4), Error);
}

TEST(RecipeSwitch, FlipsWhatARunningJobIsMostLikelyToChange) {
  const auto after = [](RecipeKind kind) {
    const Program program = make("recipe-switch", 2, 1, kind);
    for (const Op& op : program.ops) {
      if (op.kind == OpKind::kSetRecipe) return op.recipe;
    }
    throw Error("no switch");
  };
  for (const RecipeKind kind : {RecipeKind::kCurrent, RecipeKind::kBlock}) {
    Recipe expected = Recipe::defaults(kind);
    expected.power_of_two = !expected.power_of_two;
    EXPECT_EQ(after(kind), expected);
  }
  Recipe mx = Recipe::defaults(RecipeKind::kMx);
  mx.hybrid = true;
  EXPECT_EQ(after(RecipeKind::kMx), mx);
  Recipe delayed = Recipe::defaults(RecipeKind::kDelayed);
  delayed.margin = 1;
  EXPECT_EQ(after(RecipeKind::kDelayed), delayed);
}

}  // namespace
}  // namespace samebits
