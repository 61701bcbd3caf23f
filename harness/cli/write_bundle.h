// The bundle of a check that found a difference.
#pragma once

#include <string>

#include "harness/core/check.h"

namespace samebits::cli {

struct BundleOptions {
  std::string directory;  // empty: bundles/<8 hex>
  int seconds = 30;       // for minimising
  const GemmRecords* records = nullptr;
};

// Minimises the check and writes the bundle; returns its folder. What cannot be written is a
// warning on standard error, and the folder is empty: the verdict stands without it.
std::string write_bundle(const CheckRequest& request, const CheckResult& result,
                         const BundleOptions& options);

}  // namespace samebits::cli
