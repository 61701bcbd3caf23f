#include "reference/quantize.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>

namespace samebits::reference {
namespace {

using Eigen::Index;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::array kGranularities = {Granularity::kTensor, Granularity::kRow, Granularity::k1x128,
                                       Granularity::k128x128, Granularity::k1x32};

Matrix row(std::initializer_list<float> values) {
  return Eigen::Map<const Matrix>(values.begin(), 1, static_cast<Index>(values.size()));
}

std::vector<int> codes(const Quantized& q) {
  return {q.codes.data(), q.codes.data() + q.codes.size()};
}

// Every element another value, rows other than columns, magnitudes over 16 binades.
Matrix counter_pattern(Index rows, Index cols) {
  Matrix x(rows, cols);
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) {
      const Index i = r * cols + c;
      const float v =
          std::ldexp(1 + static_cast<float>(i) / 65536, static_cast<int>(i * 7 % 16) - 8);
      x(r, c) = i % 3 == 0 ? -v : v;
    }
  }
  return x;
}

bool same_bits(const Quantized& a, const Quantized& b) {
  return a.granularity == b.granularity && a.format == b.format &&
         a.codes.rows() == b.codes.rows() && a.codes.cols() == b.codes.cols() &&
         a.scale_inv.rows() == b.scale_inv.rows() && a.scale_inv.cols() == b.scale_inv.cols() &&
         std::equal(a.codes.data(), a.codes.data() + a.codes.size(), b.codes.data()) &&
         std::equal(a.scale_inv.data(), a.scale_inv.data() + a.scale_inv.size(), b.scale_inv.data(),
                    [](float x, float y) {
                      return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
                    });
}

TEST(Amax, IsTheLargestMagnitudeAndDoesNotSeeNan) {
  EXPECT_EQ(amax(row({-3, -2, -5})), 5);
  EXPECT_EQ(amax(row({kNan, -2, kNan, 1})), 2);
  EXPECT_EQ(amax(row({kNan, kNan})), 0);
  EXPECT_EQ(amax(row({1, -kInf, kNan})), kInf);
  EXPECT_EQ(amax(row({-0.0f, 0x1p-149f})), 0x1p-149f);
  EXPECT_EQ(amax(Matrix(0, 5)), 0);
  EXPECT_EQ(amax(Matrix(5, 0)), 0);
}

TEST(Amax, ReadsAViewAsItsContiguousCopy) {
  const Matrix x = counter_pattern(9, 17);
  const Matrix copy = x.block(2, 3, 4, 5);
  EXPECT_EQ(amax(x.block(2, 3, 4, 5)), amax(copy));
  EXPECT_EQ(amax(copy), copy.cwiseAbs().maxCoeff());
}

TEST(Quantize, UsesTheRoundedScale) {
  const Quantized q = quantize(row({300}), {.rule = {.power_of_two = true}});
  EXPECT_EQ(q.codes(0, 0), 0x79);
  EXPECT_EQ(dequantize(q, 0, 0), 288);
}

TEST(Quantize, ComputesTheScaleInFp32) {
  const float tenth = FP16::round(0.1, Rounding::kNearestEven, Overflow::kSaturate).value();
  const Quantized q = quantize(row({0, 0, tenth, tenth}), {.rule = {.format = Fp8::kE5M2}});
  EXPECT_EQ(codes(q), (std::vector<int>{0, 0, 0x7b, 0x7b}));
}

TEST(Quantize, MultipliesInFp32BeforeItRounds) {
  // scale = RN(448 / 3). In FP32 x * scale rounds to the tie 1.0625, which goes down to 1; the
  // exact product lies above it and would go up to 1.125.
  const float scale = 448.0f / 3;
  float x = 1.0625f / scale;
  while (x * scale != 1.0625f || double{x} * scale <= 1.0625) x = std::nextafter(x, 1.0f);
  const Quantized q = quantize(row({3, x}), {});
  EXPECT_EQ(fp8_value(q.codes(0, 1), Fp8::kE4M3), 1);
}

