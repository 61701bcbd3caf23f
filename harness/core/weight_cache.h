// The cached copy of one layer's quantised weight, with the semantics of the caller's flag (None,
// True, False).
//
// Nothing but the flag makes a copy fresh: not an update of the weight, a load or a change of the
// recipe's parameters.
#pragma once

#include <functional>
#include <optional>

#include "harness/core/backend.h"
#include "harness/core/program.h"
#include "harness/evidence/sha256.h"

namespace samebits {

// A quantised weight as one forward used it, and where its bytes came from.
struct WeightCopy {
  QuantizedTensor bytes;           // handles: a cached copy's buffers are shared by all its users
  QuantizeParameters parameters;   // in force when the copy was made
  evidence::Sha256Value source{};  // digest of the weight that the bytes were made from
};

struct WeightRequest {
  CacheFlag flag = CacheFlag::kNone;
  QuantizeParameters parameters;  // in force now
  std::optional<float> scale;     // delayed scaling: the weight's scale now
  bool columnwise = true;         // false in an evaluation
};

struct WeightUse {
  WeightCopy copy;
  bool cast = false;  // the weight was quantised for this use (its amax counts)
};

class WeightCache {
 public:
  // The copy that a forward of `weight` uses. A cached copy keeps its parameters, under True too;
  // one of another recipe kind is dropped. A copy that lacks its columnwise half is completed by
  // transposing where its scales allow that (128x128 blocks) and counts as missing otherwise.
  WeightUse use(Backend& backend, const Tensor& weight, const evidence::Sha256Value& digest,
                const WeightRequest& request);

  const std::optional<WeightCopy>& copy() const { return copy_; }

 private:
  bool lacks_columnwise(const WeightRequest& request) const;

  std::optional<WeightCopy> copy_;
};

}  // namespace samebits
