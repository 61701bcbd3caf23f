// What a report says beside the result: where the run came from and how to repeat it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/checkpoint/linear_layers.h"
#include "harness/core/check.h"

namespace samebits::report {

struct Scope {
  std::string command;  // as it was given
  std::string repeat;   // the line that repeats the run, seed included
  std::string checkpoint;
  std::string inputs;  // "captured for 3 layers (FILE)", "made from seed 0"
  std::uint64_t seed = 0;
  std::string bundle;  // the folder that was written; empty: none
  std::vector<checkpoint::SkippedLayer> skipped;
  std::vector<std::pair<std::string, std::string>> environment;  // name, value
};

// What is checked, and what is not.
std::string_view scope_statement();

}  // namespace samebits::report