TEST(Quantize, KeepsSignedZerosAndGivesNanItsCode) {
  const Quantized q = quantize(row({0.0f, -0.0f, -1e-30f, kNan, -kNan, 448}), {});
  EXPECT_EQ(codes(q), (std::vector<int>{0x00, 0x80, 0x80, 0x7f, 0x7f, 0x7e}));
}

TEST(Quantize, OneInfMakesItsBlocksScaleOneAndNoOther) {
  Matrix x = Matrix::Constant(1, 256, 2);
  x(0, 3) = -kInf;
  const Quantized q = quantize(x, {.granularity = Granularity::k1x128});
  EXPECT_EQ(q.scale_inv(0, 0), 1);
  EXPECT_EQ(q.codes(0, 3), 0xfe);
  EXPECT_EQ(dequantize(q, 0, 4), 2);
  EXPECT_EQ(q.scale_inv(0, 1), 1 / 224.0f);
}

TEST(Quantize, AZeroBlockHasAUsableScaleAndTheValueZero) {
  for (const Granularity granularity : kGranularities) {
    const Quantized q = quantize(row({0.0f, -0.0f}), {.granularity = granularity});
    EXPECT_EQ(codes(q), (std::vector<int>{0x00, 0x80}));
    EXPECT_TRUE(q.scale_inv(0, 0) > 0 && std::isfinite(q.scale_inv(0, 0)));
    EXPECT_EQ(dequantize(q, 0, 0), 0);
  }
}

TEST(Quantize, ElementUsesTheScaleOfItsOwnBlock) {
  // One power of two a block: the exact scales are then their inverses times 1 / 448.
  Matrix x(129, 257);
  for (Index r = 0; r < x.rows(); ++r) {
    for (Index c = 0; c < x.cols(); ++c) {
      x(r, c) = std::ldexp(448.0f, static_cast<int>(r / 128 * 3 + c / 128));
    }
  }
  const Quantized q = quantize(x, {.granularity = Granularity::k128x128});
  ASSERT_EQ(q.scale_inv.rows(), 2);
  ASSERT_EQ(q.scale_inv.cols(), 3);
  for (Index r = 0; r < 2; ++r) {
    for (Index c = 0; c < 3; ++c)
      EXPECT_EQ(q.scale_inv(r, c), std::ldexp(1.0f, static_cast<int>(r * 3 + c)));
  }
  EXPECT_TRUE((q.codes.array() == 0x7e).all());
}

TEST(Quantize, ScaleShapesFollowTheGranularity) {
  const auto shape = [](Granularity granularity, Index rows, Index cols) {
    const Quantized q = quantize(Matrix::Ones(rows, cols), {.granularity = granularity});
    EXPECT_EQ(q.codes.rows(), rows);
    EXPECT_EQ(q.codes.cols(), cols);
    return std::pair{q.scale_inv.rows(), q.scale_inv.cols()};
  };
  using Shape = std::pair<Index, Index>;
  EXPECT_EQ(shape(Granularity::k128x128, 512, 6144), Shape(4, 48));
  for (const Index rows : {0, 1, 15, 17, 127, 128, 129}) {
    for (const Index cols : {0, 1, 15, 16, 17, 31, 32, 33, 127, 128, 129}) {
      const Index blocks = cols / 128 + (cols % 128 != 0);
      EXPECT_EQ(shape(Granularity::kTensor, rows, cols), Shape(1, 1));
      EXPECT_EQ(shape(Granularity::kRow, rows, cols), Shape(rows, 1));
      EXPECT_EQ(shape(Granularity::k1x128, rows, cols), Shape(rows, blocks));
      EXPECT_EQ(shape(Granularity::k128x128, rows, cols),
                Shape(rows / 128 + (rows % 128 != 0), blocks));
      EXPECT_EQ(shape(Granularity::k1x32, rows, cols), Shape(rows, cols / 32 + (cols % 32 != 0)));
    }
  }
}

