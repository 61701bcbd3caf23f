// Where two traces part, and where two tensors do. Total: NaN, Inf, -0, dtype, shape and length all
// count.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/trace.h"

namespace samebits {

struct TensorDifference {
  std::size_t event, tensor;  // indices, the same in both traces
};

struct Comparison {
  // Set where the traces do not hold the same events and tensors: then nothing else is.
  std::optional<std::string> mismatch;
  std::vector<TensorDifference> differences;  // in program order
};

Comparison compare(const Trace& a, const Trace& b);

struct ElementDifference {
  std::int64_t different = 0;
  std::int64_t first = 0;           // row-major index of the first
  std::vector<std::int64_t> index;  // the same as coordinates
  bool zero_signs_only = false;     // every difference is +0 against -0
};

// Two tensors element by element, by their bits. Where dtype or shape differ every element does.
ElementDifference compare_elements(const HostTensor& a, const HostTensor& b);

}  // namespace samebits
