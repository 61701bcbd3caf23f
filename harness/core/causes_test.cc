// Each cause, read from pairs of traces made by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "harness/core/verdict.h"

namespace samebits {

inline void PrintTo(Cause cause, std::ostream* out) { *out << cause_name(cause); }  // for GoogleTest

namespace {

evidence::Sha256Value digest(int value) {
  evidence::Sha256Value result{};
  result[0] = static_cast<std::byte>(value);
  return result;
}

Event event(const std::string& layer, int microbatch, Operation operation,
            const std::vector<std::string>& tensors) {
  Event result;
  result.key = {0, microbatch, Pass::kTrain, 0, layer, operation};
  for (const std::string& name : tensors) {
    result.tensors.push_back({name, DType::kF32, {1}, digest(0), {}});
  }
  return result;
}

// Two microbatches and the update of one layer, as the engine records them.
Trace one_step(const std::string& layer = "layer") {
  Trace trace;
  for (const int m : {0, 1}) {
    Event fprop = event(layer, m, Operation::kFprop,
                        {"x", "x scale_inv", "x bytes", "weight scale_inv", "weight bytes", "y"});
    Event dgrad = event(layer, m, Operation::kDgrad,
                        {"dy", "dy scale_inv", "dy bytes", "weight columnwise scale_inv",
                         "weight columnwise bytes", "dx"});
    Event wgrad = event(layer, m, Operation::kWgrad,
                        {"x columnwise scale_inv", "x columnwise bytes", "dy columnwise scale_inv",
                         "dy columnwise bytes", "main_grad"});
    fprop.weight = dgrad.weight = WeightProvenance{};
    fprop.gemm = dgrad.gemm = wgrad.gemm = GemmRecord{"library", "algorithm 1", 1, 0};
    wgrad.beta = 1.0F;
    wgrad.onto_zeros = m == 0;
    for (Event* made : {&fprop, &dgrad, &wgrad}) trace.events.push_back(*made);
  }
  trace.events.push_back(event(layer, 1, Operation::kUpdate, {"weight"}));
  return trace;
}

struct CausesTest : testing::Test {
  Trace a = one_step(), b = one_step();

  static Event& at(Trace& trace, int microbatch, Operation operation) {
    return *std::find_if(trace.events.begin(), trace.events.end(), [&](const Event& candidate) {
      return candidate.key.microbatch == microbatch && candidate.key.operation == operation;
    });
  }
  // Makes b's tensors differ from a's.
  void differ(int microbatch, Operation operation, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      for (EventTensor& tensor : at(b, microbatch, operation).tensors) {
        if (tensor.name == name) tensor.digest = digest(1);
      }
    }
  }
  std::vector<CauseAt> causes() const { return find_causes(a, b, compare(a, b)); }
  // The only cause; fails where there are none or more.
  Cause only() const {
    const auto found = causes();
    EXPECT_EQ(found.size(), 1U);
    return found.at(0).cause;
  }
};

constexpr auto kFprop = Operation::kFprop;
constexpr auto kDgrad = Operation::kDgrad;
constexpr auto kWgrad = Operation::kWgrad;
constexpr auto kUpdate = Operation::kUpdate;

TEST_F(CausesTest, EqualTracesHaveNone) { EXPECT_TRUE(causes().empty()); }

TEST_F(CausesTest, AnotherActivationIsAnotherInput) {
  differ(0, kFprop, {"x", "x scale_inv", "x bytes", "y"});
  EXPECT_EQ(only(), Cause::kInputsDiffer);
}

TEST_F(CausesTest, AnotherGradientAfterEqualForwardsIsAnotherInput) {
  differ(0, kDgrad, {"dy", "dy scale_inv", "dy bytes", "dx"});
  EXPECT_EQ(only(), Cause::kInputsDiffer);
}

TEST_F(CausesTest, AnOperandThatNothingRecordedExplainsIsAnotherInput) {
  for (Trace* trace : {&a, &b}) trace->events.erase(trace->events.begin());  // the rows of x
  differ(0, kWgrad, {"x columnwise bytes", "main_grad"});
  EXPECT_EQ(only(), Cause::kInputsDiffer);
}

TEST_F(CausesTest, BytesOfAnotherWeightThanTheOneNowAreStale) {
  at(b, 1, kFprop).weight->source_at_fill = digest(7);
  differ(1, kFprop, {"weight scale_inv", "weight bytes", "y"});
  EXPECT_EQ(only(), Cause::kStaleWeight);
  std::swap(a, b);
  EXPECT_EQ(only(), Cause::kStaleWeight);
}

TEST_F(CausesTest, StaleComesBeforeOtherParameters) {
  at(b, 1, kFprop).weight->source_at_fill = digest(7);
  at(b, 1, kFprop).weight->parameters.power_of_two = false;
  differ(1, kFprop, {"weight bytes"});
  EXPECT_EQ(only(), Cause::kStaleWeight);
}

TEST_F(CausesTest, AStaleWeightThatChangedNothingIsNoCause) {
  at(b, 1, kFprop).weight->source_at_fill = digest(7);
  EXPECT_TRUE(causes().empty());
}

TEST_F(CausesTest, OtherParametersAreAStaleRecipe) {
  at(b, 1, kFprop).weight->parameters.power_of_two = false;
  differ(1, kFprop, {"weight scale_inv", "weight bytes", "y"});
  EXPECT_EQ(only(), Cause::kStaleRecipe);
}

TEST_F(CausesTest, AnotherScaleOfTheSameWeightMoved) {
  differ(1, kFprop, {"weight scale_inv", "weight bytes", "y"});
  differ(1, kDgrad, {"weight columnwise scale_inv", "weight columnwise bytes", "dx"});
  const auto found = causes();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].cause, Cause::kScaleMoved);
  EXPECT_EQ(a.events[found[0].event].key, at(a, 1, kFprop).key);
  EXPECT_EQ(a.events[found[0].event].tensors[found[0].tensor].name, "weight scale_inv");
  EXPECT_EQ(found[0].events, 2U);
}

