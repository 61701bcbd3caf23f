// The oracle's arithmetic, which a GPU runs too, against the reference in every bit: codes, casts,
// epilogues, and whole GEMMs of all modes cut to a few rows.
#include <gtest/gtest.h>

#include <random>

#include "kernels/oracle_epilogue.h"
#include "properties/host_gemm.h"
#include "properties/random_gemm.h"
#include "reference/formats.h"

namespace samebits::properties {
namespace {

namespace oracle = kernels::oracle;
using Eigen::Index;
using kernels::Format;
using kernels::ScaleMode;
using oracle::bits_of;
using oracle::decode;
using oracle::shifted_for_product;
using oracle::special_product;

constexpr Format kOutputs[] = {Format::kFP32, Format::kBF16, Format::kFP16, Format::kE4M3,
                               Format::kE5M2};

template <class F>
void expect_values(Format format) {
  for (int i = 0; i < 256; ++i) {
    const auto code = static_cast<std::uint8_t>(i);
    const float expected = F::from_bits(code).value();
    const float got = oracle::value_of(code, format);
    // A zero is a term that is not there, whatever its sign.
    EXPECT_EQ(bits_of(got), expected == 0 ? 0 : bits_of(expected)) << i;
    const oracle::Element e = oracle::decode(code, format);
    const oracle::Element unpacked = oracle::unpack(oracle::pack(e));
    EXPECT_EQ(unpacked.magnitude, e.magnitude) << i;
    EXPECT_EQ(unpacked.sign, e.sign) << i;
    EXPECT_EQ(unpacked.exponent, e.exponent) << i;
  }
}

TEST(OracleDecode, GivesTheValueOfEveryCode) {
  expect_values<reference::E4M3>(Format::kE4M3);
  expect_values<reference::E5M2>(Format::kE5M2);
}

TEST(OracleCast, GivesTheReferencesBitsForEveryUpperHalf) {
  for (const Format format : kOutputs) {
    for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
      for (const std::uint32_t lower : {0u, 1u, 0x0fffu, 0x1000u, 0x7fffu, 0x8000u, 0x8001u}) {
        const float value = oracle::float_of(upper << 16 | lower);
        ASSERT_EQ(oracle::cast_bits(value, format),
                  reference::output_bits(value, output_type(format)))
            << name_of(format) << " of " << value;
      }
    }
  }
}

TEST(OracleWiden, GivesTheReferencesValueOfEveryHalf) {
  for (int i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float bf16 = reference::BF16::from_bits(bits).value();
    const float fp16 = reference::FP16::from_bits(bits).value();
    const auto canonical = [](float v) { return oracle::cast_bits(v, Format::kFP32); };
    ASSERT_EQ(canonical(oracle::widen(bits, Format::kBF16)), bits_of(bf16)) << i;
    ASSERT_EQ(canonical(oracle::widen(bits, Format::kFP16)), bits_of(fp16)) << i;
  }
}

// Any FP32 pattern one time in four, else a number near 1, so that sums cancel and round.
float some_float(std::mt19937& random) {
  const auto bits = static_cast<std::uint32_t>(random());
  if (random() % 4 == 0) return oracle::float_of(bits);
  return oracle::float_of((bits & 0x807fffff) | (120 + (bits >> 25) % 16) << 23);
}

TEST(OracleEpilogue, GivesTheReferencesBits) {
  std::mt19937 random(0);
  for (int i = 0; i < 300000; ++i) {
    const Format format = kOutputs[random() % 5];
    const bool is_fp8 = size_of(format) == 1;
    const auto one_or = [&](float value) { return random() % 3 == 0 ? 1 : value; };
    const oracle::Epilogue mine{
        .output = format,
        .factor = one_or(some_float(random)),
        .beta = is_fp8 || random() % 3 == 0 ? 0 : one_or(some_float(random)),
        .scale_d = is_fp8 ? one_or(some_float(random)) : 1,
        .in_place = random() % 2 == 0,
        .split_k = random() % 2 == 0};
    const bool has_bias = random() % 2 == 0;
    const reference::Epilogue theirs{.output = output_type(format),
                                     .factor = mine.factor,
                                     .beta = mine.beta,
                                     .scale_d = mine.scale_d,
                                     .in_place = mine.in_place,
                                     .split_k = mine.split_k,
                                     .has_bias = has_bias};
    const float u = random() % 16 == 0 ? -0.0f : some_float(random);
    const float c = reference::cast(some_float(random), theirs.output), bias = some_float(random);
    ASSERT_EQ(mine(u, c, has_bias ? &bias : nullptr),
              reference::output_bits(theirs(u, c, bias), theirs.output))
        << name_of(format) << " factor " << mine.factor << " u " << u << " beta " << mine.beta
        << " c " << c << " in place " << mine.in_place << " split K " << mine.split_k;
  }
}

// The oracle's sums for one output, as its kernel orders them.
class HostOracle {
 public:
  HostOracle(const HostGemm& gemm, std::int64_t slices) : gemm_(gemm), slices_(slices) {}

