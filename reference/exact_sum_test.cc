#include "reference/exact_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "reference/gemm.h"
#include "reference/test_operands.h"

namespace samebits::reference {
namespace {

__extension__ using Int128 = __int128;

float sum(std::initializer_list<std::pair<std::int64_t, int>> terms) {
  ExactSum result;
  for (const auto& [significand, exponent] : terms) result.add(significand, exponent);
  return result.to_float();
}

TEST(ExactSum, KeepsATermHoweverLargeTheOthersAre) {
  EXPECT_EQ(sum({{1, 300}, {3, -140}, {-1, 300}}), 3 * 0x1p-140f);
  EXPECT_EQ(sum({{-1, 300}, {-3, -140}, {1, 300}}), -3 * 0x1p-140f);
}

TEST(ExactSum, RoundsOnceToNearestEven) {
  EXPECT_EQ(sum({{1, 24}, {1, 0}}), 0x1p24f);                 // a tie, down to even
  EXPECT_EQ(sum({{1, 24}, {3, 0}}), 0x1p24f + 4);             // a tie, up to even
  EXPECT_EQ(sum({{1, 24}, {1, 0}, {1, -300}}), 0x1p24f + 2);  // just above a tie
  EXPECT_EQ(sum({{-1, 24}, {-1, 0}, {1, -300}}), -0x1p24f);   // just below it, negative
}

TEST(ExactSum, HasSubnormalsAndOverflowsToInf) {
  EXPECT_EQ(sum({{1, -150}}), 0);
  EXPECT_EQ(sum({{3, -150}}), 0x1p-148f);
  EXPECT_EQ(sum({{1, -150}, {1, -384}}), 0x1p-149f);
  EXPECT_EQ(sum({{-1, 128}}), -std::numeric_limits<float>::infinity());
}

TEST(ExactSum, OfCancellingTermsIsPlusZero) {
  EXPECT_FALSE(std::signbit(sum({{-5, 10}, {5, 10}})));
  EXPECT_FALSE(std::signbit(sum({})));
}

TEST(ExactSum, EqualsA128BitIntegerForRandomTerms) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    ExactSum exact;
    Int128 integer = 0;
    for (int i = 0; i < 20; ++i) {
      const auto significand = static_cast<std::int64_t>(random());
      const int exponent = static_cast<int>(random() % 58);
      exact.add(significand, exponent - 70);
      integer += static_cast<Int128>(significand) << exponent;
    }
    // The conversion of a 128-bit integer rounds to nearest even.
    EXPECT_EQ(exact.to_float(), std::ldexp(static_cast<float>(integer), -70));
  }
}

// Units of 2^-64: a product of E4M3 values is a multiple of 2^-18, one of scales in [1, 2) of
// 2^-46.
Int128 scaled_product(const Quantized& a, const Quantized& b, Eigen::Index m, Eigen::Index n,
                      Eigen::Index k, float scale_a, float scale_b) {
  const float product = fp8_value(a.codes(m, k), Fp8::kE4M3) * fp8_value(b.codes(n, k), Fp8::kE4M3);
  const auto integer = [](float value, int bits) {
    return static_cast<Int128>(std::ldexp(static_cast<double>(value), bits));
  };
  return integer(product, 18) * integer(scale_a, 23) * integer(scale_b, 23);
}

TEST(ExactModel, EqualsBruteForceInEveryMode) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> scales(1, 2);
  using enum Granularity;
  for (const auto& [mode_a, mode_b] :
       {std::pair{kTensor, kTensor}, {k1x128, k1x128}, {k128x128, k1x128}, {k1x128, k128x128}}) {
    Quantized a = with_unit_scales(random_codes(random, 9, 300), mode_a);
    Quantized b = with_unit_scales(random_codes(random, 7, 300), mode_b);
    if (mode_a != kTensor) {
      a.scale_inv = a.scale_inv.unaryExpr([&](float) { return scales(random); });
      b.scale_inv = b.scale_inv.unaryExpr([&](float) { return scales(random); });
    }
    const Matrix d = gemm({.a = &a, .b = &b}, {.model = exact(), .output = OutputType::kFP32});
    for (Eigen::Index n = 0; n < d.rows(); ++n) {
      for (Eigen::Index m = 0; m < d.cols(); ++m) {
        const auto scale = [&](const Quantized& q, Eigen::Index row, Eigen::Index k) {
          const auto grid = block_grid(q.granularity, q.codes.rows(), q.codes.cols());
          return q.scale_inv(row / grid.block_rows, k / grid.block_cols);
        };
        Int128 total = 0;
        for (Eigen::Index k = 0; k < 300; ++k) {
          total += scaled_product(a, b, m, n, k, scale(a, m, k), scale(b, n, k));
        }
        EXPECT_EQ(d(n, m), std::ldexp(static_cast<float>(total), -64));
      }
    }
  }
}

TEST(ExactModel, LosesNothingToSplitK) {
  const Quantized a = ones(2, 96784), b = ones(2, 96784);
  const Matrix d =
      gemm({.a = &a, .b = &b}, {.model = exact(), .output = OutputType::kFP32, .split_k = 36});
  EXPECT_TRUE((d.array() == 96784).all());
}

TEST(ExactModel, TakesBlockExponentsIntoTheSum) {
  Quantized a = ones(1, 64, Granularity::k1x32), b = ones(1, 64, Granularity::k1x32);
  a.scale_inv << 4, 0x1p-60f;
  b.scale_inv << 0.5, 0x1p-50f;
  const auto total = [&] {
    return gemm({.a = &a, .b = &b}, {.model = exact(), .output = OutputType::kFP32})(0, 0);
  };
  EXPECT_EQ(total(), 32 * 2);
  b.codes.leftCols(16).setConstant(fp8_saturate(-1, Fp8::kE4M3));  // the first block cancels
  EXPECT_EQ(total(), 32 * 0x1p-110f);
}

TEST(ExactModel, LetsSpecialValuesAndScalesFollowTheArithmetic) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto product_with_scale = [](float scale, float value) {
    Quantized a = row_of({value, 1}), b = row_of({1, 1});
    a.granularity = b.granularity = Granularity::k1x128;
    a.scale_inv(0, 0) = scale;
    return gemm({.a = &a, .b = &b}, {.model = exact(), .output = OutputType::kFP32})(0, 0);
  };
  EXPECT_EQ(product_with_scale(inf, 1), inf);
  EXPECT_TRUE(std::isnan(product_with_scale(inf, 0)));
  EXPECT_TRUE(std::isnan(product_with_scale(inf, -1)));
  EXPECT_EQ(product_with_scale(0, 1), 0);
  EXPECT_EQ(product_with_scale(-0x1p-149f, 1), -0x1p-148f);
}

}  // namespace
}  // namespace samebits::reference
