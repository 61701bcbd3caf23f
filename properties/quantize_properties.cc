// Laws of scaling and quantising, for every granularity and both formats, on matrices at tile edges
// that hold every kind of float.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <ostream>

#include "properties/generators.h"
#include "reference/quantize.h"

namespace samebits::reference {

void showValue(const QuantizeSpec& spec, std::ostream& os) {
  constexpr const char* kNames[] = {"tensor", "row", "1x128", "128x128", "1x32"};
  os << kNames[static_cast<int>(spec.granularity)]
     << (spec.rule.format == Fp8::kE4M3 ? " E4M3" : " E5M2")
     << (spec.rule.power_of_two ? " power of two" : "") << " largest " << spec.rule.largest;
}

}  // namespace samebits::reference

namespace samebits::properties {
namespace {

using Eigen::Index;
using reference::BlockGrid;
using reference::E4M3;
using reference::E5M2;
using reference::Fp8;
using reference::Granularity;
using reference::InputType;
using reference::Matrix;
using reference::Quantized;
using reference::QuantizeSpec;
using reference::ScaleRule;

rc::Gen<QuantizeSpec> any_spec() {
  return rc::gen::apply(
      [](Granularity granularity, Fp8 format, bool power_of_two, InputType type) {
        const ScaleRule rule{format, power_of_two, 0, reference::largest_finite(type)};
        return QuantizeSpec{granularity, rule, nullptr, 1};
      },
      rc::gen::element(Granularity::kTensor, Granularity::kRow, Granularity::k1x128,
                       Granularity::k128x128, Granularity::k1x32),
      rc::gen::element(Fp8::kE4M3, Fp8::kE5M2), uniform<bool>(),
      rc::gen::element(InputType::kFP32, InputType::kBF16, InputType::kFP16));
}

// memcmp, so that NaN equals itself and -0 differs from +0.
template <class T>
bool same_bits(const T& a, const T& b) {
  const auto bytes = static_cast<std::size_t>(a.size()) * sizeof(*a.data());
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         (bytes == 0 || std::memcmp(a.data(), b.data(), bytes) == 0);
}

bool same_bits(const Quantized& a, const Quantized& b) {
  return same_bits(a.codes, b.codes) && same_bits(a.scale_inv, b.scale_inv);
}

// The recipes once more, element by element: what one element's block has for amax.
Matrix plain_block_amax(const Matrix& x, const BlockGrid& grid) {
  Matrix amax = Matrix::Zero(grid.rows, grid.cols);
  for (Index r = 0; r < x.rows(); ++r) {
    for (Index c = 0; c < x.cols(); ++c) {
      float& cell = amax(r / grid.block_rows, c / grid.block_cols);
      if (std::abs(x(r, c)) > cell) cell = std::abs(x(r, c));  // false for NaN
    }
  }
  return amax;
}

float multiplier(float amax, const QuantizeSpec& spec) {
  return spec.granularity == Granularity::k1x32
             ? reference::mx_multiplier(reference::mx_exponent(amax, spec.rule.format))
             : reference::scale_from_amax(amax, spec.rule);
}

RC_GTEST_PROP(QuantizeLaws, EachCodeIsTheCastOfTheScaledElement, ()) {
  const QuantizeSpec spec = *any_spec();
  const Matrix x = *any_matrix();
  const Quantized q = reference::quantize(x, spec);
  const BlockGrid grid = reference::block_grid(spec.granularity, x.rows(), x.cols());
  const Matrix amax = plain_block_amax(x, grid);
  for (Index r = 0; r < x.rows(); ++r) {
    for (Index c = 0; c < x.cols(); ++c) {
      const Index block_row = r / grid.block_rows, block_col = c / grid.block_cols;
      const float scale = multiplier(amax(block_row, block_col), spec);
      const float product = x(r, c) * scale;
      constexpr auto kNearest = reference::Rounding::kNearestEven;
      constexpr auto kSaturate = reference::Overflow::kSaturate;
      const std::uint8_t code = spec.rule.format == Fp8::kE4M3
                                    ? E4M3::round(product, kNearest, kSaturate).bits()
                                    : E5M2::round(product, kNearest, kSaturate).bits();
      RC_ASSERT(q.codes(r, c) == code);
      RC_ASSERT(q.scale_inv(block_row, block_col) == 1 / scale);
    }
  }
}

// With s the scale, p = RN(x*s), q its code's value and t the step of p's binade: |q - p| <= t/2,
// |p - x*s| <= 2^-24 |p|, |scale_inv - 1/s| <= 2^-24 / s, and |p|, |q| <= 16t (E5M2: 8t). So
// |q * scale_inv - x| <= t/2 (1 + 2^-18) / s. Where p or scale_inv is an FP32 subnormal its own
// error is up to 2^-150, not relative: 2^-150 (1/s + |q|) more.
RC_GTEST_PROP(QuantizeLaws, AnElementThatDoesNotSaturateStaysWithinHalfAStep, ()) {
  const QuantizeSpec spec = *any_spec();
  const Matrix x = *any_matrix();
  const Quantized q = reference::quantize(x, spec);
  const BlockGrid grid = reference::block_grid(spec.granularity, x.rows(), x.cols());
  const Matrix amax = plain_block_amax(x, grid);
  const bool is_e4m3 = spec.rule.format == Fp8::kE4M3;
  const int mantissa_bits = is_e4m3 ? 3 : 2;
  const int min_exponent = is_e4m3 ? E4M3::kMinExponent : E5M2::kMinExponent;
  for (Index r = 0; r < x.rows(); ++r) {
    for (Index c = 0; c < x.cols(); ++c) {
      const float scale = multiplier(amax(r / grid.block_rows, c / grid.block_cols), spec);
      const float p = x(r, c) * scale;
      if (!(std::abs(p) <= reference::fp8_max(spec.rule.format))) continue;
      const int exponent = p == 0 ? min_exponent : std::max(std::ilogb(p), min_exponent);
      const double half_step = std::ldexp(0.5, exponent - mantissa_bits);
      const double code_value = std::abs(reference::fp8_value(q.codes(r, c), q.format));
      const double bound =
          half_step * (1 + 0x1p-18) / scale + 0x1p-150 * (1.0 / scale + code_value);
      RC_ASSERT(std::abs(reference::dequantize(q, r, c) - x(r, c)) <= bound);
    }
  }
}

RC_GTEST_PROP(QuantizeLaws, ScalingTheInputByAPowerOfTwoMovesOnlyTheScale, ()) {
  const QuantizeSpec spec = *any_spec();
  const Matrix x = *any_matrix(well_scaled_kinds());
  const int k = *rc::gen::inRange(-20, 21);
  const Quantized q = reference::quantize(x, spec);
  const Quantized moved = reference::quantize(x * std::ldexp(1.0f, k), spec);
  RC_ASSERT(same_bits(q.codes, moved.codes));
  const Matrix amax =
      plain_block_amax(x, reference::block_grid(spec.granularity, x.rows(), x.cols()));
  for (Index i = 0; i < amax.size(); ++i) {
    const int shift = amax.data()[i] == 0 ? 0 : k;  // a block of zeros has nothing to move
    RC_ASSERT(moved.scale_inv.data()[i] == std::ldexp(q.scale_inv.data()[i], shift));
  }
}

RC_GTEST_PROP(QuantizeLaws, TheTransposeOfTheBytesIsTheQuantisationOfTheTranspose, ()) {
  QuantizeSpec spec = *any_spec();
  spec.granularity = *rc::gen::element(Granularity::kTensor, Granularity::k128x128);
  const Matrix x = *any_matrix();
  RC_ASSERT(same_bits(reference::transpose(reference::quantize(x, spec)),
                      reference::quantize(x.transpose(), spec)));
}

RC_GTEST_PROP(QuantizeLaws, ARowDoesNotDependOnTheOthers, ()) {
  QuantizeSpec spec = *any_spec();
  spec.granularity = *rc::gen::element(Granularity::kRow, Granularity::k1x128, Granularity::k1x32);
  const Matrix x = *any_matrix();
  RC_PRE(x.rows() > 0);
  const Index row = *rc::gen::inRange<Index>(0, x.rows());
  const Quantized whole = reference::quantize(x, spec);
  const Quantized alone = reference::quantize(x.row(row), spec);
  RC_ASSERT(same_bits<reference::Codes>(whole.codes.row(row), alone.codes));
  RC_ASSERT(same_bits<Matrix>(whole.scale_inv.row(row), alone.scale_inv));
}

RC_GTEST_PROP(QuantizeLaws, ABlockDoesNotDependOnTheOthers, ()) {
  QuantizeSpec spec = *any_spec();
  spec.granularity =
      *rc::gen::element(Granularity::k128x128, Granularity::k1x128, Granularity::k1x32);
  const Matrix x = *any_matrix();
  const Index rows = std::min<Index>(128, x.rows()), cols = std::min<Index>(128, x.cols());
  const auto [block_rows, block_cols, grid_rows, grid_cols] =
      reference::block_grid(spec.granularity, rows, cols);
  const Quantized whole = reference::quantize(x, spec);
  const Quantized alone = reference::quantize(x.topLeftCorner(rows, cols), spec);
  RC_ASSERT(same_bits<reference::Codes>(whole.codes.topLeftCorner(rows, cols), alone.codes));
  RC_ASSERT(
      same_bits<Matrix>(whole.scale_inv.topLeftCorner(grid_rows, grid_cols), alone.scale_inv));
}

// With FP32's largest as the cap. A narrower type's largest is below quotients that do not
// overflow, which no amax of that type reaches.
RC_GTEST_PROP(ScaleLaws, ALargerAmaxNeverHasALargerScale, ()) {
  const auto amaxes = any_float({FloatKind::kAnyFinite, FloatKind::kOrdinary});
  float a = std::abs(*amaxes), b = std::abs(*amaxes);
  RC_PRE(a > 0 && b > 0);
  if (b < a) std::swap(a, b);
  QuantizeSpec spec = *any_spec();
  spec.rule.largest = reference::largest_finite(InputType::kFP32);
  RC_ASSERT(multiplier(a, spec) >= multiplier(b, spec));
}

RC_GTEST_PROP(ScaleLaws, TheLargestElementOfABlockNeverSaturatesByMoreThanItsRounding, ()) {
  const float amax = std::abs(*any_float({FloatKind::kAnyFinite, FloatKind::kOrdinary}));
  RC_PRE(amax > 0);
  const QuantizeSpec spec = *any_spec();
  const double product = double{amax} * multiplier(amax, spec);
  RC_ASSERT(product <= reference::fp8_max(spec.rule.format) * (1 + 0x1p-24));
}

}  // namespace
}  // namespace samebits::properties
