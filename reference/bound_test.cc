// The bound against exact results: never below an error, and not far above the largest.
#include "reference/bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "reference/bound_cases.h"

namespace samebits::reference {
namespace {

using enum Granularity;
using Eigen::Index;

constexpr double kInf = std::numeric_limits<double>::infinity();

constexpr std::uint32_t kCases = 1500;

TEST(ErrorBound, IsNeverBelowTheErrorOfAnyModelModeAndOutput) {
  int bounded = 0, outputs = 0;
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    Case x = random_case(seed);
    aim(x);
    const Judged judged = judge(x);
    ASSERT_TRUE(judged.holds()) << "case " << seed << ": " << judged.worst_ratio << " of the bound";
    bounded += judged.bounded;
    outputs += judged.outputs;
  }
  EXPECT_GT(bounded, outputs * 3 / 4);
}

TEST(ErrorBound, OfNormsIsNeverBelowTheErrorNorBelowTheBoundOfTheOperands) {
  int bounded = 0;
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    Case x = random_case(seed);
    aim(x);
    const double bound = error_bound(norms_of(x), x.spec);
    const Judged judged = judge(x, x.run(), [bound](Index, Index) { return bound; });
    ASSERT_TRUE(judged.holds()) << "case " << seed << ": " << judged.worst_ratio << " of the bound";
    ASSERT_GE(bound * (1 + 0x1p-18), judge(x).largest_bound) << "case " << seed;
    bounded += judged.bounded > 0;
  }
  EXPECT_GT(bounded, static_cast<int>(kCases) / 2);
}

struct NamedModel {
  const char* name;
  AccumulationModel model;
  double factor;  // the bound is within this of the largest error of ordinary operands
};
const NamedModel kChips[] = {{"hopper", hopper(false), 400},
                             {"hopper fast", hopper(true), 400},
                             {"ada", ada(false), 400},
                             {"ada fast", ada(true), 400},
                             {"blackwell", blackwell(), 400}};

Case fp32_case(Quantized a, Quantized b, const AccumulationModel& model) {
  Case x{.a = std::move(a), .b = std::move(b), .c = {}, .bias = {}, .spec = {}};
  x.spec.model = model;
  x.spec.output = OutputType::kFP32;
  return x;
}

// Normal values, sigma 1/8 of E4M3's largest number: as a recipe's scale leaves them.
Quantized gaussian(std::mt19937& random, Index rows, Index k) {
  std::normal_distribution<float> normal(0, 56);
  const Matrix values = Matrix(rows, k).unaryExpr([&](float) { return normal(random); });
  return quantize(values, {});
}

TEST(ErrorBound, IsWithinAFactorOfTheLargestErrorOfGaussianOperands) {
  std::mt19937 random(1);
  const Quantized a = gaussian(random, 16, 4096), b = gaussian(random, 16, 4096);
  for (const auto& [name, model, factor] : kChips) {
    const Judged judged = judge(fp32_case(a, b, model));
    ASSERT_TRUE(judged.holds()) << name;
    ASSERT_EQ(judged.bounded, judged.outputs) << name;
    const double found = judged.largest_bound / judged.largest_error;
    RecordProperty(name, std::to_string(found));
    EXPECT_LT(found, factor) << name;
  }
}

// One product of exponent 8 and others just below the unit that the sum is cut to, all lost.
Case losing(const AccumulationModel& model, int aligned_bits) {
  const int products = model.products_per_sum;
  Quantized a = ones(1, products), b = ones(1, products);
  a.codes(0, 0) = b.codes(0, 0) = fp8_saturate(16, Fp8::kE4M3);
  const int exponent = 8 - (aligned_bits + 2);  // 1.875^2 = 3.5 < 4: the product is below the unit
  const int of_a = exponent / 2, of_b = exponent - of_a;
  for (Index i = 1; i < products; ++i) {
    a.codes(0, i) = fp8_saturate(std::ldexp(1.875f, of_a), Fp8::kE4M3);
    b.codes(0, i) = fp8_saturate(std::ldexp(1.875f, of_b), Fp8::kE4M3);
  }
  return fp32_case(a, b, model);
}

TEST(ErrorBound, IsNearlyReached) {
  for (const auto& model : {hopper(false), hopper(true), ada(false)}) {
    const Judged judged = judge(losing(model, model.aligned_fraction_bits));
    EXPECT_TRUE(judged.holds());
    EXPECT_GT(judged.worst_ratio, 0.7) << model.name;
  }
}

TEST(ErrorBound, CountsTheAccumulatorAmongTheTermsThatAreCut) {
  AccumulationModel model = hopper(true);
  model.products_per_sum = 1;
  model.aligned_fraction_bits = 2;
  model.result_fraction_bits = 23;
  // To multiples of 2^-2: c = 0.21875 is lost, 1.375 * 1.625 = 2.234375 becomes 2.
  const Case x = fp32_case(row_of({0.21875f, 1.375f}), row_of({1, 1.625f}), model);
  EXPECT_EQ(x.run()(0, 0), 2);
  const Judged judged = judge(x);
  EXPECT_TRUE(judged.holds());
  EXPECT_GT(judged.largest_error, 1.8 * 0x1p-2);
}

TEST(ErrorBound, IsBrokenByFourAlignedBitsLess) {
  AccumulationModel mutant = hopper(false);
  mutant.aligned_fraction_bits -= 4;
  const Case run = losing(mutant, mutant.aligned_fraction_bits);
  Case claimed = run;
  claimed.spec.model = hopper(false);
  const Judged judged = judge(run, run.run(), ErrorBound(claimed.inputs(), claimed.spec));
  EXPECT_GT(judged.worst_ratio, 8);
  EXPECT_TRUE(judge(run).holds());  // the mutant's own bound allows it
}