TEST(Quantize, DoesNotDependOnTheThreads) {
  const Matrix x = counter_pattern(300, 1000);
  for (const Granularity granularity : kGranularities) {
    EXPECT_TRUE(same_bits(quantize(x, {.granularity = granularity, .threads = 1}),
                          quantize(x, {.granularity = granularity, .threads = 5})));
  }
}

TEST(Quantize, AViewIsItsContiguousCopy) {
  const Matrix x = counter_pattern(140, 150);
  const Matrix copy = x.block(1, 3, 130, 133);
  for (const Granularity granularity : kGranularities) {
    EXPECT_TRUE(same_bits(quantize(x.block(1, 3, 130, 133), {.granularity = granularity}),
                          quantize(copy, {.granularity = granularity})));
  }
}

TEST(Quantize, EqualValuesMayHaveDifferentBytes) {
  const Quantized first = quantize(row({225}), {.granularity = Granularity::k1x32});
  EXPECT_EQ(first.scale_inv(0, 0), 1);
  EXPECT_EQ(first.codes(0, 0), 0x76);
  const auto value = static_cast<float>(dequantize(first, 0, 0));
  const Quantized second = quantize(row({value}), {.granularity = Granularity::k1x32});
  EXPECT_EQ(second.scale_inv(0, 0), 0.5);
  EXPECT_EQ(second.codes(0, 0), 0x7e);
  EXPECT_EQ(dequantize(second, 0, 0), dequantize(first, 0, 0));
}

TEST(Quantize, BytesKeepTheScaleTheyWereMadeWith) {
  float scale = 1;
  const Quantized q = quantize(row({448, 1}), {.given_scale = &scale});
  scale = 2;
  EXPECT_EQ(dequantize(q, 0, 0), 448);
  EXPECT_EQ(dequantize(q, 0, 1), 1);
}

TEST(Quantize, AGivenScaleIsUsedWhateverAmaxSays) {
  const float scale = 4;
  const Quantized q = quantize(row({1, 1000}), {.given_scale = &scale});
  EXPECT_EQ(q.scale_inv(0, 0), 0.25);
  EXPECT_EQ(dequantize(q, 0, 0), 1);
  EXPECT_EQ(dequantize(q, 0, 1), 112);
  EXPECT_THROW(quantize(row({1}), {.granularity = Granularity::kRow, .given_scale = &scale}),
               std::invalid_argument);
}

TEST(Transpose, IsTheQuantisationOfTheTranspose) {
  for (const auto& [rows, cols] : {std::pair<Index, Index>{0, 5}, {1, 33}, {129, 257}, {31, 128}}) {
    const Matrix x = counter_pattern(rows, cols);
    for (const Granularity granularity : {Granularity::kTensor, Granularity::k128x128}) {
      const QuantizeSpec spec{.granularity = granularity};
      EXPECT_TRUE(same_bits(transpose(quantize(x, spec)), quantize(x.transpose(), spec)));
    }
  }
}

TEST(Transpose, RefusesOneDimensionalBlocks) {
  for (const auto granularity : {Granularity::kRow, Granularity::k1x128, Granularity::k1x32}) {
    EXPECT_THROW(transpose(quantize(row({1}), {.granularity = granularity})),
                 std::invalid_argument);
  }
}

TEST(Dequantize, IsExactAndKeepsNanAndSignedZero) {
  Quantized q = quantize(row({448, -0.0f, kNan}), {.rule = {.power_of_two = false}});
  q.scale_inv(0, 0) = 0x1.fffffep-1f;
  EXPECT_EQ(dequantize(q, 0, 0), 448 * 0x1.fffffep-1);
  EXPECT_TRUE(std::signbit(dequantize(q, 0, 1)));
  EXPECT_TRUE(std::isnan(dequantize(q, 0, 2)));
  q.scale_inv(0, 0) = kNan;
  EXPECT_TRUE(std::isnan(dequantize(q, 0, 0)));
}

}  // namespace
}  // namespace samebits::reference
