// Runs a bundle again.
#pragma once

#include <string>
#include <vector>

#include "harness/evidence/bundle.h"

namespace samebits::evidence {

struct EnvironmentDifference {
  std::string name, recorded, here;  // a value is empty where there is none
};

enum class HowReplayed { kRun, kStandIn, kRecorded };

// What became of one arm.
struct ArmReplay {
  HowReplayed how = HowReplayed::kRun;
  std::string why;    // kStandIn, kRecorded: why the arm itself cannot run here
  std::string other;  // where its bits are first not the recorded ones; empty: they are
};

enum class ReplayOutcome {
  kRepeats,          // the recorded difference, in the recorded place
  kOtherDifference,  // another environment, and a difference elsewhere or of another cause
  kSame,             // another environment, and no difference
  kNotReproducible,  // an arm differs from itself, or the same environment gives other bits
};

struct ReplayResult {
  ReplayOutcome outcome = ReplayOutcome::kRepeats;
  std::vector<EnvironmentDifference> environment;  // empty: the same environment
  ArmReplay a, b;
  CheckResult now;  // of what was run (or recorded) here
};

// An arm whose backend cannot be had here is replaced: where both are, by the reference arm that
// follows the recorded split of each GEMM; where one is, by its recording.
ReplayResult replay(const Bundle& bundle, const BackendFactory& make_backend,
                    const Environment& here, const Progress& progress, int threads);

}  // namespace samebits::evidence
