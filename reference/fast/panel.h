// An operand taken apart for the kernels: codes to magnitudes, signs and exponents, K outermost.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/fast/kernels.h"
#include "reference/quantize.h"

namespace samebits::reference::fast {

// Whether each row [rows] holds a NaN or an infinity.
std::vector<char> rows_not_finite(const Quantized& q);

// `width` rows, a multiple of 4, of an operand over up to kLength elements of K, in groups of one
// fused sum each.
class Panel {
 public:
  static constexpr int kLength = 128;

  Panel(const Kernels& kernels, int width, int group_length);

  // Rows from `first_row` on, elements [begin, begin + length) of K. Rows beyond the last are zero.
  void pack(const Quantized& q, Eigen::Index first_row, std::int64_t begin, int length);

  // Of element `at`, a multiple of the group's length.
  PanelGroup group(int at) const;

 private:
  std::size_t codes_at(int at) const;
  std::size_t flips_at(int at) const;

  const Kernels* kernels_;
  int width_, group_length_;
  std::vector<std::uint8_t> codes_;   // of each group [1 + group_length + 1][width], zeros around
  std::vector<float> magnitudes_;     // [kLength][width]
  std::vector<std::uint32_t> flips_;  // of each group [group_length + 1][width]
  std::vector<std::uint8_t> exponents_;  // [kLength][width]
};

}  // namespace samebits::reference::fast
