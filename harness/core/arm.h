// How a program is run: on which backend, with weight caching or without.
#pragma once

#include <string>
#include <string_view>

namespace samebits {

// How a backend that has a choice picks each GEMM's algorithm.
//   kHeuristic  the library's first choice, as a framework takes it
//   kNoSplit    the first that does not split K
//   kFollow     the one that a record of the same GEMM names: of the other arm, or of a trace
enum class GemmPolicy { kHeuristic, kNoSplit, kFollow };

inline constexpr std::string_view kReference = "reference";

struct Arm {
  std::string backend{kReference};
  bool cached = false;
  GemmPolicy gemm = GemmPolicy::kHeuristic;

  std::string name() const { return backend + (cached ? "/cached" : "/uncached"); }
};

// "reference/uncached" -> Arm. Throws Error on any other form.
Arm parse_arm(std::string_view text);

}  // namespace samebits
