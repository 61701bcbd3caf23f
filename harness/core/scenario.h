// The named scenarios: ways in which a training loop drives weight caching.
#pragma once

#include <span>

#include "harness/core/program.h"

namespace samebits {

struct ScenarioRow {
  std::string_view name;
  std::string_view what;  // one line for --help
  int least_steps;
  int least_microbatches;
};
std::span<const ScenarioRow> scenarios();

// Throws Error where there is no such scenario, or where steps or microbatches are too few to show
// what it is for.
Program make_scenario(std::string_view name, const Recipe& recipe, MainGrad main_grad, int steps,
                      int microbatches);

}  // namespace samebits