TEST_F(CausesTest, AnotherScaleOfTheSameActivationOrGradientMoved) {
  differ(0, kFprop, {"x scale_inv", "x bytes"});
  EXPECT_EQ(only(), Cause::kScaleMoved);
  b = one_step();
  differ(0, kDgrad, {"dy scale_inv", "dy bytes"});
  EXPECT_EQ(only(), Cause::kScaleMoved);
}

TEST_F(CausesTest, OtherBytesAtTheSameSourceAndScaleAreACast) {
  for (const std::string operand : {"x", "weight"}) {
    b = one_step();
    differ(0, kFprop, {operand + " bytes", "y"});
    EXPECT_EQ(only(), Cause::kCast) << operand;
  }
  b = one_step();
  differ(0, kDgrad, {"dy bytes", "dx"});
  EXPECT_EQ(only(), Cause::kCast);
}

TEST_F(CausesTest, OtherColumnwiseBytesBesideEqualRowsAreTheTwin) {
  for (const std::string part : {" scale_inv", " bytes"}) {
    b = one_step();
    differ(0, kDgrad, {"weight columnwise" + part, "dx"});
    EXPECT_EQ(only(), Cause::kColumnwiseTwin) << part;
    for (const std::string operand : {"x", "dy"}) {
      b = one_step();
      differ(0, kWgrad, {operand + " columnwise" + part, "main_grad"});
      EXPECT_EQ(only(), Cause::kColumnwiseTwin) << operand << part;
    }
  }
}

TEST_F(CausesTest, ATwinIsHeldAgainstTheRowsOfItsOwnMicrobatch) {
  for (Trace* trace : {&a, &b}) {  // both forwards first
    std::rotate(trace->events.begin() + 1, trace->events.begin() + 3, trace->events.begin() + 4);
  }
  differ(1, kFprop, {"x bytes", "y"});
  differ(0, kWgrad, {"x columnwise bytes", "main_grad"});
  const auto found = causes();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].cause, Cause::kCast);
  EXPECT_EQ(found[1].cause, Cause::kColumnwiseTwin);
}

TEST_F(CausesTest, AnotherBetaIsTheAccumulationMode) {
  at(b, 1, kWgrad).beta = 0.0F;
  differ(1, kWgrad, {"main_grad"});
  EXPECT_EQ(only(), Cause::kAccumulationMode);
}

