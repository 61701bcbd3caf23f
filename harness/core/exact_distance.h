// Where a GEMM is not modelled: how far its result is from the exact one, beside how far the
// modelled one can be (reference/bound.h).
#pragma once

#include <optional>
#include <vector>

#include "harness/core/check_request.h"
#include "harness/core/trace.h"

namespace samebits {

struct ExactDistance {
  double a = 0, b = 0;  // |D - exact| of either side's element
  double bound = 0;     // of a GEMM as the reference's model runs it; infinity: there is none
};

// Of element `index` of the event's last tensor, the result; both sides' operands are those of
// `tensors_a`. Nothing where they do not say all: main_grad added to what is not in the event, mx.
std::optional<ExactDistance> exact_distance(const CheckRequest& request, const Event& event,
                                            const std::vector<HostTensor>& tensors_a,
                                            const HostTensor& result_b, std::int64_t index);

}  // namespace samebits
