// How the scales of an operand lie in device memory, and how to read them without the padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/gemm_problem.h"

namespace samebits::kernels {

// Of logical scales [rows of blocks, blocks of k]:
//   kPlain            as they are
//   kTransposed4      [blocks of k][rows up to a multiple of 4]    (1x128)
//   kPadded4          [rows of blocks][blocks of k up to a multiple of 4]    (128x128)
enum class ScaleLayout { kPlain, kTransposed4, kPadded4 };

ScaleLayout layout_of(ScaleMode mode);

// Elements in memory, padding included.
std::int64_t padded_count(ScaleLayout layout, const std::vector<std::int64_t>& shape);

// The bytes of FP32 scales in this layout as row-major [shape], without the padding. kPlain: any
// element type, unchanged.
std::vector<std::byte> logical_scales(ScaleLayout layout, const std::vector<std::int64_t>& shape,
                                      std::vector<std::byte> bytes);

}  // namespace samebits::kernels
