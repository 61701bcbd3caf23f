// Random GEMMs over all that the library can do on Hopper: shapes with K tails, scale modes, types,
// epilogues, alignments, special values.
#pragma once

#include <cstdint>

#include "properties/host_gemm.h"

namespace samebits::properties {

// The case `index` of the sequence that `seed` names. At most 2^27 products.
HostGemm random_gemm(std::uint64_t seed, std::uint64_t index);

// dw[out][in] = x^T dy of a layer, into FP32: A is x columnwise [in][tokens], B is dy columnwise
// [out][tokens], E5M2 where `hybrid`. Ordinary values; both scales as `mode`.
HostGemm weight_gradient(std::uint64_t seed, std::int64_t tokens, std::int64_t in, std::int64_t out,
                         kernels::ScaleMode mode, bool hybrid);

// Every element 1, every scale 1, into FP32: each output counts the terms of its sum.
HostGemm all_ones(std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace samebits::properties
