#include "reference/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "reference/test_operands.h"

namespace samebits::reference {
namespace {

using enum Granularity;

constexpr float kInf = std::numeric_limits<float>::infinity();

Matrix fp32(const Quantized& a, const Quantized& b, bool fast = false, int split_k = 1) {
  return gemm({.a = &a, .b = &b},
              {.model = hopper(fast), .output = OutputType::kFP32, .split_k = split_k});
}

bool all_equal(const Matrix& d, float value) { return (d.array() == value).all(); }

TEST(BlockScales, OfBothSidesMultiplyWithinTheirBlockOfK) {
  Quantized a = ones(256, 512, k1x128), b = ones(256, 512, k1x128);
  a.scale_inv = b.scale_inv = Eigen::RowVector4f(1, 2, 4, 8).replicate(256, 1);
  const float right = 128 * (1 + 4 + 16 + 64);
  EXPECT_EQ(right, 10880);
  EXPECT_TRUE(all_equal(fp32(a, b), right));
}

TEST(BlockScales, OfOneSideAndOfBothSides) {
  Quantized a = ones(2, 256, k1x128), b = ones(3, 256, k1x128);
  a.scale_inv = Eigen::RowVector2f(1, 2).replicate(2, 1);
  EXPECT_TRUE(all_equal(fp32(a, b), 384));
  b.scale_inv = Eigen::RowVector2f(1, 2).replicate(3, 1);
  EXPECT_TRUE(all_equal(fp32(a, b), 640));
}

TEST(BlockScales, OfTilesAndOfRowsMeetInTheRightPlace) {
  Quantized a = ones(256, 128, k128x128), b = ones(128, 128, k1x128);
  a.scale_inv << 2, 4;
  b.scale_inv.bottomRows(64).setConstant(8);
  const Matrix d = fp32(a, b);  // [n, m]
  EXPECT_EQ(d(0, 0), 256);
  EXPECT_EQ(d(0, 128), 512);
  EXPECT_EQ(d(64, 0), 2048);
  EXPECT_EQ(d(64, 128), 4096);
}

TEST(BlockScales, AreMultipliedInTheOrderOfTheirMode) {
  // 1x128 on both sides: sa * RN(sb * p). With a tile on one side: RN(sa * sb) * p.
  const float scale_a = 1 + 0x1p-23f, scale_b = 1 + 0x1p-23f, p = 3;
  const auto run = [&](Granularity mode_a, Granularity mode_b) {
    Quantized a = row_of({3}), b = row_of({1});
    a.granularity = mode_a, b.granularity = mode_b;
    a.scale_inv(0, 0) = scale_a, b.scale_inv(0, 0) = scale_b;
    return fp32(a, b)(0, 0);
  };
  const float rows = scale_a * (scale_b * p), tile = (scale_a * scale_b) * p;
  ASSERT_NE(rows, tile);
  EXPECT_EQ(run(k1x128, k1x128), rows);
  EXPECT_EQ(run(k128x128, k1x128), tile);
  EXPECT_EQ(run(k1x128, k128x128), tile);
}

TEST(RowScales, ApplyAsFirstThenBs) {
  Quantized a = row_of({3}), b = row_of({1});
  a.granularity = b.granularity = kRow;
  a.scale_inv(0, 0) = 0x1p127f;
  b.scale_inv(0, 0) = 0x1p-127f;
  EXPECT_EQ(fp32(a, b)(0, 0), kInf);  // 3 * 2^127 overflows before B's scale
  std::swap(a.scale_inv, b.scale_inv);
  EXPECT_EQ(fp32(a, b)(0, 0), 3);
}

TEST(AllOnes, CountKWithPromotionAndStickAt16384Without) {
  for (const int k : {16, 128, 4096, 16384, 16400, 65536}) {
    EXPECT_TRUE(all_equal(fp32(ones(1, k), ones(1, k)), static_cast<float>(k))) << k;
    EXPECT_TRUE(
        all_equal(fp32(ones(1, k), ones(1, k), true), static_cast<float>(std::min(k, 16384))))
        << k;
  }
}

TEST(AllOnes, InBf16AreFirstInexactAt4112) {
  const auto bf16 = [](int k) {
    const Quantized one = ones(1, k);
    return gemm({.a = &one, .b = &one}, {})(0, 0);
  };
  for (int k = 16; k < 4112; k += 16) ASSERT_EQ(bf16(k), k);
  EXPECT_NE(bf16(4112), 4112);
}

TEST(Accumulator, LosesSmallTermsUnderALargeOne) {
  Quantized a = ones(1, 4096);
  a.codes.setConstant(fp8_saturate(0x1p-6f, Fp8::kE4M3));
  a.codes(0, 0) = fp8_saturate(256, Fp8::kE4M3);
  const Quantized b = ones(1, 4096);
  EXPECT_EQ(fp32(a, b)(0, 0), 318);
  EXPECT_EQ(fp32(a, b, true)(0, 0), 256);
  EXPECT_EQ(gemm({.a = &a, .b = &b}, {.model = exact(), .output = OutputType::kFP32})(0, 0),
            319.984375f);
}

TEST(SplitK, LosesTheTailThatNoSliceCovers) {
  EXPECT_TRUE(all_equal(fp32(ones(2, 96784), ones(2, 96784), false, 36), 96768));
  EXPECT_TRUE(all_equal(fp32(ones(2, 295696), ones(1, 295696), false, 33), 295680));
  EXPECT_EQ(summed_k(96784, 36, kTensor, kTensor), 96768);
  EXPECT_EQ(summed_k(295696, 33, kTensor, kTensor), 295680);
  EXPECT_EQ(summed_k(16640, 129, kTensor, kTensor), 16512);
  EXPECT_EQ(summed_k(16640, 129, k128x128, k1x128), 16640);  // slices of 512 instead of 128
}

TEST(SplitK, SumsAllOfKWhereItIsAMultipleOf128AndSlicesAreFew) {
  for (int k = 128; k <= 4096; k += 128) {
    for (int s = 1; s <= std::min(k, 128); ++s) {
      EXPECT_EQ(summed_k(k, s, kRow, kRow), k) << s;
      EXPECT_EQ(summed_k(k, s, k128x128, k1x128), k) << s;
    }
  }
  EXPECT_TRUE(all_equal(fp32(ones(2, 1024), ones(2, 1024), true, 48), 1024));
}

TEST(SplitK, MovesTheRoundingOfTheSum) {
  // One slice: 256 swallows 127 of the 2^-6 in its chain. Slices of 128 do not change that, but
  // with fast accumulation only the first slice is swallowed.
  Quantized a = ones(1, 256);
  a.codes.setConstant(fp8_saturate(0x1p-6f, Fp8::kE4M3));
  a.codes(0, 0) = fp8_saturate(256, Fp8::kE4M3);
  const Quantized b = ones(1, 256);
  EXPECT_EQ(fp32(a, b, true)(0, 0), 256);
  EXPECT_EQ(fp32(a, b, true, 2)(0, 0), 258);
}

TEST(Threads, DoNotChangeBits) {
  std::mt19937 random(3);
  const Quantized a = with_unit_scales(random_codes(random, 37, 2000));
  const Quantized b = with_unit_scales(random_codes(random, 29, 2000));
  const Matrix one = gemm({.a = &a, .b = &b}, {.threads = 1});
  const Matrix two = gemm({.a = &a, .b = &b}, {.threads = 2});
  EXPECT_EQ(
      std::memcmp(one.data(), two.data(), static_cast<std::size_t>(one.size()) * sizeof(float)), 0);
}

struct Bad {
  const char* reason;
  void (*spoil)(Quantized& a, Quantized& b, GemmInputs& in, GemmSpec& spec);
};

constexpr Bad kBad[] = {
    {"missing", [](auto&, auto&, auto& in, auto&) { in.b = nullptr; }},
    {"differ in K", [](auto& a, auto&, auto&, auto&) { a = ones(4, 31); }},
    {"shape of their granularity", [](auto& a, auto&, auto&, auto&) { a.scale_inv.setOnes(2, 1); }},
    {"granularities", [](auto& a, auto&, auto&, auto&) { a = ones(4, 32, kRow); }},
    {"granularities",
     [](auto& a, auto& b, auto&, auto&) { a = ones(4, 32, k128x128), b = ones(4, 32, k128x128); }},
    {"promotes",
     [](auto& a, auto& b, auto&, auto& spec) {
       a = ones(4, 32, k1x128), b = ones(4, 32, k1x128), spec.model = hopper(true);
     }},
    {"block exponents",
     [](auto& a, auto& b, auto&, auto&) { a = ones(4, 32, k1x32), b = ones(4, 32, k1x32); }},
    {"E5M2 x E5M2", [](auto& a, auto& b, auto&, auto&) { a.format = b.format = Fp8::kE5M2; }},
    {"E5M2 operand", [](auto&, auto&, auto&, auto& spec) { spec.output = OutputType::kE5M2; }},
    {"FP8 output",
     [](auto&, auto&, auto&, auto& spec) {
       static const float scale = 1;
       spec.scale_d = &scale;
     }},
    {"not modelled",
     [](auto&, auto&, auto&, auto& spec) { spec.output = OutputType::kE4M3, spec.beta = 1; }},
    {"below 1", [](auto&, auto&, auto&, auto& spec) { spec.split_k = 0; }},
    {"more slices", [](auto&, auto&, auto&, auto& spec) { spec.split_k = 33; }},
    {"without C", [](auto&, auto&, auto&, auto& spec) { spec.beta = 1; }},
    {"not [n, m]",
     [](auto&, auto&, auto& in, auto& spec) {
       static const Matrix c = Matrix::Zero(4, 3);
       in.c = &c, spec.beta = 1;
     }},
    {"M elements",
     [](auto&, auto&, auto& in, auto&) {
       static const Eigen::VectorXf bias = Eigen::VectorXf::Zero(3);
       in.bias = &bias;
     }},
    {"values of its type",
     [](auto&, auto&, auto& in, auto&) {
       static const Eigen::VectorXf bias = Eigen::VectorXf::Constant(4, 1 + 0x1p-9f);
       in.bias = &bias;
     }},
    {"products_per_sum", [](auto&, auto&, auto&, auto& spec) { spec.model.products_per_sum = 0; }},
};

TEST(Gemm, RefusesWhatTheLibraryHasNoAlgorithmForAndSaysWhy) {
  for (const Bad& bad : kBad) {
    Quantized a = ones(4, 32), b = ones(5, 32);
    GemmInputs in{.a = &a, .b = &b};
    GemmSpec spec;
    ASSERT_NO_THROW(gemm(in, spec));
    bad.spoil(a, b, in, spec);
    try {
      gemm(in, spec);
      ADD_FAILURE() << "accepted: " << bad.reason;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(bad.reason), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace samebits::reference
