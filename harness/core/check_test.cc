// The differential check as a whole: outcomes, reproducibility, and what it keeps of the first
// difference.
#include "harness/core/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "harness/core/scenario.h"
#include "properties/meddling_backend.h"
#include "properties/test_layers.h"

namespace samebits {
namespace {

Program train(RecipeKind kind, int steps = 1, int microbatches = 2) {
  return make_scenario("train", Recipe::defaults(kind), MainGrad::kAccumulate, steps, microbatches);
}

struct Check : testing::Test {
  CheckRequest request = caching_check(
      train(RecipeKind::kBlock),
      {test_layer("first", DType::kBF16, 32, 48), test_layer("second", DType::kF32, 48, 32)});
  std::vector<double> progress;
  int runs = 0;

  // Backends whose i-th (from 0) meddles as told.
  CheckResult check(std::vector<Meddling> meddling = {}) {
    return run_check(request,
                     [&](const Arm&, int threads) {
                       const auto run = static_cast<std::size_t>(runs++);
                       return meddling_backend(threads,
                                               run < meddling.size() ? meddling[run] : Meddling{});
                     },
                     {.progress = [this](double done) { progress.push_back(done); }});
  }
};

Meddling flipped_y() { return {.flip = Operation::kFprop}; }

TEST_F(Check, EqualArmsRunOnceEach) {
  EXPECT_EQ(check().outcome, Outcome::kSame);
  EXPECT_EQ(runs, 2);
}

TEST_F(Check, ADifferenceThatRepeatsIsKeptWithTheBytesOfBothSides) {
  const CheckResult result = check({{}, flipped_y(), {}, flipped_y()});
  ASSERT_EQ(result.outcome, Outcome::kDifferent);
  EXPECT_EQ(runs, 4);
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->cause, Cause::kGemmArithmetic);
  const Event& event = result.a.events[result.first->event];
  EXPECT_EQ(event.key, (EventKey{0, 0, Pass::kTrain, 0, "first", Operation::kFprop}));
  EXPECT_EQ(event.tensors[result.first->tensor].name, "y");
  EXPECT_EQ(result.first->elements.different, 1);
  EXPECT_EQ(result.first->elements.index, (std::vector<std::int64_t>{0, 0}));
  ASSERT_EQ(result.first->a.size(), event.tensors.size());
  ASSERT_EQ(result.first->b.size(), event.tensors.size());
  const HostTensor& y = result.first->a[result.first->tensor];
  EXPECT_EQ(y.shape, (Shape{16, 32}));
  EXPECT_EQ(y.at<std::uint16_t>(0) ^ 1, result.first->b[result.first->tensor].at<std::uint16_t>(0));
}

TEST_F(Check, AnArmThatDiffersFromItselfIsNotReproducible) {
  for (const std::size_t again : {std::size_t{2}, std::size_t{3}}) {
    runs = 0;
    std::vector<Meddling> meddling{{}, flipped_y(), {}, flipped_y()};
    meddling[again] = again == 2 ? flipped_y() : Meddling{};
    const CheckResult result = check(meddling);
    EXPECT_EQ(result.outcome, Outcome::kNotReproducible);
    EXPECT_TRUE(result.reason.starts_with(again == 2 ? "reference/uncached does not repeat"
                                                     : "reference/cached does not repeat"))
        << result.reason;
    EXPECT_TRUE(result.reason.ends_with("step 0 microbatch 0 first fprop y")) << result.reason;
  }
}

TEST_F(Check, OtherWeightsAreNotComparable) {
  const CheckResult result = check({{}, {.flip_uploaded = DType::kF32}});
  EXPECT_EQ(result.outcome, Outcome::kNotComparable);
  EXPECT_EQ(result.reason, "layer second: the weights differ");
  EXPECT_EQ(runs, 2);
}

TEST_F(Check, OtherInputsAreNotComparable) {
  request.layers.erase(request.layers.begin());  // leaves the one whose weight is not BF16
  const CheckResult result = check({{}, {.flip_uploaded = DType::kBF16}});
  EXPECT_EQ(result.outcome, Outcome::kNotComparable);
  EXPECT_EQ(result.reason, "layer second: the inputs differ");
}

TEST_F(Check, DroppedTermsAreAnErrorEvenWhereTheArmsAgree) {
  const Meddling short_sum{.dropped_terms = 16};
  const CheckResult result = check({short_sum, short_sum});
  EXPECT_EQ(result.outcome, Outcome::kSame);
  EXPECT_TRUE(result.has_error());
  ASSERT_EQ(result.findings.size(), 6U);  // three GEMMs of two layers
  EXPECT_EQ(result.findings[0].kind, "library drops terms");
  EXPECT_EQ(result.findings[0].where, "first fprop");
  EXPECT_EQ(result.findings[0].count, 16);
}

// A library of another version in arm b, wrong in one bit.
CheckResult against_another_version(Check& check, Operation operation, std::size_t byte) {
  const Meddling other{
      .flip = operation, .flip_byte = byte, .by = "cuBLASLt 130200", .chip = "9.0"};
  check.runs = 0;
  return check.check({{}, other, {}, other});
}

TEST_F(Check, WhatIsNotModelledIsANoteAndTheCauseNamesIt) {
  const CheckResult result = against_another_version(*this, Operation::kFprop, 0);
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->cause, Cause::kGemmNotModelled);
  EXPECT_EQ(result.causes.front().detail, "cuBLASLt 13.2.0, not 13.1.0");
  EXPECT_FALSE(result.has_error());
  ASSERT_EQ(result.findings.size(), 2U);
  for (const Finding& finding : result.findings) EXPECT_EQ(finding.kind, "not modelled");
  EXPECT_EQ(result.findings[0].where, "reference/cached");
  EXPECT_EQ(result.findings[0].count, 12);  // two layers, two microbatches, three GEMMs
}

