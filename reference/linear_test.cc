#include "reference/linear.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace samebits::reference {
namespace {

using enum Granularity;

bool same_bits(const Matrix& a, const Matrix& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(float)) == 0;
}

Matrix random_bf16(std::mt19937& random, Eigen::Index rows, Eigen::Index cols) {
  std::normal_distribution<float> normal;
  return Matrix::NullaryExpr(rows, cols,
                             [&](auto, auto) { return cast(normal(random), OutputType::kBF16); });
}

// Sizes that are not multiples of any block, and all different.
LinearInputs inputs() {
  std::mt19937 random(4);
  LinearInputs in;
  in.x = random_bf16(random, 150, 140);
  in.w = random_bf16(random, 130, 140);
  in.dy = random_bf16(random, 150, 130);
  return in;
}

Quantized make(const Matrix& x, Granularity granularity, Fp8 format, bool power_of_two,
               float largest = std::numeric_limits<float>::max()) {
  return quantize(x,
                  {.granularity = granularity,
                   .rule = {.format = format, .power_of_two = power_of_two, .largest = largest}});
}

TEST(LinearCurrent, ComposesTensorwiseGemmsWithFastFprop) {
  const LinearInputs in = inputs();
  const Matrix main_grad = Matrix::Ones(130, 140);
  const auto out = linear(in, {RecipeKind::kCurrent, false, true}, main_grad, 1);

  const Quantized x = make(in.x, kTensor, Fp8::kE4M3, false), x_t = transpose(x);
  const Quantized w = make(in.w, kTensor, Fp8::kE4M3, false), w_t = transpose(w);
  const Quantized dy = make(in.dy, kTensor, Fp8::kE5M2, false), dy_t = transpose(dy);
  EXPECT_TRUE(same_bits(out.y, gemm({.a = &w, .b = &x}, {.model = hopper(true)})));
  EXPECT_TRUE(same_bits(out.dx, gemm({.a = &w_t, .b = &dy}, {})));
  const GemmSpec wgrad{.output = OutputType::kFP32, .beta = 1, .in_place = true};
  EXPECT_TRUE(same_bits(out.dw, gemm({.a = &x_t, .b = &dy_t, .c = &main_grad}, wgrad)));
}

TEST(LinearBlock, QuantisesActivationsAlongEachDirectionAndTransposesWeights) {
  const LinearInputs in = inputs();
  const Matrix main_grad = Matrix::Zero(130, 140);
  const auto out = linear(in, {RecipeKind::kBlock, true, false}, main_grad, 0);

  const Quantized x = make(in.x, k1x128, Fp8::kE4M3, true);
  const Quantized x_t = make(in.x.transpose(), k1x128, Fp8::kE4M3, true);
  const Quantized w = make(in.w, k128x128, Fp8::kE4M3, true), w_t = transpose(w);
  const Quantized dy = make(in.dy, k1x128, Fp8::kE4M3, true);
  const Quantized dy_t = make(in.dy.transpose(), k1x128, Fp8::kE4M3, true);
  EXPECT_TRUE(same_bits(out.y, gemm({.a = &w, .b = &x}, {})));
  EXPECT_TRUE(same_bits(out.dx, gemm({.a = &w_t, .b = &dy}, {})));
  EXPECT_TRUE(same_bits(out.dw, gemm({.a = &x_t, .b = &dy_t}, {.output = OutputType::kFP32})));
}

TEST(LinearBlock, BoundsAnInfiniteScaleByTheInputsOwnType) {
  LinearInputs in = inputs();
  in.w.setConstant(0x1p-126f);
  const Matrix main_grad = Matrix::Zero(130, 140);
  const LinearRecipe recipe{RecipeKind::kBlock, false, false};
  const auto with_type = [&](InputType type) {
    in.w_type = type;
    return linear(in, recipe, main_grad, 0).y;
  };
  const Quantized x = make(in.x, k1x128, Fp8::kE4M3, false);
  const Quantized w = make(in.w, k128x128, Fp8::kE4M3, false, BF16::max().value());
  EXPECT_TRUE(same_bits(with_type(InputType::kBF16), gemm({.a = &w, .b = &x}, {})));
  EXPECT_FALSE(same_bits(with_type(InputType::kBF16), with_type(InputType::kFP16)));
}

TEST(LinearMx, MultipliesByTheModelPublishedForBlackwell) {
  const LinearInputs in = inputs();
  const Matrix main_grad = Matrix::Ones(130, 140);
  const auto out = linear(in, {RecipeKind::kMx, true, true}, main_grad, 1);

  const Quantized x = make(in.x, k1x32, Fp8::kE4M3, true), w = make(in.w, k1x32, Fp8::kE4M3, true);
  const Quantized x_t = make(in.x.transpose(), k1x32, Fp8::kE4M3, true);
  const Quantized w_t = make(in.w.transpose(), k1x32, Fp8::kE4M3, true);
  const Quantized dy = make(in.dy, k1x32, Fp8::kE5M2, true);
  const Quantized dy_t = make(in.dy.transpose(), k1x32, Fp8::kE5M2, true);
  EXPECT_TRUE(same_bits(out.y, gemm({.a = &w, .b = &x}, {.model = blackwell()})));
  EXPECT_TRUE(same_bits(out.dx, gemm({.a = &w_t, .b = &dy}, {.model = blackwell()})));
  const GemmSpec wgrad{
      .model = blackwell(), .output = OutputType::kFP32, .beta = 1, .in_place = true};
  EXPECT_TRUE(same_bits(out.dw, gemm({.a = &x_t, .b = &dy_t, .c = &main_grad}, wgrad)));
}

TEST(Linear, AddsTheBiasToYAlone) {
  LinearInputs in = inputs();
  const Matrix main_grad = Matrix::Zero(130, 140);
  const auto without = linear(in, {}, main_grad, 0);
  const Eigen::VectorXf bias = Eigen::VectorXf::Constant(130, 2);
  in.bias = &bias;
  const auto with = linear(in, {}, main_grad, 0);
  EXPECT_FALSE(same_bits(with.y, without.y));
  EXPECT_TRUE(same_bits(with.dx, without.dx) && same_bits(with.dw, without.dw));
}

TEST(Linear, DoesNotReadMainGradWhereItOverwrites) {
  const LinearInputs in = inputs();
  const Matrix zero = Matrix::Zero(130, 140), poison = Matrix::Constant(130, 140, kCanonicalNan);
  EXPECT_TRUE(same_bits(linear(in, {}, zero, 0).dw, linear(in, {}, poison, 0).dw));
  EXPECT_FALSE(same_bits(linear(in, {}, zero, 1).dw, linear(in, {}, poison, 1).dw));
}

}  // namespace
}  // namespace samebits::reference
