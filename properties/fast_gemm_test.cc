// The fast GEMM equals the plain one in every bit, on each instruction set of this CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "properties/small_gemm.h"
#include "reference/fast/gemm.h"
#include "reference/fast/isa.h"
#include "reference/parallel.h"

namespace samebits::properties {
namespace {

using reference::Fp8;
using reference::Granularity;
using reference::Matrix;
using reference::fast::Isa;

bool same_bits(const Matrix& a, const Matrix& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(float)) == 0;
}

class FastGemm : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("SAMEBITS_ISA", std::string(reference::fast::name(GetParam())).c_str(), 1), 0);
  }
  void TearDown() override { unsetenv("SAMEBITS_ISA"); }
};

INSTANTIATE_TEST_SUITE_P(ForcedTo, FastGemm, ::testing::ValuesIn(reference::fast::available()),
                         [](const auto& isa) {
                           return std::string(reference::fast::name(isa.param));
                         });

TEST_P(FastGemm, EqualsThePlainFormOnRandomSmallGemms) {
  const bool exhaustive = std::getenv("SAMEBITS_EXHAUSTIVE") != nullptr;
  const char* seed_text = std::getenv("SAMEBITS_SEED");
  const std::uint64_t seed = seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : 0;
  const std::int64_t cases = exhaustive ? 1'000'000 : 20'000;
  std::atomic<std::int64_t> products = 0, own = 0, first_difference = cases;
  reference::parallel_for(0, cases, 100, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const SmallGemm gemm = small_gemm(seed, static_cast<std::uint64_t>(i));
      products += gemm.a.codes.rows() * gemm.b.codes.size();
      own += reference::fast::covers(gemm.spec.model) ? 1 : 0;
      if (same_bits(gemm.run(reference::gemm), gemm.run(reference::fast::gemm))) continue;
      std::int64_t known = first_difference;
      while (i < known && !first_difference.compare_exchange_weak(known, i)) {
      }
    }
  });
  std::cout << cases << " GEMMs, " << products / cases << " products on average, " << own
            << " by the fast form; seed " << seed << " (SAMEBITS_SEED)\n";
  EXPECT_EQ(first_difference, cases) << "the first case that differs";
  EXPECT_GT(own, cases / 2);
}

// Operands whose element k is codes[k % size].
reference::Quantized repeated(Eigen::Index rows, Eigen::Index k, std::vector<std::uint8_t> codes,
                              Fp8 format = Fp8::kE4M3) {
  reference::Quantized q{Granularity::kTensor, format, reference::Codes(rows, k),
                         Matrix::Ones(1, 1)};
  for (Eigen::Index row = 0; row < rows; ++row) {
    for (Eigen::Index i = 0; i < k; ++i) {
      q.codes(row, i) = codes[static_cast<std::size_t>(row + i) % codes.size()];
    }
  }
  return q;
}

TEST_P(FastGemm, EqualsThePlainFormOnHardOperands) {
  const std::vector<std::vector<std::uint8_t>> patterns = {
      {0x00},                    // zeros
      {0x80, 0x00},              // of either sign
      {0x01, 0x81},              // the least subnormal, cancelling
      {0x7e, 0xfe},              // the largest, cancelling
      {0x7e},                    // the largest, 32 times: the widest sum
      {0x7e, 0x01},              // the widest spread of exponents
      {0x7e, 0x81, 0x00},        // and of either sign
      {0x0f, 0x0f, 0x88},        // significands that need not be normal
      {0x7b, 0xf7, 0x3f, 0xbf},  // all ones in the significand
      {0x7f, 0x38},              // NaN of E4M3
      {0x7c, 0x38},              // Inf of E5M2
      {0x7c, 0xfc, 0x38},        // Inf - Inf
      {0x7c, 0x00, 0x38}};       // Inf * 0
  int compared = 0;
  for (const Fp8 format_b : {Fp8::kE4M3, Fp8::kE5M2}) {
    for (const auto& codes_a : patterns) {
      for (const auto& codes_b : patterns) {
        for (const Eigen::Index k : {0, 1, 31, 32, 33, 127, 128, 129, 257}) {
          SmallGemm gemm;
          gemm.a = repeated(65, k, codes_a);
          gemm.b = repeated(5, k, codes_b, format_b);
          gemm.spec.output = reference::OutputType::kFP32;
          for (const bool fast_accumulation : {false, true}) {
            gemm.spec.model = reference::hopper(fast_accumulation);
            ASSERT_TRUE(same_bits(gemm.run(reference::gemm), gemm.run(reference::fast::gemm)))
                << "k " << k << ", codes " << int{codes_a[0]} << " and " << int{codes_b[0]};
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_EQ(compared, 2 * 13 * 13 * 9 * 2);
}

TEST_P(FastGemm, DoesNotDependOnTheThreadsOrTheTiles) {
  SmallGemm gemm;
  gemm.a = repeated(1100, 160, {0x38, 0xb1, 0x2c, 0x45, 0x9a, 0x3d, 0xbe});
  gemm.b = repeated(130, 160, {0x31, 0xc2, 0x07, 0xb9, 0x3c});
  gemm.spec.threads = 1;
  const Matrix alone = gemm.run(reference::fast::gemm);
  ASSERT_TRUE(same_bits(alone, gemm.run(reference::gemm)));
  for (const int threads : {2, 3, 16}) {
    gemm.spec.threads = threads;
    EXPECT_TRUE(same_bits(alone, gemm.run(reference::fast::gemm))) << threads << " threads";
  }
}

TEST(FastGemmIsa, AnInstructionSetThatIsNotThereIsRefusedByName) {
  ASSERT_EQ(setenv("SAMEBITS_ISA", "avx1024", 1), 0);
  try {
    reference::fast::chosen();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("avx1024"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("portable"), std::string::npos) << error.what();
  }
  unsetenv("SAMEBITS_ISA");
  EXPECT_EQ(reference::fast::chosen(), reference::fast::available().front());
}

TEST(FastGemmModels, WhatTheFusedMultiplyAddsCannotCutIsLeftToThePlainForm) {
  using reference::fast::covers;
  EXPECT_TRUE(covers(reference::hopper(false)));
  EXPECT_TRUE(covers(reference::hopper(true)));
  EXPECT_TRUE(covers(reference::ada(false)));
  EXPECT_FALSE(covers(reference::blackwell()));
  EXPECT_FALSE(covers(reference::exact()));
  const auto with = [](auto change) {
    reference::AccumulationModel model = reference::hopper(false);
    change(model);
    return model;
  };
  EXPECT_FALSE(covers(with([](auto& m) { m.aligned_fraction_bits = 15; })));
  EXPECT_FALSE(covers(with([](auto& m) { m.products_per_sum = 24; })));
  EXPECT_FALSE(covers(with([](auto& m) { m.promotion_interval = 100; })));
  EXPECT_FALSE(covers(with([](auto& m) { m.normalise_products = true; })));
  EXPECT_FALSE(covers(with([](auto& m) { m.aligned_cut = reference::Cut::kFloor; })));
  EXPECT_FALSE(covers(with([](auto& m) { m.result_cut = reference::Cut::kNearestEven; })));
}

}  // namespace
}  // namespace samebits::properties
