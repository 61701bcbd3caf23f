// The tensor digest, version 1, and the digest of a quantised tensor's logical values.
#pragma once

#include "harness/core/tensor.h"
#include "harness/evidence/sha256.h"

namespace samebits::evidence {

// SHA-256 of "samebits-tensor-1\0", the dtype's name and \0, u32 rank, u64 dimensions, then the
// bytes; little-endian.
Sha256Value tensor_digest(const HostTensor& tensor);

// The tensor digest of the F64 tensor code * scale_inv (exact), with NaN as 0x7ff8000000000000 and
// -0 kept: equal for two quantisations that mean the same values by other bytes. `codes` is F8_E4M3
// or F8_E5M2 [rows, cols]; `scale_inv` is F32 or F8_E8M0 of shape [ceil(rows/block_rows),
// ceil(cols/block_cols)].
Sha256Value logical_digest(const HostTensor& codes, const HostTensor& scale_inv,
                           std::int64_t block_rows, std::int64_t block_cols);

}  // namespace samebits::evidence