TEST(ErrorBound, OfOneInstructionIsItsFormula) {
  // 32 products of 1 and c = 0: 33 terms less the missing c, cut at 2^-13; the sum 32 at 2^-8.
  const Case x = fp32_case(ones(1, 32), ones(1, 32), hopper(true));
  const double cuts = 32 * 0x1p-13, result = (32 + cuts) * 0x1p-13;
  const double bound = ErrorBound(x.inputs(), x.spec)(0, 0);
  EXPECT_GE(bound, cuts + result);
  EXPECT_LE(bound, (cuts + result) * 1.00001);
}

TEST(ErrorBound, GrowsWithTheSquareOfKWithoutPromotionAndWithKWhereItPromotes) {
  const auto bound = [](bool fast, std::int64_t k) {
    GemmNorms norms;
    norms.k = k;
    norms.a.largest = norms.b.largest = 1;
    GemmSpec spec{.model = hopper(fast), .output = OutputType::kFP32};
    return error_bound(norms, spec);
  };
  const auto near = [](double ratio, double to) { return std::abs(ratio / to - 1) < 0.1; };
  EXPECT_TRUE(near(bound(false, 8192) / bound(false, 4096), 2));
  // (33 + 1) 2^-13 |c|, and |c| grows by 32 each time; e^x - 1 - x to the second order is x^2 / 2.
  EXPECT_TRUE(near(bound(true, 1024) / bound(true, 512), 4));
  EXPECT_TRUE(near(bound(true, 512), 34 * 0x1p-13 * 32 * 16 * 15 / 2));
}

TEST(ErrorBound, OfTheExactModelIsTheRoundingOfItsResult) {
  std::mt19937 random(2);
  const Case x = fp32_case(with_unit_scales(gaussian(random, 4, 512).codes),
                           with_unit_scales(gaussian(random, 4, 512).codes), exact());
  const Judged judged = judge(x);
  EXPECT_TRUE(judged.holds());
  EXPECT_LE(judged.largest_bound, 1.001 * 0x1p-24 * x.run().cwiseAbs().maxCoeff());
}

TEST(ErrorBound, OfZeroOperandsIsZero) {
  for (const auto& [name, model, factor] : kChips) {
    std::mt19937 random(3);
    const Codes zeros = Codes::Zero(2, 512);
    const Case x =
        fp32_case(with_unit_scales(zeros), with_unit_scales(random_codes(random, 2, 512)), model);
    EXPECT_EQ(ErrorBound(x.inputs(), x.spec)(1, 1), 0) << name;
    EXPECT_EQ(error_bound(norms_of(x), x.spec), 0) << name;
  }
}

TEST(ErrorBound, CountsALostTailInFull) {
  Case x = fp32_case(ones(1, 96784), ones(1, 96784), hopper(false));
  x.spec.split_k = 36;
  const double lost = ErrorBound(x.inputs(), x.spec)(0, 0);
  x.spec.split_k = 37;  // covers K
  const double covered = ErrorBound(x.inputs(), x.spec)(0, 0);
  x.spec.split_k = 36;
  EXPECT_EQ(summed_k(96784, 36, kTensor, kTensor), 96768);
  EXPECT_TRUE(judge(x).holds());
  EXPECT_NEAR(lost - covered, 16, 1);
}

TEST(ErrorBound, IsInfiniteWhereAnythingIsNotFinite) {
  const auto bound = [](const auto& spoil) {
    Case x = fp32_case(ones(2, 64), ones(2, 64), hopper(false));
    x.c = Matrix::Ones(2, 2);
    x.bias = Eigen::VectorXf::Ones(2);
    x.has_bias = true;
    x.spec.beta = 0.5f;
    spoil(x);
    return ErrorBound(x.inputs(), x.spec)(1, 1);
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_LT(bound([](Case&) {}), 1);
  EXPECT_EQ(bound([](Case& x) { x.a.codes(1, 63) = 0x7f; }), kInf);
  EXPECT_EQ(bound([](Case& x) { x.b.format = Fp8::kE5M2, x.b.codes(1, 0) = 0x7c; }), kInf);
  EXPECT_EQ(bound([](Case& x) { x.a.scale_inv(0) = kNan; }), kInf);
  EXPECT_EQ(bound([](Case& x) { x.b.scale_inv(0) = static_cast<float>(kInf); }), kInf);
  EXPECT_EQ(bound([](Case& x) { x.c(1, 1) = kNan; }), kInf);
  EXPECT_EQ(bound([](Case& x) { x.bias(1) = -static_cast<float>(kInf); }), kInf);
  EXPECT_EQ(bound([](Case& x) { x.spec.alpha = kNan; }), kInf);
  EXPECT_LT(bound([](Case& x) { x.a.codes(0, 63) = 0x7f; }), 1);  // of another row
}

TEST(ErrorBound, IsInfiniteWhereAnOverflowCannotBeExcludedUnlessTheOutputSaturates) {
  Case x = fp32_case(ones(1, 64), ones(1, 64), hopper(false));
  const auto bound = [&] { return ErrorBound(x.inputs(), x.spec)(0, 0); };
  x.spec.output = OutputType::kFP16;
  x.spec.alpha = 1000;
  EXPECT_LT(bound(), 1000);
  x.spec.alpha = 1024;  // 65536
  EXPECT_EQ(bound(), kInf);
  x.spec.output = OutputType::kE4M3;
  EXPECT_GE(bound(), 65536 - 448);
  EXPECT_TRUE(judge(x).holds());
  x.spec.output = OutputType::kFP32;
  x.spec.alpha = 0x1p122f;
  EXPECT_EQ(bound(), kInf);
}

}  // namespace
}  // namespace samebits::reference
