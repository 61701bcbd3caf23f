#include "kernels/scale_layout.h"

#include <cstring>

#include "kernels/quantize_arguments.h"

namespace samebits::kernels {

ScaleLayout layout_of(ScaleMode mode) {
  if (mode == ScaleMode::k1x128) return ScaleLayout::kTransposed4;
  return mode == ScaleMode::k128x128 ? ScaleLayout::kPadded4 : ScaleLayout::kPlain;
}

std::int64_t padded_count(ScaleLayout layout, const std::vector<std::int64_t>& shape) {
  const std::int64_t rows = shape.at(0), cols = shape.at(1);
  switch (layout) {
    case ScaleLayout::kTransposed4:
      return cols * round_up(rows, 4);
    case ScaleLayout::kPadded4:
      return rows * round_up(cols, 4);
    case ScaleLayout::kPlain:
      break;
  }
  return rows * cols;
}

std::vector<std::byte> logical_scales(ScaleLayout layout, const std::vector<std::int64_t>& shape,
                                      std::vector<std::byte> bytes) {
  if (layout == ScaleLayout::kPlain) return bytes;
  const std::int64_t rows = shape.at(0), cols = shape.at(1);
  std::vector<std::byte> logical(static_cast<std::size_t>(rows * cols) * sizeof(float));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      const std::int64_t place = layout == ScaleLayout::kTransposed4
                                     ? col * round_up(rows, 4) + row
                                     : row * round_up(cols, 4) + col;
      std::memcpy(logical.data() + static_cast<std::size_t>(row * cols + col) * sizeof(float),
                  bytes.data() + static_cast<std::size_t>(place) * sizeof(float), sizeof(float));
    }
  }
  return logical;
}

}  // namespace samebits::kernels
