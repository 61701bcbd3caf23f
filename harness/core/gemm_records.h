// The GEMM records of a trace, to be followed: which algorithm, and above all which split of K,
// each GEMM took.
#pragma once

#include <map>

#include "harness/core/trace.h"

namespace samebits {

class GemmRecords {
 public:
  explicit GemmRecords(const Trace& trace) {
    for (const Event& event : trace.events) {
      if (event.gemm) records_.emplace(event.key, *event.gemm);
    }
  }

  // Nothing where the trace has no such GEMM. The pointer is valid as long as this is.
  const GemmRecord* find(const EventKey& key) const {
    const auto found = records_.find(key);
    return found == records_.end() ? nullptr : &found->second;
  }

 private:
  std::map<EventKey, GemmRecord> records_;
};

}  // namespace samebits
