// What the difference between two traces means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/compare.h"

namespace samebits {

enum class Outcome { kSame, kDifferent, kNotReproducible, kNotComparable };
std::string_view outcome_name(Outcome outcome);

// In order of precedence. All are read from the events' fields.
enum class Cause {
  kInputsDiffer,      // an operand that no operation made, or that nothing recorded explains
  kStaleWeight,       // an arm used bytes made from another weight than the one it has now
  kStaleRecipe,       // ... or made with other recipe parameters
  kScaleMoved,        // same source, other scale
  kCast,              // same source, same scale, other bytes
  kColumnwiseTwin,    // rowwise equal, columnwise not
  kAccumulationMode,  // one arm added to main_grad, the other overwrote it
  kDroppedTerms,      // the library's slices of K do not cover K
  kGemmAlgorithm,     // same operands, another algorithm
  kGemmArithmetic,    // same operands, same algorithm, another result
  kGemmNotModelled,   // the same, of the reference and of GEMMs that its model is not of
  kUpdateArithmetic,  // same gradients, another updated weight
};
inline constexpr int kCauses = 12;
std::string_view cause_name(Cause cause);  // "stale weight"

// A cause, where it first showed, and in how many events.
struct CauseAt {
  Cause cause;
  std::size_t event, tensor;  // indices, the same in both traces
  std::size_t events = 1;
  std::string detail = {};  // kGemmNotModelled: what is not
};

std::string describe(const CauseAt& found);  // its name and detail

// The causes found, in program order of their first place. An event that differs only because an
// earlier one did (y after a moved scale, every step after a lost gradient) has none.
std::vector<CauseAt> find_causes(const Trace& a, const Trace& b, const Comparison& comparison);

// Beside the verdict: what a reader must know to trust it. An error makes the exit status 1 even
// where the arms agree.
struct Finding {
  std::string kind;
  std::string where;
  std::int64_t count = 1;
  std::string advice;
  bool error = false;
};

}  // namespace samebits
