// The differential check: one program, two arms, a verdict.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/arm.h"
#include "harness/core/engine.h"
#include "harness/core/verdict.h"

namespace samebits {

struct CheckedLayer {
  Layer layer;
  LayerInputs inputs;
};

struct CheckRequest {
  Program program;
  std::vector<CheckedLayer> layers;
  Arm a, b;  // a is the one compared against
  std::optional<float> learning_rate;
  int threads = 0;  // 0: all cores
};

// Makes the backend that an arm names. Throws Error where there is none.
using BackendFactory =
    std::function<std::unique_ptr<Backend>(const std::string& name, int threads)>;
// Told after each operation how much of the whole run is done, in [0, 1].
using Progress = std::function<void(double done)>;

// The first difference, with the bytes of both sides.
struct FirstDifference {
  std::size_t event = 0, tensor = 0;
  Cause cause = Cause::kInputsDiffer;
  ElementDifference elements;
  std::vector<HostTensor> a, b;  // all tensors of the event
};

struct CheckResult {
  Outcome outcome = Outcome::kSame;
  std::string reason;  // kNotComparable, kNotReproducible: what was found
  Trace a, b;
  Comparison comparison;
  std::optional<FirstDifference> first;
  std::vector<CauseAt> causes;
  std::vector<Finding> findings;

  bool has_error() const;  // an error among the findings
};

// Runs both arms. Where they differ both run once more: an arm whose digests then differ from its
// own is not reproducible, and the payload of the first differing event is kept. Memory is bounded
// by one layer and its digests.
CheckResult run_check(const CheckRequest& request, const BackendFactory& make_backend,
                      const Progress& progress);

// Multiply-adds of one arm.
double multiply_adds(const CheckRequest& request);

}  // namespace samebits
