// Laws of the reference's GEMM, over every scale mode, format mix and model.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "reference/gemm.h"
#include "reference/test_operands.h"

namespace samebits::reference {
namespace {

using enum Granularity;
using Eigen::Index;
using Bits = MatrixOf<std::uint32_t>;

constexpr int kInstruction = 32;

struct Mode {
  Granularity a, b;
  AccumulationModel model;
};
const Mode kModes[] = {
    {kTensor, kTensor, hopper(false)}, {kTensor, kTensor, hopper(true)},
    {kRow, kRow, hopper(false)},       {kRow, kRow, hopper(true)},
    {k1x128, k1x128, hopper(false)},   {k128x128, k1x128, hopper(false)},
    {k1x128, k128x128, hopper(false)}, {k1x32, k1x32, blackwell()},
    {kTensor, kTensor, exact()},       {k1x128, k1x128, exact()},
};

struct Example {
  Quantized a, b;
  GemmSpec spec;

  Bits run() const {
    const auto bits = [&](float v) { return output_bits(v, spec.output); };
    return gemm({.a = &a, .b = &b}, spec).unaryExpr(bits);
  }
};

bool same_bits(const Bits& a, const Bits& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && (a.array() == b.array()).all();
}

Quantized random_operand(std::mt19937& random, Index rows, Index k, Granularity granularity,
                         Fp8 format) {
  Codes codes = random_codes(random, rows, k, format);
  if (random() % 4 == 0) {  // sparse: whole instructions without a term, small leading terms
    codes = codes.unaryExpr([&](std::uint8_t c) -> std::uint8_t { return random() % 8 ? 0 : c; });
  }
  Quantized result = with_unit_scales(codes, granularity, format);
  result.scale_inv = result.scale_inv.unaryExpr([&](float) {
    const int exponent = static_cast<int>(random() % 9) - 4;
    const float significand =
        granularity == k1x32 ? 1 : 1 + static_cast<float>(random() % 1024) / 1024;
    return std::ldexp(significand, exponent);
  });
  return result;
}

// RapidCheck picks sizes, mode and seed; codes come from the seed, so that all 256 are met.
Example any_example() {
  std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
  const Mode& mode = kModes[*rc::gen::inRange<std::size_t>(0, std::size(kModes))];
  const auto m = *rc::gen::inRange<Index>(1, 6), n = *rc::gen::inRange<Index>(1, 6);
  const auto k = *rc::gen::inRange<Index>(1, 420);
  const bool hybrid = *rc::gen::arbitrary<bool>();
  return {random_operand(random, m, k, mode.a, Fp8::kE4M3),
          random_operand(random, n, k, mode.b, hybrid ? Fp8::kE5M2 : Fp8::kE4M3),
          {.model = mode.model,
           .output = *rc::gen::element(OutputType::kFP32, OutputType::kBF16, OutputType::kFP16)}};
}

Quantized padded(const Quantized& q, Index multiple) {
  const Index k = q.codes.cols();
  Quantized result = q;
  result.codes = Codes::Zero(q.codes.rows(), (k + multiple - 1) / multiple * multiple);
  result.codes.leftCols(k) = q.codes;
  return result;
}

RC_GTEST_PROP(Gemm, DoesNotSeeZerosThatPadK, ()) {
  Example example = any_example();
  const Bits before = example.run();
  const Index multiple = example.a.granularity == k1x32 ? 32 : 128;
  example.a = padded(example.a, multiple);
  example.b = padded(example.b, multiple);
  RC_ASSERT(same_bits(before, example.run()));
}

RC_GTEST_PROP(Gemm, DoesNotSeeTheOrderOfKInsideOneInstruction, ()) {
  Example example = any_example();
  const Bits before = example.run();
  std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
  std::vector<int> order(static_cast<std::size_t>(example.a.codes.cols()));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t begin = 0; begin < order.size(); begin += kInstruction) {
    const std::size_t end = std::min(order.size(), begin + kInstruction);
    std::shuffle(order.begin() + begin, order.begin() + end, random);
  }
  example.a.codes = Codes(example.a.codes(Eigen::all, order));
  example.b.codes = Codes(example.b.codes(Eigen::all, order));
  RC_ASSERT(same_bits(before, example.run()));
}

Quantized one_row(const Quantized& q, Index row) {
  Quantized result = q;
  result.codes = Codes(q.codes.row(row));
  const bool shared = q.granularity == kTensor || q.granularity == k128x128;  // fewer than 128 rows
  if (!shared) result.scale_inv = Matrix(q.scale_inv.row(row));
  return result;
}

RC_GTEST_PROP(Gemm, ComputesEachOutputFromItsTwoRowsAlone, ()) {
  const Example example = any_example();
  const Bits whole = example.run();
  for (Index n = 0; n < whole.rows(); ++n) {
    for (Index m = 0; m < whole.cols(); ++m) {
      const Example part{one_row(example.a, m), one_row(example.b, n), example.spec};
      RC_ASSERT(part.run()(0, 0) == whole(n, m));
    }
  }
}

RC_GTEST_PROP(Gemm, IsOddInA, ()) {
  Example example = any_example();
  const auto values = gemm({.a = &example.a, .b = &example.b}, example.spec);
  example.a.codes =
      example.a.codes.unaryExpr([](std::uint8_t c) -> std::uint8_t { return c ^ 0x80; });
  const auto negated = gemm({.a = &example.a, .b = &example.b}, example.spec);
  RC_ASSERT((negated.array() == -values.array()).all());  // +0 equals -0
}

RC_GTEST_PROP(Gemm, SwappedTensorwiseIsTheTransposeForUnitScales, ()) {
  Example example = any_example();
  RC_PRE(example.a.granularity == kTensor);
  example.a.scale_inv.setOnes();
  example.b.scale_inv.setOnes();
  const Bits d = example.run();
  std::swap(example.a, example.b);
  RC_ASSERT(same_bits(d.transpose(), example.run()));
}

RC_GTEST_PROP(Gemm, OfAllOnesCountsK, ()) {
  const auto k = *rc::gen::inRange<Index>(1, 20000);
  const Mode& mode = kModes[*rc::gen::element(0, 2, 4, 5, 6, 7, 8, 9)];
  const Example example{
      ones(1, k, mode.a), ones(2, k, mode.b), {.model = mode.model, .output = OutputType::kFP32}};
  const Bits right = Bits::Constant(2, 1, std::bit_cast<std::uint32_t>(static_cast<float>(k)));
  RC_ASSERT(same_bits(example.run(), right));
}

// Every argument counts. The operands' sum is not zero and nothing saturates.
RC_GTEST_PROP(Gemm, ChangesWithEveryArgument, ()) {
  const Mode& mode = kModes[*rc::gen::inRange<std::size_t>(0, std::size(kModes))];
  const auto k = *rc::gen::inRange<Index>(1, 300);
  const int split_k = *rc::gen::inRange(1, static_cast<int>(std::min<Index>(k, 3)) + 1);
  Quantized a = ones(2, k, mode.a), b = ones(2, k, mode.b);
  Matrix c = Matrix::Constant(2, 2, 3);
  Eigen::VectorXf bias = Eigen::Vector2f(1, 2);
  GemmSpec spec{.model = mode.model,
                .output = OutputType::kFP32,
                .alpha = 2,
                .beta = *rc::gen::element(0.5f, 1.0f),
                .in_place = *rc::gen::arbitrary<bool>(),
                .split_k = split_k};
  const GemmInputs in{.a = &a, .b = &b, .c = &c, .bias = &bias};
  const Matrix before = gemm(in, spec);
  const auto changes = [&](auto& argument, auto value) {
    const auto kept = std::exchange(argument, value);
    const Matrix after = gemm(in, spec);
    argument = kept;
    return (after.array() != before.array()).all();
  };
  RC_ASSERT(changes(spec.alpha, 3.0f));
  RC_ASSERT(changes(spec.beta, 2.0f));
  RC_ASSERT(changes(c, Matrix(2 * c)));
  RC_ASSERT(changes(bias, Eigen::VectorXf(2 * bias)));
  RC_ASSERT(changes(a.scale_inv, Matrix(2 * a.scale_inv)));
  RC_ASSERT(changes(b.scale_inv, Matrix(2 * b.scale_inv)));
  RC_ASSERT(changes(a.codes, Codes(a.codes.array() + 1)));
  RC_ASSERT(changes(b.codes, Codes(b.codes.array() + 1)));
}

RC_GTEST_PROP(SplitK, EqualsTheSumOfItsSlicesRunAsGemms, ()) {
  std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
  const auto k = *rc::gen::inRange<Index>(2, 1500);
  const int split_k = *rc::gen::inRange(2, static_cast<int>(std::min<Index>(k, 9)) + 1);
  const bool fast = *rc::gen::arbitrary<bool>();
  const Codes a = random_codes(random, 3, k), b = random_codes(random, 2, k);
  const Index length = (k / split_k + 127) / 128 * 128;
  Matrix sum = Matrix::Zero(2, 3);
  for (Index begin = 0; begin < std::min(k, split_k * length); begin += length) {
    const Index count = std::min(length, k - begin);
    const Quantized part_a = with_unit_scales(a.middleCols(begin, count));
    const Quantized part_b = with_unit_scales(b.middleCols(begin, count));
    sum += gemm({.a = &part_a, .b = &part_b}, {.model = hopper(fast), .output = OutputType::kFP32});
  }
  const Quantized whole_a = with_unit_scales(a), whole_b = with_unit_scales(b);
  const Matrix d = gemm({.a = &whole_a, .b = &whole_b},
                        {.model = hopper(fast), .output = OutputType::kFP32, .split_k = split_k});
  RC_ASSERT((d.array() == sum.array()).all());
}

}  // namespace
}  // namespace samebits::reference
