// The tensors of a golden case as the reference holds them: values widened to FP32, scales in their
// logical layout, generated operands.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/core/tensor.h"
#include "properties/golden_fields.h"
#include "reference/gemm.h"

namespace samebits::golden {

// The bits of an output, which must be of `type` and `shape`.
reference::MatrixOf<std::uint32_t> bits(const HostTensor& tensor, reference::OutputType type,
                                        const Shape& shape, const Fields& fields);

// An F32, BF16 or F16 tensor; one of rank 1 becomes one row.
reference::Matrix values(const HostTensor& tensor, const Shape& shape, const Fields& fields);

// Codes and format; no scales yet.
reference::Quantized quantized(const HostTensor& codes, const Shape& shape, const Fields& fields);

// Sets granularity and scale_inv from the library's layout, or to 1 where there is no tensor:
//   1x128    [ceil(K/128)][rows up to a multiple of 4]
//   128x128  [ceil(rows/128)][ceil(K/128) up to a multiple of 4]
void set_scales(reference::Quantized& q, reference::Granularity granularity,
                const std::optional<HostTensor>& tensor, const Fields& fields);

// E4M3 codes from splitmix64, eight a draw, the low byte first. A NaN becomes its sign with 0x30;
// `narrow` folds the exponent field e to 4 + e mod 6.
reference::Codes generated_codes(std::uint64_t seed, bool narrow, std::int64_t rows,
                                 std::int64_t cols);

}  // namespace samebits::golden
