// The data that a layer is trained on.
#include "harness/core/layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

#include "harness/core/values.h"

namespace samebits {
namespace {

LayerInputs inputs(const std::string& layer = "layer", std::int64_t in = 640) {
  LayerInputs result;
  result.layer = layer;
  result.tokens = 64;
  result.in = in;
  result.out = 256;
  return result;
}

bool same(const HostTensor& a, const HostTensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
}

double mean_square(const HostTensor& matrix, std::int64_t col) {
  double sum = 0;
  const std::int64_t rows = matrix.shape[0], cols = matrix.shape[1];
  for (std::int64_t row = 0; row < rows; ++row) {
    sum += std::pow(value_at(matrix, row * cols + col), 2);
  }
  return sum / static_cast<double>(rows);
}

// Channels whose mean square is far beyond 1 (64 values: 5 would be 22 standard errors).
std::set<std::int64_t> outliers(const HostTensor& matrix) {
  std::set<std::int64_t> result;
  for (std::int64_t col = 0; col < matrix.shape[1]; ++col) {
    if (mean_square(matrix, col) > 25) result.insert(col);
  }
  return result;
}

TEST(MadeInputs, AreTheSameForAnySetOfLayers) {
  const HostTensor alone = inputs("a").activation(3);
  inputs("b").activation(3);
  EXPECT_TRUE(same(inputs("a").activation(3), alone));
  EXPECT_TRUE(same(inputs("a").target(3), inputs("a").target(3)));
}

TEST(MadeInputs, DifferByLayerSeedPurposeAndIndex) {
  LayerInputs square = inputs("a", 256);
  const HostTensor x = square.activation(0);
  EXPECT_FALSE(same(x, square.activation(1)));
  EXPECT_FALSE(same(x, square.evaluation(0)));
  EXPECT_FALSE(same(x, square.target(0)));
  EXPECT_FALSE(same(x, inputs("b", 256).activation(0)));
  square.seed = 1;
  EXPECT_FALSE(same(x, square.activation(0)));
}

TEST(MadeInputs, AreFiniteBF16OfTheLayersShape) {
  for (const HostTensor& x : {inputs().activation(0), inputs().evaluation(0)}) {
    EXPECT_EQ(x.dtype, DType::kBF16);
    EXPECT_EQ(x.shape, (Shape{64, 640}));
    EXPECT_EQ(count_non_finite(x), 0);
  }
  EXPECT_EQ(inputs().target(0).dtype, DType::kBF16);
  EXPECT_EQ(inputs().target(0).shape, (Shape{64, 256}));
  EXPECT_EQ(inputs().gradient(0), std::nullopt);
}

// The bits are part of what a report can be repeated from: pinned, so that a change is seen.
TEST(MadeInputs, AreTheseBits) {
  LayerInputs tiny = inputs("layers.0.attention.wq", 4);
  tiny.tokens = 1;
  std::vector<std::uint64_t> bits;
  for (std::int64_t i = 0; i < 4; ++i) bits.push_back(bits_at(tiny.activation(0), i));
  EXPECT_EQ(bits, (std::vector<std::uint64_t>{0xbee2, 0xbf28, 0xbdb8, 0x3ee1}));
}

TEST(MadeInputs, AreAboutNormalOutsideTheOutlierChannels) {
  const HostTensor target = inputs().target(0);
  double sum = 0, squares = 0;
  std::int64_t beyond_two = 0;
  const std::int64_t count = element_count(target.shape);
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = value_at(target, i);
    sum += value;
    squares += value * value;
    beyond_two += std::abs(value) > 2;
  }
  const auto n = static_cast<double>(count);
  EXPECT_LT(std::abs(sum / n), 5 / std::sqrt(n));                  // five standard errors
  EXPECT_LT(std::abs(squares / n - 1), 5 * std::sqrt(2 / n));      // the same of the variance
  EXPECT_NEAR(static_cast<double>(beyond_two) / n, 0.0455, 0.01);  // of a normal distribution
}

TEST(MadeInputs, HaveAFewChannelsTwentyToSixtyTimesAsLarge) {
  const HostTensor x = inputs().activation(0);
  const auto channels = outliers(x);
  EXPECT_GE(channels.size(), 3U);  // 10 expected of 640
  EXPECT_LE(channels.size(), 25U);
  double least = 60, most = 20;
  for (const std::int64_t channel : channels) {
    const double gain = std::sqrt(mean_square(x, channel));
    least = std::min(least, gain);
    most = std::max(most, gain);
    EXPECT_GT(gain, 20 * 0.5);
    EXPECT_LT(gain, 60 * 1.5);
  }
  EXPECT_GT(most, 2 * least);
}

TEST(MadeInputs, KeepTheirOutlierChannelsFromOneMicrobatchToTheNext) {
  EXPECT_EQ(outliers(inputs().activation(0)), outliers(inputs().activation(7)));
  EXPECT_EQ(outliers(inputs().activation(0)), outliers(inputs().evaluation(0)));
  EXPECT_NE(outliers(inputs("a").activation(0)), outliers(inputs("b").activation(0)));
}

TEST(CapturedInputs, WrapModuloTheirSlices) {
  std::vector<float> values(3 * 2 * 4);
  std::iota(values.begin(), values.end(), 0.0F);
  LayerInputs captured = inputs("layer", 4);
  captured.x = captured.dy = HostTensor::of<float>(DType::kF32, {3, 2, 4}, values);
  for (const std::int64_t index : {0, 1, 2, 3, 7}) {
    const HostTensor x = captured.activation(index);
    EXPECT_EQ(x.dtype, DType::kF32);
    EXPECT_EQ(x.shape, (Shape{2, 4}));
    EXPECT_EQ(x.bytes.size(), 32U);
    EXPECT_EQ(x.at<float>(0), static_cast<float>(index % 3) * 8);
    EXPECT_TRUE(same(captured.gradient(index).value(), x));
  }
}

TEST(CapturedInputs, LeaveEvaluationsMade) {
  LayerInputs captured = inputs();
  captured.x = HostTensor::of<float>(DType::kF32, {1, 1, 640}, std::vector<float>(640));
  EXPECT_TRUE(same(captured.evaluation(0), inputs().evaluation(0)));
}

}  // namespace
}  // namespace samebits
