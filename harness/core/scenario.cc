#include "harness/core/scenario.h"

#include <algorithm>
#include <array>

#include "harness/core/error.h"

namespace samebits {
namespace {

constexpr std::array<ScenarioRow, 8> kScenarios{{
    {"train", "each step F0 B0 F1 B1 ..., update; flags True False False ...", 1, 1},
    {"eval-first", "one evaluation with True before step 0, then train", 1, 1},
    {"eval-between", "one evaluation with False between microbatches 1 and 2 of each step", 1, 3},
    {"recompute", "each forward runs again, with the same flag, before its backward", 1, 1},
    {"two-trues", "True at microbatches 0 and 2", 1, 3},
    {"backward-reversed", "all forwards, then the backwards in reverse order", 1, 2},
    {"stale-weight", "after step 0 no forward passes True", 2, 1},
    {"recipe-switch", "the recipe's parameters change at the start of step 1", 2, 1},
}};

// The other setting of the parameter that a running job is most likely to change.
Recipe switched(Recipe recipe) {
  switch (recipe.kind) {
    case RecipeKind::kCurrent:
    case RecipeKind::kBlock:
      recipe.power_of_two = !recipe.power_of_two;
      break;
    case RecipeKind::kMx:
      recipe.hybrid = !recipe.hybrid;
      break;
    case RecipeKind::kDelayed:
      recipe.margin = recipe.margin == 0 ? 1 : 0;
      break;
  }
  return recipe;
}

class Builder {
 public:
  Builder(std::string_view name, Program& program) : name_(name), program_(program) {}

  void step(int s) {
    if (name_ == "eval-first" && s == 0) add(OpKind::kEvaluate, s, 0, CacheFlag::kTrue);
    if (name_ == "recipe-switch" && s == 1) {
      add(OpKind::kSetRecipe, s, 0, CacheFlag::kNone).recipe = switched(program_.recipe);
    }
    add(OpKind::kBeginStep, s, 0, CacheFlag::kNone);
    for (int m = 0; m < program_.microbatches; ++m) {
      if (name_ == "eval-between" && m == 2) add(OpKind::kEvaluate, s, m, CacheFlag::kFalse);
      add(OpKind::kForward, s, m, flag(s, m));
      if (name_ == "recompute") add(OpKind::kRecompute, s, m, flag(s, m));
      if (name_ != "backward-reversed") add(OpKind::kBackward, s, m, CacheFlag::kNone);
    }
    if (name_ == "backward-reversed") {
      for (int m = program_.microbatches - 1; m >= 0; --m)
        add(OpKind::kBackward, s, m, CacheFlag::kNone);
    }
    add(OpKind::kUpdate, s, program_.microbatches - 1, CacheFlag::kNone);
  }

 private:
  CacheFlag flag(int s, int m) const {
    if (name_ == "stale-weight" && s > 0) return CacheFlag::kFalse;
    const bool first = m == 0 || (name_ == "two-trues" && m == 2);
    return first ? CacheFlag::kTrue : CacheFlag::kFalse;
  }
  Op& add(OpKind kind, int s, int m, CacheFlag flag) {
    return program_.ops.emplace_back(Op{kind, s, m, flag, program_.recipe});
  }

  std::string_view name_;
  Program& program_;
};

}  // namespace

std::span<const ScenarioRow> scenarios() { return kScenarios; }

Program make_scenario(std::string_view name, const Recipe& recipe, MainGrad main_grad, int steps,
                      int microbatches) {
  const auto row = std::find_if(kScenarios.begin(), kScenarios.end(),
                                [&](const auto& r) { return r.name == name; });
  if (row == kScenarios.end()) throw Error("unknown scenario \"" + std::string(name) + "\"");
  const auto refuse = [&](int least, const std::string& what) {
    throw Error("scenario " + std::string(name) + " cannot show what it is for with fewer than " +
                std::to_string(least) + " " + what);
  };
  if (steps < row->least_steps) refuse(row->least_steps, "steps");
  if (microbatches < row->least_microbatches) refuse(row->least_microbatches, "microbatches");

  Program program;
  program.name = name;
  program.steps = steps;
  program.microbatches = microbatches;
  program.recipe = recipe;
  program.main_grad = main_grad;
  Builder builder(name, program);
  for (int s = 0; s < steps; ++s) builder.step(s);
  return program;
}

std::string_view flag_name(CacheFlag flag) {
  constexpr std::array<std::string_view, 3> kNames{"None", "True", "False"};
  return kNames.at(static_cast<std::size_t>(flag));
}

std::string_view main_grad_name(MainGrad mode) {
  return mode == MainGrad::kAccumulate ? "accumulate" : "overwrite-first";
}

}  // namespace samebits
