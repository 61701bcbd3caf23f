// Runs a program on one layer: the semantics of a training step with FP8 weight caching, once for
// all backends.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "harness/core/gemm_records.h"
#include "harness/core/layer.h"
#include "harness/core/trace.h"

namespace samebits {

// Called once an operation, in program order, with the bytes of the event's tensors (in the same
// order), which are gone afterwards unless kept.
using EventSink = std::function<void(Event&& event, std::span<const HostTensor> payload)>;

struct EngineOptions {
  bool cached = false;  // pass the program's flags; None everywhere otherwise
  // Of every update; else 2^-4 * max|w| / max|main_grad|, a layer and a step.
  std::optional<float> learning_rate;
  int threads = 1;  // for digests; 0: all cores
  // Each GEMM follows its record there, where there is one.
  const GemmRecords* follow = nullptr;
  // Takes the GEMMs that the arm's backend does not have; the event's record names it.
  Backend* stand_in = nullptr;
};

// Runs every operation of `program` on `layer` and returns the loss of each step, the sum over its
// training forwards in program order (see loss.h).
std::vector<double> run_layer(const EngineOptions& options, const Program& program,
                              const Layer& layer, const LayerInputs& inputs, Backend& backend,
                              const EventSink& sink);

}  // namespace samebits