TEST_F(CausesTest, AnotherBetaThatChangedNothingIsNoCause) {
  at(b, 0, kWgrad).beta = 0.0F;
  EXPECT_TRUE(causes().empty());
}

TEST_F(CausesTest, OntoZerosAnotherBetaExplainsNothingThatAnOperandExplains) {
  differ(0, kFprop, {"x bytes", "y"});
  at(b, 0, kWgrad).beta = 0.0F;
  differ(0, kWgrad, {"x columnwise bytes", "main_grad"});
  EXPECT_EQ(only(), Cause::kCast);
}

TEST_F(CausesTest, AreShownInTheirOwnTensorWhereAnEarlierOneDiffersForAnOlderReason) {
  differ(0, kFprop, {"x scale_inv", "x bytes", "y"});
  differ(0, kDgrad, {"dy", "dy scale_inv", "dy bytes", "weight columnwise bytes", "dx"});
  at(b, 1, kWgrad).beta = 0.0F;
  differ(1, kWgrad, {"dy columnwise bytes", "main_grad"});
  differ(1, kDgrad, {"dy", "dy bytes", "dx"});
  const auto found = causes();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[1].cause, Cause::kColumnwiseTwin);
  EXPECT_EQ(a.events[found[1].event].tensors[found[1].tensor].name, "weight columnwise bytes");
  EXPECT_EQ(found[2].cause, Cause::kAccumulationMode);
  EXPECT_EQ(a.events[found[2].event].tensors[found[2].tensor].name, "main_grad");
}

TEST_F(CausesTest, LostTermsComeBeforeTheAlgorithm) {
  at(b, 0, kFprop).gemm = GemmRecord{"library", "algorithm 2", 36, 16};
  differ(0, kFprop, {"y"});
  EXPECT_EQ(only(), Cause::kDroppedTerms);
}

TEST_F(CausesTest, AnotherAlgorithmOrSplitIsTheAlgorithm) {
  for (const GemmRecord& record :
       {GemmRecord{"library", "algorithm 2", 1, 0}, GemmRecord{"library", "algorithm 1", 2, 0}}) {
    at(b, 0, kFprop).gemm = record;
    b.events[0].tensors = a.events[0].tensors;
    differ(0, kFprop, {"y"});
    EXPECT_EQ(only(), Cause::kGemmAlgorithm);
  }
}

TEST_F(CausesTest, TheSameAlgorithmWithAnotherResultIsArithmetic) {
  for (const Operation operation : {kFprop, kDgrad, kWgrad}) {
    b = one_step();
    at(b, 0, operation).tensors.back().digest = digest(1);
    EXPECT_EQ(only(), Cause::kGemmArithmetic) << operation_name(operation);
  }
}

// Two makers name their algorithms in their own ways: only the split can be held against the other.
TEST_F(CausesTest, AnotherMakerWithTheSameSplitIsArithmetic) {
  at(a, 0, kFprop).gemm = GemmRecord{"cuBLASLt 130100", "algorithm 1", 1, 0, "9.0"};
  at(b, 0, kFprop).gemm = GemmRecord{"reference", "hopper", 1, 0};
  differ(0, kFprop, {"y"});
  EXPECT_EQ(only(), Cause::kGemmArithmetic);
  at(b, 0, kFprop).gemm->split_k = 4;
  EXPECT_EQ(only(), Cause::kGemmAlgorithm);
}

TEST_F(CausesTest, AgainstTheReferenceWhatIsNotModelledIsNamed) {
  at(a, 0, kFprop).gemm = GemmRecord{"cuBLASLt 130200", "algorithm 1", 1, 0, "9.0"};
  at(b, 0, kFprop).gemm = GemmRecord{"reference", "hopper", 1, 0};
  differ(0, kFprop, {"y"});
  ASSERT_EQ(only(), Cause::kGemmNotModelled);
  EXPECT_EQ(describe(causes()[0]), "GEMM arithmetic, not modelled: cuBLASLt 13.2.0, not 13.1.0");
  std::swap(a, b);
  EXPECT_EQ(only(), Cause::kGemmNotModelled);
  // No model is asked between two GEMMs of one library, nor where the split explains it.
  at(b, 0, kFprop).gemm->split_k = 4;
  EXPECT_EQ(only(), Cause::kGemmAlgorithm);
  at(a, 0, kFprop).gemm = at(b, 0, kFprop).gemm;
  EXPECT_EQ(only(), Cause::kGemmArithmetic);
}

