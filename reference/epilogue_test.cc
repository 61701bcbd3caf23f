#include "reference/epilogue.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "reference/gemm.h"
#include "reference/test_operands.h"

namespace samebits::reference {
namespace {

using enum Granularity;

constexpr float kInf = std::numeric_limits<float>::infinity();

Quantized scaled_row(std::initializer_list<float> values, Granularity mode, float scale) {
  Quantized row = row_of(values);
  row.granularity = mode;
  row.scale_inv.setConstant(scale);
  return row;
}

std::uint32_t bits(const Matrix& d) { return std::bit_cast<std::uint32_t>(d(0, 0)); }

// D for one product `u`, tensorwise, through the whole of gemm().
float epilogue(float u, float c, GemmSpec spec, const Eigen::VectorXf* bias = nullptr) {
  const Quantized a = row_of({u}), b = row_of({1});
  const Matrix c_matrix = Matrix::Constant(1, 1, c);
  return gemm({.a = &a, .b = &b, .c = &c_matrix, .bias = bias}, spec)(0, 0);
}

TEST(Epilogue, RoundsTwiceInPlaceAndOnceOutOfPlace) {
  // alpha * 1 = 1 + 2^-8 is a tie in BF16, rounded to 1 before C is added in place.
  const GemmSpec spec{.alpha = 1 + 0x1p-8f, .beta = 1};
  GemmSpec in_place = spec;
  in_place.in_place = true;
  const float c = 0x1p-7f;
  EXPECT_EQ(epilogue(1, c, in_place), 1 + 0x1p-7f);
  EXPECT_EQ(epilogue(1, c, spec), 1 + 2 * 0x1p-7f);
}

TEST(Epilogue, FusesOnlyWhereCIsAddedOutOfPlace) {
  const float alpha = 1 + 0x1p-23f;  // alpha * 1.5 is a tie in FP32
  const GemmSpec spec{.output = OutputType::kFP32, .alpha = alpha, .beta = 1};
  GemmSpec in_place = spec;
  in_place.in_place = true;
  EXPECT_EQ(epilogue(1.5, -1.5, spec), 1.5f * 0x1p-23f);
  EXPECT_EQ(epilogue(1.5, -1.5, in_place), 2 * 0x1p-23f);
}

TEST(Epilogue, OfSplitKRoundsOnceAlsoInPlace) {
  const Quantized a = row_of({1, 0}), b = row_of({1, 0});
  const Matrix c = Matrix::Constant(1, 1, 0x1p-7f);
  GemmSpec spec{.alpha = 1 + 0x1p-8f, .beta = 1, .in_place = true};
  EXPECT_EQ(gemm({.a = &a, .b = &b, .c = &c}, spec)(0, 0), 1 + 0x1p-7f);
  spec.split_k = 2;
  EXPECT_EQ(gemm({.a = &a, .b = &b, .c = &c}, spec)(0, 0), 1 + 2 * 0x1p-7f);
}

// u = +0; measured on an H200 (cuBLASLt 13.1), tensorwise and block scales alike.
TEST(Epilogue, OfSplitKKeepsTheNegativeZeroOfANegativeFactor) {
  for (const Granularity mode : {kTensor, k1x128}) {
    const Quantized a = scaled_row({0, 0}, mode, 1), b = scaled_row({1, 1}, mode, 1);
    GemmSpec spec{.output = OutputType::kFP32, .alpha = -28.715666f};
    EXPECT_EQ(bits(gemm({.a = &a, .b = &b}, spec)), 0u);
    spec.split_k = 2;
    EXPECT_EQ(bits(gemm({.a = &a, .b = &b}, spec)), 0x80000000u);
  }
  const Quantized a = scaled_row({0, 0}, kTensor, 1), b = scaled_row({1, 1}, kTensor, 1);
  const GemmSpec fp8{.output = OutputType::kE4M3, .alpha = -1, .split_k = 2};
  EXPECT_EQ(bits(gemm({.a = &a, .b = &b}, fp8)), 0u);
}

// f * u < 0 rounds to -0, and +0 does not change that; measured on an H200 (cuBLASLt 13.1).
TEST(Epilogue, OfANegativeProductThatUnderflowsIsNegativeZero) {
  for (const Granularity mode : {kRow, k1x128}) {
    const Quantized a = scaled_row({1}, mode, 0x1p-60f), b = scaled_row({-1}, mode, 1);
    const GemmSpec spec{.output = OutputType::kFP32, .alpha = 0x1p-100f};
    EXPECT_EQ(bits(gemm({.a = &a, .b = &b}, spec)), 0x80000000u);
  }
}

TEST(Epilogue, AddsCOfTheSameRowAndColumn) {
  const Quantized a = ones(2, 16), b = ones(2, 16);
  const Matrix c{{1, 2}, {3, 4}};
  for (const bool in_place : {false, true}) {
    const Matrix d = gemm({.a = &a, .b = &b, .c = &c}, {.beta = 1, .in_place = in_place});
    EXPECT_EQ(d, Matrix({{17, 18}, {19, 20}}));
  }
}

TEST(Epilogue, KeepsNegativeZeroOnlyWhereTheFactorIsOne) {
  for (const Granularity mode : {kTensor, kRow, k1x128}) {
    const Quantized a = scaled_row({0}, mode, 1), b = scaled_row({1}, mode, 1);
    EXPECT_EQ(bits(gemm({.a = &a, .b = &b}, {.output = OutputType::kFP32, .alpha = -1})), 0u);
  }
  // Tensorwise, the factor holds the scales.
  const Quantized a = scaled_row({0}, kTensor, -2), b = scaled_row({1}, kTensor, 1);
  EXPECT_EQ(bits(gemm({.a = &a, .b = &b}, {.output = OutputType::kFP32})), 0u);
}

// u = -0; measured on an H200 (cuBLASLt 13.1).
TEST(Epilogue, OfARowWithScaleNegativeZero) {
  const Quantized a = scaled_row({1}, kRow, -0.0f), b = scaled_row({1}, kRow, 19.090294f);
  GemmSpec spec{.output = OutputType::kFP32};
  EXPECT_EQ(bits(gemm({.a = &a, .b = &b}, spec)), 0x80000000u);
  spec.alpha = 28.715666f;
  EXPECT_EQ(bits(gemm({.a = &a, .b = &b}, spec)), 0u);
}

// y = fma(2^-149, RN(sb * p), 0) underflows to -0; measured on an H200 (cuBLASLt 13.1).
TEST(Epilogue, OfABlockThatUnderflows) {
  const Quantized a = scaled_row({-12}, k1x128, 0x1p-149f);
  const Quantized b = scaled_row({1}, k1x128, 0x1.039a9ap-7f);
  const GemmSpec spec{.output = OutputType::kBF16, .alpha = 1.7848477f};
  EXPECT_EQ(bits(gemm({.a = &a, .b = &b}, spec)), 0u);
}

TEST(Epilogue, DoesNotReadCWhereBetaIsZero) {
  EXPECT_EQ(epilogue(2, std::numeric_limits<float>::quiet_NaN(), {}), 2);
}

TEST(Epilogue, AddsTheBiasOfTheARow) {
  const Quantized a = ones(2, 16), b = ones(3, 16);
  const Eigen::VectorXf bias = Eigen::Vector2f(1, -4);
  const Matrix d = gemm({.a = &a, .b = &b, .bias = &bias}, {});
  EXPECT_TRUE((d.col(0).array() == 17).all() && (d.col(1).array() == 12).all());
}

TEST(Output, IsCastWithTheOverflowOfItsType) {
  EXPECT_EQ(epilogue(448, 0, {.output = OutputType::kFP16, .alpha = 200}), kInf);
  EXPECT_EQ(epilogue(448, 0, {.output = OutputType::kE4M3, .alpha = -200}), -448);
  const float scale_d = 0.25;
  EXPECT_EQ(epilogue(448, 0, {.output = OutputType::kE4M3, .scale_d = &scale_d}), 112);
  // Before the cast: 896 would saturate.
  EXPECT_EQ(epilogue(448, 0, {.output = OutputType::kE4M3, .alpha = 2, .scale_d = &scale_d}), 224);
}

TEST(Output, BitsAreThoseOfTheStorageTypeAndNanIsCanonical) {
  EXPECT_EQ(output_bits(-1, OutputType::kFP32), 0xbf800000u);
  EXPECT_EQ(output_bits(-1, OutputType::kBF16), 0xbf80u);
  EXPECT_EQ(output_bits(-1, OutputType::kFP16), 0xbc00u);
  EXPECT_EQ(output_bits(-1, OutputType::kE4M3), 0xb8u);
  EXPECT_EQ(output_bits(-1, OutputType::kE5M2), 0xbcu);
  const float nan = std::bit_cast<float>(0xffc00001u);
  EXPECT_EQ(output_bits(nan, OutputType::kFP32), 0x7fffffffu);
  EXPECT_EQ(output_bits(nan, OutputType::kBF16), 0x7fffu);
  EXPECT_EQ(output_bits(nan, OutputType::kFP16), 0x7fffu);
  EXPECT_EQ(output_bits(nan, OutputType::kE4M3), 0x7fu);
  EXPECT_EQ(output_bits(nan, OutputType::kE5M2), 0x7fu);
}

}  // namespace
}  // namespace samebits::reference
