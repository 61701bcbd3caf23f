#include "harness/core/loss.h"

#include <gtest/gtest.h>

#include "harness/core/values.h"

namespace samebits {
namespace {

HostTensor bf16(const std::vector<double>& values) {
  std::vector<std::uint16_t> bits;
  for (const double value : values) bits.push_back(to_bf16(value));
  return HostTensor::of<std::uint16_t>(DType::kBF16, {1, std::ssize(bits)}, bits);
}

LayerInputs inputs(std::int64_t out) {
  LayerInputs result;
  result.layer = "layer";
  result.tokens = 1;
  result.in = 16;
  result.out = out;
  return result;
}

TEST(Loss, IsHalfTheSquaredDistanceFromTheTarget) {
  const LayerInputs made = inputs(3);
  const HostTensor y = bf16({1, -2, 100});
  const HostTensor target = made.target(5);
  double loss = 0;
  std::vector<double> difference;
  for (std::int64_t i = 0; i < 3; ++i) {
    difference.push_back(value_at(y, i) - value_at(target, i));
    loss += difference.back() * difference.back() / 2;
  }
  const LossAndGradient result = loss_and_gradient(y, made, 5);
  EXPECT_EQ(result.loss, loss);
  EXPECT_GT(result.loss, 1000);
  EXPECT_EQ(result.dy.dtype, DType::kBF16);
  EXPECT_EQ(result.dy.shape, y.shape);
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(bits_at(result.dy, i), to_bf16(difference[static_cast<std::size_t>(i)])) << i;
  }
}

TEST(Loss, IsZeroAtTheTarget) {
  const LayerInputs made = inputs(64);
  const LossAndGradient result = loss_and_gradient(made.target(2), made, 2);
  EXPECT_EQ(result.loss, 0);
  for (std::int64_t i = 0; i < 64; ++i) EXPECT_EQ(bits_at(result.dy, i), 0U);
}

TEST(Loss, OfACapturedGradientIsItsInnerProductWithTheOutput) {
  LayerInputs captured = inputs(3);
  captured.dy =
      HostTensor::of<float>(DType::kF32, {2, 1, 3}, std::vector<float>{9, 9, 9, 1, 0.5, -3});
  const LossAndGradient result = loss_and_gradient(bf16({1, -2, 100}), captured, 3);
  EXPECT_EQ(result.loss, 1 - 1 - 300);
  EXPECT_EQ(result.dy.dtype, DType::kF32);  // as it was captured
  EXPECT_EQ(result.dy.at<float>(2), -3);
}

}  // namespace
}  // namespace samebits
