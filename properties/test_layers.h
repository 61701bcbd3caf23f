// Small layers, and checks of them on the reference backend, for tests of the instrument.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/check.h"

namespace samebits {

// [rows, cols] values that are about uniform in [-spread, spread], rounded to F32, BF16 or F16. The
// same on every machine.
HostTensor test_matrix(DType dtype, std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                       double spread = 0.25);

// A layer of its own weight, and inputs made from `seed`.
CheckedLayer test_layer(const std::string& name, DType dtype, std::int64_t out, std::int64_t in,
                        std::int64_t tokens = 16, std::uint64_t seed = 0);

// uncached against cached on the reference backend, on one thread.
CheckRequest caching_check(Program program, std::vector<CheckedLayer> layers);

// run_check on reference backends, without progress.
CheckResult check_on_reference(const CheckRequest& request);

// The events of one run of one layer, and the tensors of each in the same order.
struct RecordedRun {
  std::vector<Event> events;
  std::vector<std::vector<HostTensor>> payload;
  std::vector<double> loss;

  // The tensor of this name in event `event`; fails where there is none.
  const HostTensor& tensor(std::size_t event, const std::string& name) const;
};
RecordedRun record_run(const Program& program, const CheckedLayer& checked, bool cached);

}  // namespace samebits
