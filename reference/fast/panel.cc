#include "reference/fast/panel.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "reference/mutants.h"

namespace samebits::reference::fast {
namespace {

// to[k][row] = from[row][k] for `count` elements of `rows` rows, zeros up to `width` rows; rows of
// `from` are `stride` apart. Four rows at a time: a word a store.
void interleave(const std::uint8_t* from, Eigen::Index stride, int rows, int count, int width,
                std::uint8_t* to) {
  static constexpr std::array<std::uint8_t, 256> kZeros{};
  for (int row = 0; row < width; row += 4) {
    std::array<const std::uint8_t*, 4> of_row;
    for (int i = 0; i < 4; ++i) {
      of_row[static_cast<std::size_t>(i)] =
          row + i < rows ? from + (row + i) * stride : kZeros.data();
    }
    for (int k = 0; k < count; ++k) {
      const std::array<std::uint8_t, 4> word{of_row[0][k], of_row[1][k], of_row[2][k],
                                             of_row[3][k]};
      std::memcpy(to + k * width + row, word.data(), word.size());
    }
  }
}

}  // namespace

std::vector<char> rows_not_finite(const Quantized& q) {
  // The least magnitude that is not finite: NaN of E4M3, Inf of E5M2.
  const int least = q.format == Fp8::kE4M3 ? 0x7f : 0x7c;
  std::vector<char> result(static_cast<std::size_t>(q.codes.rows()));
  for (Eigen::Index row = 0; row < q.codes.rows(); ++row) {
    const std::uint8_t* codes = q.codes.row(row).data();
    int found = 0;
    for (Eigen::Index k = 0; k < q.codes.cols(); ++k) found |= (codes[k] & 0x7f) >= least;
    result[static_cast<std::size_t>(row)] = static_cast<char>(found);
  }
  return result;
}

Panel::Panel(const Kernels& kernels, int width, int group_length)
    : kernels_(&kernels),
      width_(width),
      group_length_(group_length),
      codes_(codes_at(kLength)),
      magnitudes_(static_cast<std::size_t>(kLength * width)),
      flips_(flips_at(kLength)),
      exponents_(magnitudes_.size()) {}

void Panel::pack(const Quantized& q, Eigen::Index first_row, std::int64_t begin, int length) {
  const auto decode = q.format == Fp8::kE4M3 ? kernels_->decode_e4m3 : kernels_->decode_e5m2;
  const auto rows = static_cast<int>(std::min<Eigen::Index>(width_, q.codes.rows() - first_row));
  for (int at = 0; at < length; at += group_length_) {
    const int count = std::min(group_length_, length - at);
    std::uint8_t* const before = &codes_[codes_at(at)];
    std::uint8_t* const codes = before + width_;
    interleave(q.codes.row(first_row).data() + begin + at, q.codes.cols(), rows, count, width_,
               codes);
    if (!mutant("fast: last sign is left over")) {
      std::fill_n(codes + count * width_, width_, std::uint8_t{0});
    }
    kernels_->flips(before, codes, (count + 1) * width_, &flips_[flips_at(at)]);
    const auto first = static_cast<std::size_t>(at * width_);
    decode(codes, count * width_, &magnitudes_[first], &exponents_[first]);
  }
}

std::size_t Panel::codes_at(int at) const {
  return static_cast<std::size_t>((at / group_length_) * (group_length_ + 2) * width_);
}

std::size_t Panel::flips_at(int at) const {
  return static_cast<std::size_t>((at / group_length_) * (group_length_ + 1) * width_);
}

PanelGroup Panel::group(int at) const {
  const auto first = static_cast<std::size_t>(at * width_);
  return {&magnitudes_[first], &flips_[flips_at(at)], &exponents_[first]};
}

}  // namespace samebits::reference::fast
