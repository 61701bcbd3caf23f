// Runs one arm of a check over all layers, one after the other.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "harness/core/check_request.h"
#include "harness/core/gemm_records.h"

namespace samebits {

// Makes the backend of an arm. Throws Error where there is none of its name.
using BackendFactory = std::function<std::unique_ptr<Backend>(const Arm& arm, int threads)>;

// The bytes of the events that are wanted, tensor by tensor as in the event.
struct Capture {
  std::function<bool(const EventKey&)> wanted;
  struct Payload {
    EventKey key;
    std::vector<HostTensor> tensors;
  };
  std::vector<Payload> kept;
};

struct ArmRun {
  const GemmRecords* follow = nullptr;  // each GEMM follows its record there
  Capture* capture = nullptr;
  std::function<void(double)> progress = [](double) {};  // how much of this arm is done, in [0, 1]
};

// The events of all layers in program order. Memory is bounded by one layer, its digests, and what
// is captured.
Trace run_arm(const CheckRequest& request, const Arm& arm, const BackendFactory& make_backend,
              const ArmRun& run);

}  // namespace samebits
