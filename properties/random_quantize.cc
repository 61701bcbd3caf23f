#include "properties/random_quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "properties/generators.h"

namespace samebits::properties {
namespace {

using Eigen::Index;
using kernels::Format;
using reference::Granularity;
using reference::Matrix;

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

Matrix random_matrix(Index rows, Index cols, std::uint64_t rarity, std::uint64_t seed) {
  const auto kinds = every_kind();  // the first is ordinary
  Matrix x(rows, cols);
  for (Index i = 0; i < x.size(); ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    const std::uint64_t choice = mixed(~seed, index);
    const bool is_odd = choice % rarity == 0;
    x.data()[i] = float_of(kinds[is_odd ? choice / rarity % kinds.size() : 0], mixed(seed, index));
  }
  return x;
}

rc::Gen<Index> any_size() {
  return rc::gen::element<Index>(0, 1, 15, 16, 17, 31, 32, 33, 112, 127, 128, 129, 144, 255, 256,
                                 272, 300, 384);
}

}  // namespace

StoredMatrix stored(const Matrix& x, Format format) {
  StoredMatrix source{{}, x};
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

std::ostream& operator<<(std::ostream& os, const QuantizeCase& c) {
  constexpr const char* kNames[] = {"tensor", "row", "1x128", "128x128", "1x32"};
  os << kNames[static_cast<int>(c.granularity)] << ", " << kernels::name_of(c.source) << " to "
     << kernels::name_of(c.target) << (c.power_of_two ? ", power of two" : "") << ", ["
     << c.x.rows() << ", " << c.x.cols() << "], rowwise " << c.rowwise << ", columnwise "
     << c.columnwise << ", offsets " << c.source_offset << " " << c.row_offset << " "
     << c.col_offset;
  if (c.given_scale) os << ", given scale " << *c.given_scale;
  return os;
}

QuantizeCase any_quantize_case(Granularity granularity) {
  QuantizeCase c;
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

reference::QuantizeSpec specification(const QuantizeCase& c) {
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

}  // namespace samebits::properties
