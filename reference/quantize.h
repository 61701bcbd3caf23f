// Quantise and dequantise, all recipes, rowwise; a columnwise copy is the rowwise copy of the
// transposed matrix.
#pragma once

#include "reference/matrix.h"
#include "reference/scale.h"

namespace samebits::reference {

// Which elements share a scale. Shapes of scale_inv for a [rows, cols] matrix, partial blocks
// included:
//   kTensor [1, 1]   kRow [rows, 1]   k1x128 [rows, ceil(cols/128)]   k128x128 [ceil(rows/128),
//   ceil(cols/128)] k1x32 [rows, ceil(cols/32)], powers of two: the values of E8M0 bytes
enum class Granularity { kTensor, kRow, k1x128, k128x128, k1x32 };

// The blocks of a [rows, cols] matrix under a granularity: element (r, c) uses the scale
// (r / block_rows, c / block_cols). The last block of a row or column may be partial.
struct BlockGrid {
  Eigen::Index block_rows, block_cols;
  Eigen::Index rows, cols;  // the shape of scale_inv
};
BlockGrid block_grid(Granularity granularity, Eigen::Index rows, Eigen::Index cols);

struct QuantizeSpec {
  Granularity granularity = Granularity::kTensor;
  ScaleRule rule{};  // not read by k1x32 except rule.format, nor where given_scale is set
  const float* given_scale = nullptr;  // delayed scaling: cast with this scale (kTensor only)
  int threads = 1;
};

struct Quantized {
  Granularity granularity = Granularity::kTensor;
  Fp8 format = Fp8::kE4M3;
  Codes codes;       // [rows, cols]
  Matrix scale_inv;  // see Granularity
};

// amax as every recipe takes it: max |x| with NaN invisible; 0 for an empty matrix.
float amax(const MatrixRef& x);

// Each element becomes the saturating cast of RN(x * scale of its block), in FP32. Throws
// std::invalid_argument where given_scale is set for anything but kTensor.
Quantized quantize(const MatrixRef& x, const QuantizeSpec& spec);

// Exact: for kTensor and k128x128 the transpose of the bytes is the quantisation of the transpose.
// Throws std::invalid_argument for the one-dimensional granularities, whose columnwise copy needs
// the source.
Quantized transpose(const Quantized& q);

// code * scale_inv, exact in double (4 and 24 significant bits); NaN where the code is NaN or the
// scale is.
double dequantize(const Quantized& q, Eigen::Index row, Eigen::Index col);

}  // namespace samebits::reference
