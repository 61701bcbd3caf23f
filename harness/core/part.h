// A part of a check that is a check of its own: one layer, some of its operations, tokens and
// columns.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/check_request.h"

namespace samebits {

struct Range {
  std::int64_t begin = 0, size = 0;
  bool operator==(const Range&) const = default;
};

struct Part {
  std::size_t layer = 0;
  std::vector<std::size_t> ops;  // ascending indices into the whole program
  Range tokens, in, out;

  bool operator==(const Part&) const = default;
};

// All of one layer, up to and with operation `last_op`.
Part part_up_to(const CheckRequest& whole, std::size_t layer, std::size_t last_op);

// Bytes of the tensors that `take` gives.
std::uint64_t byte_count(const CheckRequest& whole, const Part& part);

// The part with steps and microbatches counted from 0 again. Its inputs are all captured ones: the
// bits that the whole check gives to these operations, whatever they were made from.
CheckRequest take(const CheckRequest& whole, const Part& part);

}  // namespace samebits
