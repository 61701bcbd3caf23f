// The library drops terms: split K whose slices do not cover K, read from a GEMM's record alone.
#pragma once

#include <optional>
#include <vector>

#include "harness/core/trace.h"
#include "harness/core/verdict.h"

namespace samebits {

// What decides whether a split of K covers it, from the shapes of the operands that an event holds.
struct SplitShape {
  std::int64_t k = 0;
  bool tiles = false;  // an operand has 128x128 scales: slices are multiples of 512, else of 128
};

// Nothing where the event holds no GEMM operands with scales.
std::optional<SplitShape> split_shape(const Event& event);

// The last terms of each sum that `split_k` slices leave out.
std::int64_t terms_left_out(const SplitShape& shape, int split_k);

// The smallest multiple of 128 above K of which as many slices leave nothing out.
std::int64_t covering_k(const SplitShape& shape, int split_k);

// "library drops terms", an error, for each layer and operation that dropped any in one of the
// traces: how many of each sum, and what helps, computed from the record.
std::vector<Finding> find_dropped_terms(const std::vector<const Trace*>& traces);

}  // namespace samebits
