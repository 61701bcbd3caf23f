// Every quantise kernel against the reference, bit for bit: codes, scales, and that nothing else
// was written.
#include "reference/quantize.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <ostream>
#include <sstream>

#include "kernels/gpu_test.h"
#include "kernels/quantize_128x128.h"
#include "kernels/quantize_1x128.h"
#include "kernels/quantize_1x32.h"
#include "kernels/quantize_tensorwise.h"
#include "kernels/quantize_transpose.h"
#include "properties/generators.h"

namespace samebits::kernels {
namespace {

using Eigen::Index;
using properties::mixed;
using properties::uniform;
using reference::Granularity;
using reference::Matrix;

// --- Sources

struct Source {
  Format format;
  std::vector<std::uint8_t> bytes;
  Matrix values;  // what the bytes widen to
};

std::uint16_t fp16_bits(float v) {
  const auto bits = std::bit_cast<std::uint32_t>(v);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  // FP32's subnormals would all become 0; the type's own are wanted.
  if (std::fpclassify(v) == FP_SUBNORMAL) return sign | static_cast<std::uint16_t>(bits & 0x3ff);
  if (std::isnan(v)) return sign | static_cast<std::uint16_t>(0x7c01 | (bits & 0x3ff));
  return reference::FP16::round(v, reference::Rounding::kNearestEven,
                                reference::Overflow::kToInfinityOrNan)
      .bits();
}

// FP32 keeps the patterns, BF16 takes their upper halves, FP16 the nearest value.
Source encoded(const Matrix& x, Format format) {
  Source source{format, {}, x};
  const auto append = [&](auto bits) {
    const auto* raw = reinterpret_cast<const std::uint8_t*>(&bits);
    source.bytes.insert(source.bytes.end(), raw, raw + sizeof(bits));
  };
  for (Index i = 0; i < x.size(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(x.data()[i]);
    if (format == Format::kFP32) {
      append(bits);
    } else if (format == Format::kBF16) {
      append(static_cast<std::uint16_t>(bits >> 16));
      source.values.data()[i] = std::bit_cast<float>(bits & 0xffff0000);
    } else {
      const std::uint16_t half = fp16_bits(x.data()[i]);
      append(half);
      source.values.data()[i] = reference::FP16::from_bits(half).value();
    }
  }
  return source;
}

// --- Cases

struct Case {
  Granularity granularity = Granularity::kTensor;
  Format source = Format::kBF16, target = Format::kE4M3;
  bool power_of_two = false;
  bool rowwise = true, columnwise = true;
  std::optional<float> given_scale;                       // kTensor only
  int source_offset = 0, row_offset = 0, col_offset = 0;  // elements, bytes, bytes
  Matrix x;
};

std::ostream& operator<<(std::ostream& os, const Case& c) {
  constexpr const char* kNames[] = {"tensor", "row", "1x128", "128x128", "1x32"};
  os << kNames[static_cast<int>(c.granularity)] << ", " << name_of(c.source) << " to "
     << name_of(c.target) << (c.power_of_two ? ", power of two" : "") << ", [" << c.x.rows() << ", "
     << c.x.cols() << "], rowwise " << c.rowwise << ", columnwise " << c.columnwise << ", offsets "
     << c.source_offset << " " << c.row_offset << " " << c.col_offset;
  if (c.given_scale) os << ", given scale " << *c.given_scale;
  return os;
}

Matrix random_matrix(Index rows, Index cols, std::uint64_t rarity, std::uint64_t seed) {
  const auto kinds = properties::every_kind();  // the first is ordinary
  Matrix x(rows, cols);
  for (Index i = 0; i < x.size(); ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    const std::uint64_t choice = mixed(~seed, index);
    const bool is_odd = choice % rarity == 0;
    x.data()[i] = properties::float_of(kinds[is_odd ? choice / rarity % kinds.size() : 0],
                                       mixed(seed, index));
  }
  return x;
}

rc::Gen<Index> any_size() {
  return rc::gen::element<Index>(0, 1, 15, 16, 17, 31, 32, 33, 112, 127, 128, 129, 144, 255, 256,
                                 272, 300, 384);
}

// Half of all cases are aligned, the rest lie anywhere their element size allows.
Case any_case(Granularity granularity) {
  Case c;
  c.granularity = granularity;
  c.source = *rc::gen::element(Format::kFP32, Format::kBF16, Format::kFP16);
  c.target = *rc::gen::element(Format::kE4M3, Format::kE5M2);
  c.power_of_two = *uniform<bool>();
  const int directions = *rc::gen::element(1, 2, 3, 3);
  c.rowwise = (directions & 1) != 0;
  c.columnwise = (directions & 2) != 0;
  if (granularity == Granularity::kTensor && *uniform<bool>()) {
    c.given_scale = *rc::gen::element(1.0F, 104.642334F, 0x1p-130F, 0x1.fffffep127F, 0.3F);
  }
  if (*uniform<bool>()) {
    c.source_offset = *rc::gen::element(0, 1, 3, 8);
    c.row_offset = *rc::gen::element(0, 1, 3, 7, 8, 15, 16);
    c.col_offset = *rc::gen::element(0, 1, 3, 7, 8, 15, 16);
  }
  const auto rarity = *rc::gen::element<std::uint64_t>(100000, 1000, 10, 1);
  const auto seed = *uniform<std::uint64_t>();
  c.x = random_matrix(*any_size(), *any_size(), rarity, seed);
  // Whole blocks of zeros, of both signs.
  if (*rc::gen::element(0, 0, 0, 1) == 1) {
    const Index rows = std::min<Index>(c.x.rows(), 130), cols = std::min<Index>(c.x.cols(), 130);
    c.x.topLeftCorner(rows, cols) =
        c.x.topLeftCorner(rows, cols).unaryExpr([](float v) { return std::copysign(0.0F, v); });
  }
  return c;
}

reference::QuantizeSpec specification(const Case& c) {
  reference::QuantizeSpec spec;
  spec.granularity = c.granularity;
  spec.rule.format = c.target == Format::kE5M2 ? reference::Fp8::kE5M2 : reference::Fp8::kE4M3;
  spec.rule.power_of_two = c.power_of_two;
  if (c.granularity != Granularity::kTensor) {
    spec.rule.largest =
        reference::largest_finite(c.source == Format::kBF16   ? reference::InputType::kBF16
                                  : c.source == Format::kFP16 ? reference::InputType::kFP16
                                                              : reference::InputType::kFP32);
  }
  if (c.given_scale) spec.given_scale = &*c.given_scale;
  return spec;
}

// --- One direction's result on the device

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
  Quantized<Scale> quantized() const {
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
    if (const auto damage = buffer.verify_guards(stream)) return what + (": " + describe(*damage));
    const auto found = download<std::uint8_t>(buffer, stream);
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

// --- The law

void launch(const Case& c, const MatrixView& x, const Output& rowwise, const Output& columnwise,
            const Buffer& cells, cudaStream_t stream) {
  const ScaleOptions options{c.power_of_two, 0};
  const auto chosen = [&]<class Scale>(bool wanted, const Output& out, Scale) {
    return wanted ? out.quantized<Scale>() : Quantized<Scale>{};
  };
  switch (c.granularity) {
    case Granularity::k1x128:
      return quantize_1x128(x, c.target, options, chosen(c.rowwise, rowwise, float{}),
                            chosen(c.columnwise, columnwise, float{}), stream);
    case Granularity::k128x128:
      return quantize_128x128(x, c.target, options, chosen(c.rowwise, rowwise, float{}),
                              chosen(c.columnwise, columnwise, float{}), stream);
    case Granularity::k1x32:
      return quantize_1x32(x, c.target, chosen(c.rowwise, rowwise, std::uint8_t{}),
                           chosen(c.columnwise, columnwise, std::uint8_t{}), stream);
    default:
      break;
  }
  const Output& with_scale = c.rowwise ? rowwise : columnwise;
  const TensorwiseCodes codes{c.target, c.rowwise ? rowwise.codes() : nullptr,
                              c.columnwise ? columnwise.codes() : nullptr,
                              with_scale.quantized<float>().scale_inv};
  float* const amax = cells.as<float>();
  float* const scale = amax + 1;
  if (c.given_scale) {
    copy_to_device<float>(scale, {*c.given_scale}, stream);
    return cast_tensorwise(x, scale, amax, codes, stream);
  }
  quantize_tensorwise(x, options, amax, scale, codes, stream);
}

// Of a run whose outputs held `poison` before; empty if every byte is as the reference has it.
std::string difference(const Case& c, const Source& source, std::uint8_t poison,
                       cudaStream_t stream) {
  const Index rows = c.x.rows(), cols = c.x.cols();
  const auto offset = static_cast<std::size_t>(c.source_offset * size_of(c.source));
  std::vector<std::uint8_t> bytes(offset, poison);
  bytes.insert(bytes.end(), source.bytes.begin(), source.bytes.end());
  const Buffer input = upload(bytes, stream);
  const Output rowwise(c.granularity, rows, cols, c.row_offset, poison, stream);
  const Output columnwise(c.granularity, cols, rows, c.col_offset, poison, stream);
  const Buffer cells = upload<float>({100, 100}, stream);  // left behind by an earlier call
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
    const float found = download<float>(cells, stream).at(0);
    const float amax = reference::amax(source.values);
    if (std::bit_cast<std::uint32_t>(found) != std::bit_cast<std::uint32_t>(amax)) {
      text = "amax: reference " + std::to_string(amax) + ", kernel " + std::to_string(found);
    }
  }
  if (text.empty()) {
    if (const auto damage = cells.verify_guards(stream)) text = "cells: " + describe(*damage);
  }
  return text;
}

void expect_the_reference(Granularity granularity) {
  const Stream stream;
  const bool ok = rc::check("a kernel writes the reference's bytes, whatever lay there", [&] {
    const Case c = any_case(granularity);
    RC_LOG() << c << '\n';
    const Source source = encoded(c.x, c.source);
    for (const std::uint8_t poison : {0xff, 0x5a}) {
      const std::string text = difference(c, source, poison, stream);
      if (!text.empty()) RC_FAIL(text);
    }
    RC_CLASSIFY(c.x.rows() % 16 == 0 && c.x.cols() % 16 == 0 && c.row_offset % 16 == 0 &&
                    c.col_offset % 16 == 0,
                "by 16-byte accesses");
    RC_CLASSIFY(c.x.size() == 0, "empty");
  });
  EXPECT_TRUE(ok);
}

TEST(QuantizeKernels, TensorwiseEqualsTheReference) {
  SAMEBITS_NEEDS_GPU();
  expect_the_reference(Granularity::kTensor);
}

TEST(QuantizeKernels, OneBy128EqualsTheReference) {
  SAMEBITS_NEEDS_GPU();
  expect_the_reference(Granularity::k1x128);
}

TEST(QuantizeKernels, Square128EqualsTheReference) {
  SAMEBITS_NEEDS_GPU();
  expect_the_reference(Granularity::k128x128);
}

TEST(QuantizeKernels, OneBy32EqualsTheReference) {
  SAMEBITS_NEEDS_GPU();
  expect_the_reference(Granularity::k1x32);
}

}  // namespace
}  // namespace samebits::kernels
