#include "properties/device_quantize.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>
#include <vector>

#include "kernels/quantize_128x128.h"
#include "kernels/quantize_1x128.h"
#include "kernels/quantize_1x32.h"
#include "kernels/quantize_tensorwise.h"

namespace samebits::properties {
namespace {

using Eigen::Index;
using kernels::Buffer;
using reference::Granularity;
using reference::Matrix;

// Where scale (row, block) of an operand [rows, k] lies, and how many cells its layout has.
struct ScaleLayout {
  Granularity granularity;
  Index rows, k;

  std::int64_t cells() const {
    switch (granularity) {
      case Granularity::k1x128:
        return (k + 127) / 128 * ((rows + 3) / 4 * 4);
      case Granularity::k128x128:
        return (rows + 127) / 128 * (((k + 127) / 128 + 3) / 4 * 4);
      case Granularity::k1x32:
        return rows * ((k + 31) / 32);
      default:
        return 1;
    }
  }
  std::int64_t cell(Index row, Index block) const {
    switch (granularity) {
      case Granularity::k1x128:
        return block * ((rows + 3) / 4 * 4) + row;
      case Granularity::k128x128:
        return row * (((k + 127) / 128 + 3) / 4 * 4) + block;
      case Granularity::k1x32:
        return row * ((k + 31) / 32) + block;
      default:
        return 0;
    }
  }
};

// Buffers of exact size, filled with a poison, and what is expected of them.
class Output {
 public:
  Output(Granularity granularity, Index rows, Index k, int offset, std::uint8_t poison,
         cudaStream_t stream)
      : layout_{granularity, rows, k},
        offset_(static_cast<std::size_t>(offset)),
        scale_bytes_(granularity == Granularity::k1x32 ? 1 : 4),
        poison_(poison),
        codes_(offset_ + static_cast<std::size_t>(rows * k), stream),
        scales_(static_cast<std::size_t>(layout_.cells()) * scale_bytes_, stream) {
    codes_.fill(poison, stream);
    scales_.fill(poison, stream);
  }

  std::uint8_t* codes() const { return codes_.data() + offset_; }
  template <class Scale>
  kernels::Quantized<Scale> quantized() const {
    return {codes(), scales_.as<Scale>()};
  }

  // The first byte that is not as expected, padding and guards included; empty if all are.
  std::string difference(const char* direction, const reference::Quantized& expected,
                         cudaStream_t stream) const {
    std::vector<std::uint8_t> codes(codes_.size(), poison_), scales(scales_.size(), poison_);
    std::copy_n(expected.codes.data(), expected.codes.size(),
                codes.begin() + static_cast<std::ptrdiff_t>(offset_));
    for (Index row = 0; row < expected.scale_inv.rows(); ++row) {
      for (Index block = 0; block < expected.scale_inv.cols(); ++block) {
        const float value = expected.scale_inv(row, block);
        const auto at = static_cast<std::size_t>(layout_.cell(row, block)) * scale_bytes_;
        if (scale_bytes_ == 1) {
          scales[at] = reference::E8M0::round_up(value).bits();
        } else {
          std::memcpy(&scales[at], &value, sizeof(value));
        }
      }
    }
    std::string text = difference(codes, codes_, "codes", stream);
    if (text.empty()) text = difference(scales, scales_, "scale_inv", stream);
    return text.empty() ? text : std::string(direction) + " " + text;
  }

 private:
  static std::string difference(const std::vector<std::uint8_t>& expected, const Buffer& buffer,
                                const char* what, cudaStream_t stream) {
    if (const auto damage = buffer.verify_guards(stream))
      return what + (": " + kernels::describe(*damage));
    const auto found = kernels::download<std::uint8_t>(buffer, stream);
    const auto [a, b] = std::mismatch(expected.begin(), expected.end(), found.begin());
    if (a == expected.end()) return {};
    std::ostringstream text;
    text << what << ": byte " << a - expected.begin() << " of " << expected.size()
         << ": reference 0x" << std::hex << int{*a} << ", kernel 0x" << int{*b};
    return text.str();
  }

