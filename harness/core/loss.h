// The loss of one forward and the gradient that its backward starts from.
#pragma once

#include "harness/core/layer.h"

namespace samebits {

struct LossAndGradient {
  double loss = 0;
  HostTensor dy;  // [tokens, out]
};

// y is BF16 [tokens, out]. Where dy was captured it is used as it is and the loss is sum(y * dy),
// whose gradient it is; else dy = RN_bf16(y - target) and the loss is sum((y - target)^2) / 2.
// Double, ascending index.
LossAndGradient loss_and_gradient(const HostTensor& y, const LayerInputs& inputs,
                                  std::int64_t index);

}  // namespace samebits
