// One linear layer and the data it is trained on: everything that both arms must start from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/core/tensor.h"

namespace samebits {

struct Layer {
  std::string name;
  HostTensor weight;               // [out, in], F32, BF16 or F16
  std::optional<HostTensor> bias;  // [out]

  std::int64_t out() const { return weight.shape.at(0); }
  std::int64_t in() const { return weight.shape.at(1); }
};

// The inputs of one layer: captured slices where there are any, made from the seed where not.
struct LayerInputs {
  std::uint64_t seed = 0;
  std::string layer;
  std::int64_t tokens = 0, in = 0, out = 0;
  std::optional<HostTensor> x;   // [slices, tokens, in]
  std::optional<HostTensor> dy;  // [slices, tokens, out]
  std::optional<HostTensor> evaluations;  // [slices, tokens, in]
  std::optional<HostTensor> targets;      // [slices, tokens, out]

  // [tokens, in]. `index` counts the training microbatches of the run: step * microbatches +
  // microbatch. Captured: slice index mod slices, in its stored type. Made: BF16, about normal,
  // with a few channels that are 20 to 60 times as large as the others, as the activations of real
  // transformers have.
  HostTensor activation(std::int64_t index) const;
  // [tokens, in]. `index` counts the evaluations of the run.
  HostTensor evaluation(std::int64_t index) const;
  // [tokens, out]: the captured dy, or nothing.
  std::optional<HostTensor> gradient(std::int64_t index) const;
  // [tokens, out], BF16, about normal: what y should have been where no dy was captured.
  HostTensor target(std::int64_t index) const;
};

}  // namespace samebits
