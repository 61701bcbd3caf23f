// What a check is asked to do.
#pragma once

#include <optional>
#include <vector>

#include "harness/core/arm.h"
#include "harness/core/layer.h"
#include "harness/core/program.h"

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

// Multiply-adds of one arm: over all layers, or one.
double multiply_adds(const CheckRequest& request);
double multiply_adds(const Program& program, const CheckedLayer& checked);

}  // namespace samebits