TEST_F(CausesTest, OnlyTheUpdatedWeightIsUpdateArithmetic) {
  differ(1, kUpdate, {"weight"});
  EXPECT_EQ(only(), Cause::kUpdateArithmetic);
}

TEST_F(CausesTest, ConsequencesHaveNone) {
  differ(0, kFprop, {"weight scale_inv", "weight bytes", "y"});
  differ(0, kDgrad, {"dy", "dy scale_inv", "dy bytes", "dx"});
  differ(0, kWgrad, {"dy columnwise scale_inv", "dy columnwise bytes", "main_grad"});
  differ(1, kWgrad, {"main_grad"});
  differ(1, kUpdate, {"weight"});
  const auto found = causes();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].events, 1U);
}

TEST_F(CausesTest, FreshWeightsThatPartedEarlierAreAConsequence) {
  differ(0, kWgrad, {"main_grad"});
  at(b, 1, kFprop).weight->source_now = at(b, 1, kFprop).weight->source_at_fill = digest(7);
  differ(1, kFprop, {"weight scale_inv", "weight bytes", "y"});
  EXPECT_EQ(only(), Cause::kGemmArithmetic);
}

TEST_F(CausesTest, AResultThatOverwritesIsNoConsequenceOfTheSumBefore) {
  differ(0, kFprop, {"x bytes", "y"});
  at(a, 1, kWgrad).beta = at(b, 1, kWgrad).beta = 0.0F;
  differ(1, kWgrad, {"main_grad"});
  const auto found = causes();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].cause, Cause::kGemmArithmetic);
}

TEST_F(CausesTest, AnotherLayersDifferenceExplainsNothing) {
  for (Trace* trace : {&a, &b}) {
    for (const Event& e : one_step("other").events) trace->events.push_back(e);
  }
  differ(0, kFprop, {"x bytes"});
  b.events.back().tensors.back().digest = digest(1);
  const auto found = causes();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].cause, Cause::kUpdateArithmetic);
  EXPECT_EQ(a.events[found[1].event].key.layer, "other");
}

TEST_F(CausesTest, AreListedInTheOrderOfTheirFirstPlace) {
  differ(0, kFprop, {"x bytes"});
  at(b, 1, kFprop).weight->source_at_fill = digest(7);
  differ(1, kFprop, {"weight bytes"});
  const auto found = causes();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].cause, Cause::kCast);
  EXPECT_EQ(found[1].cause, Cause::kStaleWeight);
  EXPECT_LT(found[0].event, found[1].event);
}

TEST(Names, EachCauseAndOutcomeHasItsOwn) {
  EXPECT_EQ(cause_name(Cause::kInputsDiffer), "inputs differ");
  EXPECT_EQ(cause_name(Cause::kStaleWeight), "stale weight");
  EXPECT_EQ(cause_name(Cause::kStaleRecipe), "stale recipe");
  EXPECT_EQ(cause_name(Cause::kScaleMoved), "scale moved");
  EXPECT_EQ(cause_name(Cause::kCast), "cast");
  EXPECT_EQ(cause_name(Cause::kColumnwiseTwin), "columnwise twin");
  EXPECT_EQ(cause_name(Cause::kAccumulationMode), "accumulation mode");
  EXPECT_EQ(cause_name(Cause::kDroppedTerms), "library drops terms");
  EXPECT_EQ(cause_name(Cause::kGemmAlgorithm), "GEMM algorithm");
  EXPECT_EQ(cause_name(Cause::kGemmArithmetic), "GEMM arithmetic");
  EXPECT_EQ(cause_name(Cause::kUpdateArithmetic), "update arithmetic");
  EXPECT_EQ(outcome_name(Outcome::kSame), "same");
  EXPECT_EQ(outcome_name(Outcome::kDifferent), "different");
  EXPECT_EQ(outcome_name(Outcome::kNotReproducible), "not-reproducible");
  EXPECT_EQ(outcome_name(Outcome::kNotComparable), "not-comparable");
}

}  // namespace
}  // namespace samebits
