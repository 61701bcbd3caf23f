// The differential check: one program, two arms, a verdict.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/run_arm.h"
#include "harness/core/verdict.h"

namespace samebits {

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
  std::vector<Capture::Payload> kept_a, kept_b;  // what CheckOptions::keep asked for

  bool has_error() const;  // an error among the findings
};

struct CheckOptions {
  Progress progress = [](double) {};
  // Of a recorded run: every GEMM of both arms follows it. Else the reference follows an arm of
  // another backend, and an arm of GemmPolicy::kFollow the other one.
  const GemmRecords* records = nullptr;
  // Keep the bytes of these events of the first run.
  std::function<bool(const EventKey&)> keep = [](const EventKey&) { return false; };
};

// Runs both arms. Where they differ both run once more: an arm whose digests then differ from its
// own is not reproducible, and the payload of the first differing event is kept. Memory is bounded
// by one layer and its digests.
CheckResult run_check(const CheckRequest& request, const BackendFactory& make_backend,
                      const CheckOptions& options = {});

}  // namespace samebits