  std::uint32_t operator()(Index m, Index n) const {
    const kernels::GemmProblem& p = gemm_.problem;
    const auto& sa = gemm_.a.scale_inv;
    const auto& sb = gemm_.b.scale_inv;
    float u = total(m, n), factor = p.alpha;
    if (p.scale_a == ScaleMode::kRow) u = u * sa(m) * sb(n);
    if (p.scale_a == ScaleMode::kTensor) factor = p.alpha * sa(0) * sb(0);
    const oracle::Epilogue epilogue{.output = p.output,
                                    .factor = factor,
                                    .beta = p.beta,
                                    .scale_d = p.scale_d ? gemm_.scale_d : 1,
                                    .in_place = p.in_place,
                                    .split_k = slices_ > 1};
    return epilogue(u, p.beta != 0 ? gemm_.c(n, m) : 0, p.bias ? &gemm_.bias(m) : nullptr);
  }

 private:
  float total(Index m, Index n) const {
    const std::int64_t k = gemm_.problem.k;
    const std::int64_t length = oracle::slice_length(k, slices_, has_128x128_scales(gemm_.problem));
    float sum = slice(m, n, 0, std::min(k, length));
    for (std::int64_t j = 1; j < slices_ && j * length < k; ++j) {
      sum += slice(m, n, j * length, std::min(k, (j + 1) * length));
    }
    return sum;
  }

  float slice(Index m, Index n, std::int64_t begin, std::int64_t end) const {
    const kernels::GemmProblem& p = gemm_.problem;
    const std::int64_t chain = p.fast_accumulation ? end - begin : oracle::kBlock;
    using enum oracle::Promotion;
    const bool is_block = is_block_scaled(p);
    const auto how = !is_block ? kPlain : has_128x128_scales(p) ? kOne128x128 : kBoth1x128;
    float y = 0;
    for (std::int64_t k = begin; k < end; k += chain) {
      float c = 0;
      for (std::int64_t i = k; i < std::min(end, k + chain); i += oracle::kProductsPerSum) {
        c = fused(m, n, i, std::min({end, k + chain, i + oracle::kProductsPerSum}), c);
      }
      y = is_block ? promote(how, y, c, scale(gemm_.a, m, k), scale(gemm_.b, n, k))
                   : promote(how, y, c, 1, 1);
    }
    return y;
  }

  static float scale(const reference::Quantized& q, Index row, std::int64_t k) {
    const bool is_tile = q.granularity == reference::Granularity::k128x128;
    return q.scale_inv(is_tile ? row / 128 : row, k / 128);
  }

  float fused(Index m, Index n, std::int64_t begin, std::int64_t end, float c) const {
    const Format format_a = gemm_.problem.a, format_b = gemm_.problem.b;
    const auto each_pair = [&](auto&& body) {
      for (std::int64_t k = begin; k < end; ++k) body(gemm_.a.codes(m, k), gemm_.b.codes(n, k));
    };
    float special = 0;
    each_pair([&](auto a, auto b) { special += special_product(a, format_a, b, format_b); });
    if (special != 0) c = oracle::with_special(c, special);
    oracle::FusedSum sum;
    sum.start(c);
    each_pair([&](auto a, auto b) {
      sum.look_at(decode(a, format_a).exponent, decode(b, format_b).exponent);
    });
    sum.start_sum(c);
    each_pair([&](auto a, auto b) {
      sum.add(decode(a, format_a), shifted_for_product(decode(b, format_b)));
    });
    return sum.result(c);
  }

  const HostGemm& gemm_;
  std::int64_t slices_;
};

// Its first 16 rows of A and of B.
HostGemm cut(HostGemm gemm) {
  constexpr Index kRows = 16;
  gemm.problem.m = gemm.problem.n = kRows;
  for (reference::Quantized* q : {&gemm.a, &gemm.b}) {
    const auto grid = reference::block_grid(q->granularity, kRows, q->codes.cols());
    q->codes = q->codes.topRows(kRows).eval();
    q->scale_inv = q->scale_inv.topRows(grid.rows).eval();
  }
  if (gemm.problem.beta != 0) gemm.c = gemm.c.topLeftCorner(kRows, kRows).eval();
  if (gemm.problem.bias) gemm.bias = gemm.bias.head(kRows).eval();
  return gemm;
}

TEST(OracleGemm, GivesTheReferencesBitsInAllModes) {
  constexpr int kCases = 150;
  std::mt19937 random(0);
  for (int i = 0; i < kCases; ++i) {
    const HostGemm gemm = cut(random_gemm(1, static_cast<std::uint64_t>(i)));
    const auto most = std::min<std::int64_t>(40, gemm.problem.k);
    const int slices = random() % 2 == 0 ? 1 : 2 + static_cast<int>(random() % (most - 1));
    const HostOracle mine(gemm, slices);
    const auto expected = expected_bits(gemm, slices);
    for (Index n = 0; n < gemm.problem.n; ++n) {
      for (Index m = 0; m < gemm.problem.m; ++m) {
        ASSERT_EQ(mine(m, n), expected(n, m)) << "case " << i << " [" << n << ", " << m << "] in "
                                              << slices << " slices: " << describe(gemm.problem);
      }
    }
  }
}

}  // namespace
}  // namespace samebits::properties