TEST_F(Check, ADifferenceThatIsNotModelledIsHeldAgainstTheBound) {
  for (const Recipe& recipe :
       {Recipe::defaults(RecipeKind::kBlock), Recipe::defaults(RecipeKind::kCurrent)}) {
    request.program = make_scenario("train", recipe, MainGrad::kAccumulate, 1, 2);
    request.layers[0].layer.bias = test_matrix(DType::kBF16, 1, 32, 9);
    request.layers[0].layer.bias->shape = {32};
    // The last bit of an FP32 result is below any rounding; an exponent's bit is not.
    for (const auto& [operation, byte, within] : {std::tuple{Operation::kWgrad, 0U, true},
                                                  {Operation::kWgrad, 3U, false},
                                                  {Operation::kFprop, 1U, false},
                                                  {Operation::kDgrad, 1U, false}}) {
      const CheckResult result = against_another_version(*this, operation, byte);
      ASSERT_EQ(result.findings.size(), 2U);
      const Finding& finding = result.findings[1];
      EXPECT_TRUE(finding.where.starts_with("first " + std::string(operation_name(operation))));
      EXPECT_TRUE(finding.where.ends_with(" [0, 0]")) << finding.where;
      EXPECT_TRUE(
          finding.advice.ends_with(within ? "could have made both" : "could not have made both"))
          << finding.advice;
    }
  }
}

TEST_F(Check, ADifferenceOfZeroSignsAloneIsSaidSo) {
  const Meddling negative_zeros{.negative_zeros = true};
  request.layers.resize(1);
  HostTensor& weight = request.layers[0].layer.weight;
  weight = HostTensor::own(weight.dtype, weight.shape, std::vector<std::byte>(weight.bytes.size()));
  const CheckResult result = check({{}, negative_zeros, {}, negative_zeros});
  ASSERT_TRUE(result.first);
  EXPECT_TRUE(result.first->elements.zero_signs_only);
  EXPECT_EQ(result.first->elements.different, 16 * 32);
  EXPECT_EQ(result.findings.back().kind, "sign of zero");
}

TEST_F(Check, EventsAreInProgramOrderByOperationThenByLayer) {
  const CheckResult result = check();
  for (std::size_t e = 1; e < result.a.events.size(); ++e) {
    const Event& before = result.a.events[e - 1];
    const Event& after = result.a.events[e];
    EXPECT_LE(before.op, after.op);
    if (before.op == after.op) {
      EXPECT_LE(before.key.layer, after.key.layer);
    }
  }
}

TEST_F(Check, ProgressOnlyGrowsAndEndsAtOne) {
  check();
  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
  EXPECT_GT(progress.front(), 0);
  EXPECT_DOUBLE_EQ(progress.back(), 1);
}

TEST_F(Check, CountsTheMultiplyAddsOfOneArm) {
  EXPECT_EQ(multiply_adds(request), 2 * 2 * 3 * 16.0 * 32 * 48);  // layers, microbatches, GEMMs
}

TEST_F(Check, TheNumberOfThreadsChangesNoBit) {
  request.layers = {test_layer("tall", DType::kBF16, 272, 48),
                    test_layer("wide", DType::kF16, 48, 144)};
  for (const RecipeKind kind :
       {RecipeKind::kCurrent, RecipeKind::kBlock, RecipeKind::kMx, RecipeKind::kDelayed}) {
    request.program = train(kind);
    request.threads = 1;
    const auto one = trace_digest(check().a);
    for (const int threads : {2, 3}) {
      request.threads = threads;
      EXPECT_EQ(trace_digest(check().a), one) << recipe_name(kind) << " " << threads;
    }
  }
}

}  // namespace
}  // namespace samebits
