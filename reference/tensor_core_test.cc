#include "reference/tensor_core.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <stdexcept>

#include "reference/test_operands.h"

namespace samebits::reference {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float dot(const AccumulationModel& model, const Quantized& a, const Quantized& b) {
  const Operand operand_a(a), operand_b(b);
  return promoted_chains(model, operand_a.row(0), operand_b.row(0), 0, a.codes.cols());
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

AccumulationModel changed(void (*change)(AccumulationModel&)) {
  AccumulationModel model = hopper(false);
  change(model);
  return model;
}

TEST(FusedSum, KeepsATermOfThirteenBitsBelowTheLargestAndDropsTheNext) {
  EXPECT_EQ(dot(hopper(false), row_of({1, 0x1p-6f}), row_of({1, 0x1p-7f})), 1 + 0x1p-13f);
  EXPECT_EQ(dot(hopper(false), row_of({1, 0x1p-7f}), row_of({1, 0x1p-7f})), 1);
}

TEST(FusedSum, DropsEachTermByItselfAlsoWhereTheirSumWouldCount) {
  const Quantized q = row_of({1, 0x1p-7f, 0x1p-7f});
  EXPECT_EQ(dot(hopper(false), q, q), 1);
  const auto wider = changed([](AccumulationModel& m) { m.aligned_fraction_bits = 14; });
  EXPECT_EQ(dot(wider, q, q), 1 + 0x1p-13f);
}

TEST(FusedSum, AlignsThirtyTwoProductsToOneExponent) {
  Quantized q = row_of({0x1p-7f, 0x1p-7f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  EXPECT_EQ(dot(hopper(false), q, q), 1);
  const auto sixteen = changed([](AccumulationModel& m) { m.products_per_sum = 16; });
  EXPECT_EQ(dot(sixteen, q, q), 1 + 0x1p-13f);
}

TEST(FusedSum, CutsItsResultAndDoesNotRoundIt) {
  // 4 + 1.5 * 2^-12, three quarters of a step above 4.
  const Quantized a = row_of({1, 1, 1, 1, 0x1p-6f, 0x1p-6f});
  const Quantized b = row_of({1, 1, 1, 1, 0x1p-6f, 0x1p-7f});
  EXPECT_EQ(dot(hopper(false), a, b), 4);
  const auto rounded = changed([](AccumulationModel& m) { m.result_cut = Cut::kNearestEven; });
  EXPECT_EQ(dot(rounded, a, b), 4 + 0x1p-11f);
}

TEST(FusedSum, DropsATermHoweverFarBelowTheLargestItIs) {
  const Quantized a = row_of({448, 0x1p-9f}), b = row_of({57344, 0x1p-16f}, Fp8::kE5M2);
  EXPECT_EQ(dot(hopper(false), a, b), 448 * 57344);
}

TEST(FusedSum, CutsTermsTowardZeroWhateverTheirSign) {
  const Quantized a = row_of({1, -0x1p-7f}), b = row_of({1, 0x1p-7f});
  EXPECT_EQ(dot(hopper(false), a, b), 1);
  const auto floored = changed([](AccumulationModel& m) { m.aligned_cut = Cut::kFloor; });
  EXPECT_EQ(dot(floored, a, b), 1 - 0x1p-13f);
}

TEST(FusedSum, TakesAProductsExponentAsTheSumOfItsOperandsExponents) {
  // 1.5 * 1.5 = 2.25 keeps exponent 0, so that terms of 2^-13 still count.
  const Quantized a = row_of({1.5, 0x1p-6f, 0x1p-6f}), b = row_of({1.5, 0x1p-7f, 0x1p-7f});
  EXPECT_EQ(dot(hopper(false), a, b), 2.25f + 0x1p-12f);
  const auto normalised = changed([](AccumulationModel& m) { m.normalise_products = true; });
  EXPECT_EQ(dot(normalised, a, b), 2.25f);
}

TEST(FusedSum, LeavesASubnormalOperandAtTheFormatsLeastExponent) {
  // 2^-9 * 448 = 0.875 counts with exponent -6 + 8 = 2: a term of 2^-12 is below its 13 bits.
  EXPECT_EQ(dot(hopper(false), row_of({0x1p-9f, 0x1p-6f}), row_of({448, 0x1p-6f})), 0.875f);
  const auto normalised = changed([](AccumulationModel& m) { m.normalise_products = true; });
  EXPECT_EQ(dot(normalised, row_of({0x1p-9f, 0x1p-6f}), row_of({448, 0x1p-6f})), 0.875f + 0x1p-12f);
}

TEST(FusedSum, CutsItsResultToThirteenBitsBelowItsLeadingBit) {
  const Quantized a = row_of({1, 1, 1, 1, 0x1p-6f}), b = row_of({1, 1, 1, 1, 0x1p-7f});
  EXPECT_EQ(dot(hopper(false), a, b), 4);
  const auto full = changed([](AccumulationModel& m) { m.result_fraction_bits = 23; });
  EXPECT_EQ(dot(full, a, b), 4 + 0x1p-13f);
}

TEST(FusedSum, IgnoresTheExponentOfAZeroProduct) {
  EXPECT_EQ(dot(hopper(false), row_of({0, 0x1p-9f, 448}), row_of({448, 0x1p-9f, -0.0f})), 0x1p-18f);
}

TEST(FusedSum, GivesPlusZeroForNoTermAndForCancellation) {
  EXPECT_EQ(bits(dot(hopper(true), row_of({-0.0f, 0}), row_of({1, 1}))), 0u);
  EXPECT_EQ(bits(dot(hopper(true), row_of({-1, 1}), row_of({1, 1}))), 0u);
}

TEST(FusedSum, PassesInfOnAndMakesEveryNanCanonical) {
  using enum Fp8;
  const auto e5m2 = [](std::initializer_list<std::uint8_t> codes) {
    Codes row(1, static_cast<Eigen::Index>(codes.size()));
    std::copy(codes.begin(), codes.end(), row.data());
    return with_unit_scales(row, Granularity::kTensor, kE5M2);
  };
  constexpr std::uint8_t kPlusInf = 0x7c, kMinusInf = 0xfc, kNegativeNan = 0xfe;
  EXPECT_EQ(dot(hopper(false), row_of({1, 1}), e5m2({kMinusInf, 0})), -kInf);
  EXPECT_EQ(bits(dot(hopper(false), row_of({1, 1}), e5m2({kPlusInf, kMinusInf}))), 0x7fffffffu);
  EXPECT_EQ(bits(dot(hopper(false), row_of({0, 1}), e5m2({kPlusInf, 0}))), 0x7fffffffu);
  EXPECT_EQ(bits(dot(hopper(false), row_of({0, 1}), e5m2({kNegativeNan, 0}))), 0x7fffffffu);
}

TEST(FusedSum, LetsASpecialOutliveTheSumsThatFollow) {
  Quantized a = ones(1, 256), b = ones(1, 256);
  b.format = Fp8::kE5M2;
  b.codes.setConstant(0x3c);  // 1
  b.codes(0, 3) = 0x7c;       // Inf
  EXPECT_EQ(dot(hopper(true), a, b), kInf);
  EXPECT_EQ(dot(hopper(false), a, b), kInf);
  b.codes(0, 200) = 0xfc;
  EXPECT_EQ(bits(dot(hopper(true), a, b)), bits(kCanonicalNan));
}

TEST(Chain, OfAdaSumsSixteenProductsAtATime) {
  // The second sum starts from c = 16, whose exponent 4 cuts the small terms at 2^-9.
  Quantized a = ones(1, 32), b = ones(1, 32);
  b.codes.rightCols(16).setConstant(fp8_saturate(0x1p-9f, Fp8::kE4M3));
  EXPECT_EQ(dot(ada(true), a, b), 16 + 0x1p-5f);
  b.codes.rightCols(16).setConstant(fp8_saturate(0x1p-9f, Fp8::kE4M3));
  a.codes.rightCols(16).setConstant(fp8_saturate(0x1p-1f, Fp8::kE4M3));
  EXPECT_EQ(dot(ada(true), a, b), 16);
  EXPECT_EQ(dot(hopper(true), a, b), 16 + 0x1p-6f);
}

TEST(Chain, OfBlackwellKeepsTwentyFiveBitsAndAnFp32Result) {
  EXPECT_EQ(dot(blackwell(), row_of({1, 0x1p-9f}), row_of({1, 0x1p-9f})), 1 + 0x1p-18f);
  EXPECT_FALSE(blackwell().measured);
}

TEST(Chain, AddsBlockExponentsToEachProduct) {
  Quantized a = ones(1, 64, Granularity::k1x32), b = ones(1, 64, Granularity::k1x32);
  a.scale_inv << 4, 0x1p-10f;
  b.scale_inv << 0.5, 0x1p-9f;
  EXPECT_EQ(dot(blackwell(), a, b), 64 + 32 * 0x1p-19f);
  b.scale_inv(0, 1) = 0x1p-10f;  // 2^-20 against c = 64, exponent 6: cut at 2^-19
  EXPECT_EQ(dot(blackwell(), a, b), 64);
}

TEST(Chain, OfANanBlockScaleIsNanAndOfAnOverflowInf) {
  Quantized a = ones(1, 32, Granularity::k1x32), b = ones(1, 32, Granularity::k1x32);
  a.scale_inv(0, 0) = kNan;
  EXPECT_EQ(bits(dot(blackwell(), a, b)), bits(kCanonicalNan));
  a.scale_inv(0, 0) = b.scale_inv(0, 0) = 0x1p127f;
  EXPECT_EQ(dot(blackwell(), a, b), kInf);
  a.scale_inv(0, 0) = b.scale_inv(0, 0) = 0x1p-127f;
  EXPECT_EQ(bits(dot(blackwell(), a, b)), 0u);
  a.scale_inv(0, 0) = 0x1p-19f;
  EXPECT_EQ(dot(blackwell(), a, b), 0x1p-141f);  // an FP32 subnormal
}

TEST(Chain, ThatOverflowsStaysInf) {
  Quantized a = ones(1, 64, Granularity::k1x32), b = ones(1, 64, Granularity::k1x32);
  a.scale_inv.setConstant(0x1p127f);
  b.codes.rightCols(32).setConstant(fp8_saturate(-1, Fp8::kE4M3));
  EXPECT_EQ(dot(blackwell(), a, b), kInf);  // the second block would cancel the first
  b.codes.rightCols(32).setZero();
  EXPECT_EQ(dot(blackwell(), a, b), kInf);
}

TEST(Operand, RefusesABlockScaleThatIsNoPowerOfTwo) {
  Quantized a = ones(1, 32, Granularity::k1x32);
  for (const float bad : {3.0f, 0.0f, -1.0f, kInf, 0x1p-128f}) {
    a.scale_inv(0, 0) = bad;
    EXPECT_THROW(Operand{a}, std::invalid_argument) << bad;
  }
}

TEST(Model, RefusesNumbersOutsideItsRange) {
  EXPECT_NO_THROW(check(hopper(true)));
  EXPECT_THROW(check(changed([](auto& m) { m.products_per_sum = 33; })), std::invalid_argument);
  EXPECT_THROW(check(changed([](auto& m) { m.products_per_sum = 0; })), std::invalid_argument);
  EXPECT_THROW(check(changed([](auto& m) { m.aligned_fraction_bits = 33; })),
               std::invalid_argument);
  EXPECT_THROW(check(changed([](auto& m) { m.result_fraction_bits = 24; })), std::invalid_argument);
  EXPECT_THROW(check(changed([](auto& m) { m.promotion_interval = -1; })), std::invalid_argument);
  EXPECT_THROW(check(changed([](auto& m) { m.block_exponents = true, m.products_per_sum = 24; })),
               std::invalid_argument);
}

}  // namespace
}  // namespace samebits::reference
