// The lost tail, read from records, and advice that is computed and not guessed.
#include "harness/core/dropped_terms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

namespace samebits {
namespace {

struct Case {
  std::int64_t k;
  int split_k;
  bool tiles;
  std::int64_t dropped, helps;
};

// One wgrad of a 64 x 64 layer, or one fprop with a weight of 128x128 scales.
Trace trace_of(const Case& c, std::int64_t recorded, const std::string& by = "cuBLASLt 130100") {
  Event event;
  event.key.layer = "fc";
  const auto operand = [&](const std::string& name, const Shape& scales) {
    event.tensors.push_back({name + " scale_inv", DType::kF32, scales, {}, {}});
    event.tensors.push_back({name + " bytes", DType::kF8E4M3, {256, c.k}, {}, {}});
  };
  const std::int64_t blocks = (c.k + 127) / 128;
  if (c.tiles) {
    event.key.operation = Operation::kFprop;
    operand("x", {256, blocks});
    operand("weight", {2, blocks});
  } else {
    event.key.operation = Operation::kWgrad;
    operand("x columnwise", {1, 1});
    operand("dy columnwise", {256, blocks});
  }
  event.gemm = GemmRecord{by, "", c.split_k, recorded};
  Trace trace;
  trace.events.push_back(event);
  return trace;
}

constexpr Case kCases[] = {
    {96784, 36, false, 16, 96896},   {295696, 33, false, 16, 295808},
    {16640, 129, false, 128, 16768}, {8720, 17, true, 16, 8832},  // slices of 512
    {8720, 17, false, 16, 8832},     {16400, 8, true, 0, 0},
    {96768, 36, false, 0, 0},        {4096, 1, false, 0, 0}};

TEST(DroppedTerms, AreCountedAndThePaddingNamedLosesNothing) {
  for (const Case& c : kCases) {
    const Trace trace = trace_of(c, c.dropped);
    const auto shape = split_shape(trace.events[0]);
    ASSERT_TRUE(shape);
    EXPECT_EQ(shape->k, c.k);
    EXPECT_EQ(shape->tiles, c.tiles) << c.k;
    EXPECT_EQ(terms_left_out(*shape, c.split_k), c.dropped) << c.k;
    const auto findings = find_dropped_terms({&trace});
    ASSERT_EQ(findings.size(), c.dropped > 0 ? 1U : 0U) << c.k;
    if (c.dropped == 0) continue;
    EXPECT_EQ(findings[0].kind, "library drops terms");
    EXPECT_EQ(findings[0].where, c.tiles ? "fc fprop" : "fc wgrad");
    EXPECT_EQ(findings[0].count, c.dropped);
    EXPECT_TRUE(findings[0].error);
    EXPECT_EQ(covering_k(*shape, c.split_k), c.helps);
    EXPECT_EQ(terms_left_out({c.helps, c.tiles}, c.split_k), 0);
    const std::string pad =
        std::string(c.tiles ? "pad K to " : "pad the tokens to ") + std::to_string(c.helps) + ",";
    EXPECT_NE(findings[0].advice.find(pad), std::string::npos) << findings[0].advice;
  }
}

TEST(DroppedTerms, SayWhereAMultipleOf128IsNotEnough) {
  const Trace enough = trace_of(kCases[0], 16), not_enough = trace_of(kCases[2], 128);
  EXPECT_EQ(find_dropped_terms({&enough})[0].advice.find("still loses"), std::string::npos);
  EXPECT_NE(find_dropped_terms({&not_enough})[0].advice.find(
                "padded to 16640, a multiple of 128, it still loses 128"),
            std::string::npos);
}

TEST(DroppedTerms, PaddingIsTheSmallestThatCovers) {
  for (const bool tiles : {false, true}) {
    for (std::int64_t k = 16; k < 40000; k += 16 * 13) {
      for (int split_k = 1; split_k <= std::min<std::int64_t>(k, 200); split_k += 3) {
        const std::int64_t covering = covering_k({k, tiles}, split_k);
        ASSERT_EQ(terms_left_out({covering, tiles}, split_k), 0);
        ASSERT_GT(covering, k);
        for (std::int64_t less = k / 128 * 128 + 128; less < covering; less += 128) {
          ASSERT_GT(terms_left_out({less, tiles}, split_k), 0);
        }
      }
    }
  }
}

// A record that tells of none, by a library whose cuts are known: the split says it all the same.
TEST(DroppedTerms, AreFoundWhereTheRecordDoesNotCountThem) {
  const Trace trace = trace_of(kCases[0], 0);
  ASSERT_EQ(find_dropped_terms({&trace}).size(), 1U);
  EXPECT_EQ(find_dropped_terms({&trace})[0].count, 16);
  const Trace other = trace_of(kCases[0], 0, "another library");
  EXPECT_TRUE(find_dropped_terms({&other}).empty());
}

TEST(DroppedTerms, OfAnotherLibrarysRecordAreBelievedAndNoPaddingIsGuessed) {
  const Trace trace = trace_of({4096, 4, false, 0, 0}, 7, "another library");
  const auto findings = find_dropped_terms({&trace});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].count, 7);
  EXPECT_EQ(findings[0].advice.find("pad"), std::string::npos);
}

TEST(DroppedTerms, AreOneFindingForEachGemmTheWorstOfBothTraces) {
  Trace a = trace_of(kCases[0], 16);
  const Trace b = trace_of(kCases[2], 128), c = trace_of(kCases[3], 16);
  a.events.push_back(c.events[0]);
  const auto findings = find_dropped_terms({&a, &b});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].where, "fc fprop");
  EXPECT_EQ(findings[1].where, "fc wgrad");
  EXPECT_EQ(findings[1].count, 128);
}

// Counts that a hostile trace may hold.
TEST(DroppedTerms, OfAbsurdRecordsAreNoTrouble) {
  for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2147483647}}) {
    for (const int split_k : {1, 2, 1000003, 2147483647}) {
      const Trace trace = trace_of({k, split_k, true, 0, 0}, 0);
      EXPECT_LE(find_dropped_terms({&trace}).size(), 1U) << k << " " << split_k;
    }
  }
  Trace bare = trace_of(kCases[0], 3);
  bare.events[0].tensors.clear();
  ASSERT_EQ(find_dropped_terms({&bare}).size(), 1U);
  EXPECT_EQ(find_dropped_terms({&bare})[0].count, 3);
}

}  // namespace
}  // namespace samebits
