// What a reader must know beside the verdict.
#pragma once

#include <vector>

#include "harness/core/check.h"

namespace samebits {

//   non-finite weight       NaN or Inf in a checkpoint's weight (allowed, counted)
//   vacuous update          an update left a layer's quantised bytes as they were, so that a stale
//                           copy could not be seen
//   control not exercised   delayed scaling, caching off against on, had nothing to show, and why
//   control did not differ  the same where no reason explains it: an error
//   library drops terms     a GEMM record whose slices of K do not cover K: an error
//   not modelled            GEMMs of a chip or a library that the reference's model was not
//   measured
//                           for
// `followed` are the records that both arms were to follow, or null.
std::vector<Finding> find_findings(const CheckRequest& request, const Trace& a, const Trace& b,
                                   const GemmRecords* followed = nullptr);

}  // namespace samebits