  ScaleLayout layout_;
  std::size_t offset_, scale_bytes_;
  std::uint8_t poison_;
  Buffer codes_, scales_;
};

void launch(const QuantizeCase& c, const kernels::MatrixView& x, const Output& rowwise,
            const Output& columnwise, const Buffer& cells, cudaStream_t stream) {
  const kernels::ScaleOptions options{c.power_of_two, 0};
  const auto chosen = [&]<class Scale>(bool wanted, const Output& out, Scale) {
    return wanted ? out.quantized<Scale>() : kernels::Quantized<Scale>{};
  };
  switch (c.granularity) {
    case Granularity::k1x128:
      return kernels::quantize_1x128(x, c.target, options, chosen(c.rowwise, rowwise, float{}),
                                     chosen(c.columnwise, columnwise, float{}), stream);
    case Granularity::k128x128:
      return kernels::quantize_128x128(x, c.target, options, chosen(c.rowwise, rowwise, float{}),
                                       chosen(c.columnwise, columnwise, float{}), stream);
    case Granularity::k1x32:
      return kernels::quantize_1x32(x, c.target, chosen(c.rowwise, rowwise, std::uint8_t{}),
                                    chosen(c.columnwise, columnwise, std::uint8_t{}), stream);
    default:
      break;
  }
  const Output& with_scale = c.rowwise ? rowwise : columnwise;
  const kernels::TensorwiseCodes codes{c.target, c.rowwise ? rowwise.codes() : nullptr,
                                       c.columnwise ? columnwise.codes() : nullptr,
                                       with_scale.quantized<float>().scale_inv};
  float* const amax = cells.as<float>();
  float* const scale = amax + 1;
  if (c.given_scale) {
    kernels::copy_to_device<float>(scale, {*c.given_scale}, stream);
    return kernels::cast_tensorwise(x, scale, amax, codes, stream);
  }
  kernels::quantize_tensorwise(x, options, amax, scale, codes, stream);
}

}  // namespace

std::string quantize_difference(const QuantizeCase& c, const StoredMatrix& source,
                                std::uint8_t poison, cudaStream_t stream) {
  const Index rows = c.x.rows(), cols = c.x.cols();
  const auto offset = static_cast<std::size_t>(c.source_offset * kernels::size_of(c.source));
  std::vector<std::uint8_t> bytes(offset, poison);
  bytes.insert(bytes.end(), source.bytes.begin(), source.bytes.end());
  const Buffer input = kernels::upload(bytes, stream);
  const Output rowwise(c.granularity, rows, cols, c.row_offset, poison, stream);
  const Output columnwise(c.granularity, cols, rows, c.col_offset, poison, stream);
  const Buffer cells =
      kernels::upload<float>({100, 100}, stream);  // left behind by an earlier call
  launch(c, {input.data() + offset, c.source, rows, cols}, rowwise, columnwise, cells, stream);

  const reference::QuantizeSpec spec = specification(c);
  const reference::Quantized expected = reference::quantize(source.values, spec);
  std::string text;
  if (c.rowwise) text = rowwise.difference("rowwise", expected, stream);
  if (c.columnwise && text.empty()) {
    const bool is_one_dimensional =
        c.granularity == Granularity::k1x128 || c.granularity == Granularity::k1x32;
    const Matrix transposed = source.values.transpose();
    reference::Quantized twin =
        is_one_dimensional ? reference::quantize(transposed, spec) : reference::transpose(expected);
    // One cell serves both directions of a tensor.
    if (c.granularity == Granularity::kTensor && c.rowwise) twin.scale_inv.resize(0, 0);
    text = columnwise.difference("columnwise", twin, stream);
  }
  if (c.granularity == Granularity::kTensor && text.empty()) {
    const float found = kernels::download<float>(cells, stream).at(0);
    const float amax = reference::amax(source.values);
    if (std::bit_cast<std::uint32_t>(found) != std::bit_cast<std::uint32_t>(amax)) {
      text = "amax: reference " + std::to_string(amax) + ", kernel " + std::to_string(found);
    }
  }
  if (text.empty()) {
    if (const auto damage = cells.verify_guards(stream))
      text = "cells: " + kernels::describe(*damage);
  }
  return text;
}

}  // namespace samebits::properties
