// The smallest check that still shows a difference.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "harness/core/check.h"

namespace samebits {

struct MinimiseOptions {
  std::function<bool()> stop = [] { return false; };  // asked often; true: take the best so far
  std::uint64_t most_bytes = UINT64_MAX;              // of the tensors of the result
  // Of a recorded run that the arms followed. It names operations and fits shapes, so only the
  // operations behind the difference and the other layers are left out.
  const GemmRecords* records = nullptr;
};

struct Minimised {
  CheckRequest request;   // one layer, all inputs captured
  CheckResult result;     // kDifferent
  bool finished = false;  // nothing smaller shows it; else stopped before
};

// `result` is what run_check gave for `request`, and is kDifferent. "Still shows it" means the same
// cause, layer, pass, operation and tensor; fewer steps, microbatches, tokens (multiples of 16) and
// columns (likewise) are tried until none can go. Nothing where no part within most_bytes shows it.
// Minimising the result again gives the result.
std::optional<Minimised> minimise(const CheckRequest& request, const CheckResult& result,
                                  const BackendFactory& make_backend,
                                  const MinimiseOptions& options = {});

}  // namespace samebits
