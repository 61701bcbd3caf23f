#include "properties/mutant_table.h"

namespace samebits::properties {
namespace {

constexpr char kCodec[] = "codec";
constexpr char kScale[] = "amax to scale";
constexpr char kBelongs[] = "scale not of its bytes";
constexpr char kLayout[] = "scale layout";
constexpr char kTails[] = "padding and tails";
constexpr char kColumnwise[] = "columnwise twin";
constexpr char kArithmetic[] = "GEMM arithmetic";
constexpr char kFast[] = "vectorised form";
constexpr char kEpilogue[] = "epilogue";
constexpr char kCache[] = "stale or missing weight";
constexpr char kState[] = "state over steps";
constexpr char kBlind[] = "blind comparison";
constexpr char kProvenance[] = "digests, provenance";
constexpr char kFiles[] = "untrusted files";

// Of the vectorised form on the CPU's best instruction set and on the portable one.
constexpr char kFastGemm[] = "*/FastGemm.EqualsThePlainFormOnRandomSmallGemms/*";
constexpr char kFastHard[] = "*/FastGemm.EqualsThePlainFormOnHardOperands/*";
constexpr char kFastCast[] = "*/FastCast.GivesThePlainBytesForEveryPattern/*";
constexpr char kUses[] = "WeightCache.EachUseIsTheFreshQuantisationOfTheWeightAtTheLastFill";

constexpr MutantRow kRows[] = {
    {"ties away from zero", kCodec, "Formats/*.AMidpointGoesToTheEvenCode*"},
    {"double rounding", kCodec, "E4M3.RoundsOnceFromFp32AndFp64"},
    {"cast truncates", kCodec, "Fp8CodecLaws/*.NearestIsNoFartherThanAnyFiniteCode"},
    {"subnormals are flushed", kCodec, "Formats/*.EachCodeIsItsOwnRounding"},
    {"subnormals decode as normals", kCodec, "Formats/*.EachCodeIsOneStepOfItsBinade*"},
    {"underflow loses its sign", kCodec, "Formats/*.ZeroKeepsItsSignAndSoDoesAnUnderflow"},
    {"overflow does not saturate", kCodec, "Formats/*.OverflowFollowsThePolicy*"},
    {"NaN becomes the largest code", kCodec, "Fp8CodecLaws/*.SaturateIsRound"},
    {"E8M0 rounds down", kCodec, "E8M0Laws.RoundUpIsTheSmallestPowerThatHoldsTheValue"},
    {"fast: NaN becomes the largest code", kCodec, kFastCast},
    {"fast: no subnormal step", kCodec, kFastCast},

    {"maximum of the other E4M3", kScale, "Scale.IsOneFp32DivisionNotOneInTheInputType"},
    {"epsilon is ignored", kScale, "Scale.ClampsToEpsilonBeforeAnythingElse"},
    {"zero amax is divided by", kScale, "Scale.IsOneForAnAmaxOfZeroInfAndNan"},
    {"infinite scale is kept", kScale, "Scale.IsFiniteAndPositiveForEveryAmaxEpsilonAndOption"},
    {"power of two rounds up", kScale,
     "ScaleLaws.TheLargestElementOfABlockNeverSaturatesByMoreThanItsRounding"},
    {"E8M0 of amax alone", kScale, "MxExponent.IsTheSmallestThatHoldsAmax"},
    {"margin is ignored", kScale, "DelayedScale.DividesTheMaximumLessTheMargin"},
    {"amax is the largest value", kScale, "Amax.IsTheLargestMagnitudeAndDoesNotSeeNan"},
    {"amax sees NaN", kScale, "Amax.IsTheLargestMagnitudeAndDoesNotSeeNan"},

    {"scaled after the cast", kBelongs, "QuantizeLaws.EachCodeIsTheCastOfTheScaledElement"},
    {"scale_inv of another scale", kBelongs,
     "QuantizeLaws.AnElementThatDoesNotSaturateStaysWithinHalfAStep"},

    {"scales are not transposed", kLayout,
     "QuantizeLaws.TheTransposeOfTheBytesIsTheQuantisationOfTheTranspose"},
    {"tile scales by the first row", kLayout, "BlockScales.OfTilesAndOfRowsMeetInTheRightPlace"},
    {"row scales swapped", kLayout, "RowScales.ApplyAsFirstThenBs"},
    {"block scales in the other order", kLayout, "BlockScales.AreMultipliedInTheOrderOfTheirMode"},

    {"a tail takes the scale before", kTails, "QuantizeLaws.EachCodeIsTheCastOfTheScaledElement"},
    {"amax misses the last element", kTails, "QuantizeLaws.EachCodeIsTheCastOfTheScaledElement"},
    {"the last slice is lost", kTails, "SplitK.EqualsTheSumOfItsSlicesRunAsGemms"},
    {"fast: stale tail of K", kTails, kFastHard},

    {"12 aligned bits", kArithmetic,
     "FusedSum.KeepsATermOfThirteenBitsBelowTheLargestAndDropsTheNext"},
    {"14 aligned bits", kArithmetic, "FusedSum.DropsEachTermByItselfAlsoWhereTheirSumWouldCount"},
    {"FP32 between instructions", kArithmetic,
     "FusedSum.CutsItsResultToThirteenBitsBelowItsLeadingBit"},
    {"instructions of 16", kArithmetic, "FusedSum.AlignsThirtyTwoProductsToOneExponent"},
    {"no promotion", kArithmetic, "AllOnes.CountKWithPromotionAndStickAt16384Without"},
    {"terms are floored", kArithmetic, "FusedSum.CutsTermsTowardZeroWhateverTheirSign"},
    {"results are rounded", kArithmetic, "FusedSum.CutsItsResultAndDoesNotRoundIt"},
    {"products are normalised", kArithmetic,
     "FusedSum.TakesAProductsExponentAsTheSumOfItsOperandsExponents"},
    {"infinities are lost", kArithmetic, "FusedSum.PassesInfOnAndMakesEveryNanCanonical"},
    {"slices are not whole blocks", kArithmetic, "SplitK.EqualsTheSumOfItsSlicesRunAsGemms"},

    {"fast: rounds to nearest", kFast, kFastGemm},
    {"fast: keeps a bit more", kFast, kFastGemm},
    {"fast: exponents are one high", kFast, kFastGemm},
    {"fast: signs of one operand", kFast, kFastGemm},
    {"fast: last sign is left over", kFast, kFastGemm},
    {"fast: NaN counts as zero", kFast, kFastHard},
    {"fast: scales of the first panel", kFast, kFastGemm},
    {"fast: BF16 ties up", kFast, kFastGemm},
    {"fast: no +0 joins the product", kFast, kFastGemm},

    {"beta is ignored", kEpilogue, "Gemm.ChangesWithEveryArgument"},
    {"bias is ignored", kEpilogue, "Gemm.ChangesWithEveryArgument"},
    {"in place rounds once", kEpilogue, "Epilogue.RoundsTwiceInPlaceAndOnceOutOfPlace"},
    {"no +0 joins the product", kEpilogue, "Epilogue.KeepsNegativeZeroOnlyWhereTheFactorIsOne"},
    {"D scale after the cast", kEpilogue, "Output.IsCastWithTheOverflowOfItsType"},

    {"True does not refill", kCache, kUses},
    {"None uses the cache", kCache, kUses},
    {"False hides a stale copy", kCache, kUses},
    {"copy of another recipe", kCache, kUses},
    {"parameters follow the recipe", kCache, kUses},
    {"cache key without usage", kCache, kUses},
    {"stale columnwise half", kColumnwise, kUses},
    {"rowwise bytes as columnwise", kColumnwise, kUses},
    {"source of the first fill", kProvenance, kUses},

    {"amax is not reset", kState, "DelayedScaling.ForgetsWhatLeftTheHistory"},
    {"amax is reset too early", kState, "DelayedScaling.MostRecentTakesTheLastAmax"},
    {"history does not roll", kState, "DelayedScaling.TakesTheMaximumOfTheHistory"},
    {"the last amax alone counts", kState, "DelayedScaling.TheLargestAmaxSinceTheLastUpdateCounts"},
    {"recompute takes the scale of now", kState,
     "Delayed.ARecomputationUsesTheScalesOfItsForwardAndRecordsNothing"},
    {"recompute records its amax", kState,
     "Delayed.ARecomputationUsesTheScalesOfItsForwardAndRecordsNothing"},
    {"a cached use records its amax", kState, "Delayed.ACachedFalseRecordsNoAmaxOfTheWeight"},
    {"an evaluation moves the scale", kState,
     "Delayed.AnEvaluationUpdatesNoScaleAndItsAmaxCountsInTheNextForward"},
    {"main_grad is not zeroed", kState, "EngineSteps.EachStartsFromAMainGradOfZeros"},
    {"True does not overwrite", kState, "*/ScenarioTable.*"},
    {"update is fused", kState, "ReferenceBackend.UpdatesInThreeRoundings"},

    {"comparer is blind to NaN", kBlind, "Compare.EveryBitCounts"},
    {"comparer is blind to -0", kBlind, "Compare.EveryBitCounts"},
    {"comparer is blind to length", kBlind, "Compare.LengthShapeAndDtypeCount"},
    {"comparer skips scales", kBlind, "Compare.ATensorCountsWhateverItsName"},

    {"digest skips the last byte", kProvenance, "TensorDigest.*"},
    {"digest without dtype", kProvenance, "TensorDigest.*"},
    {"digest without shape", kProvenance, "TensorDigest.*"},
    {"value digest loses -0", kProvenance, "LogicalDigest.KeepsNegativeZero"},
    {"value digest of one scale", kProvenance, "LogicalDigest.UsesTheScaleOfTheElementsBlock"},
    {"provenance hides staleness", kProvenance, "*/ScenarioTable.*"},
    {"staleness has no name", kProvenance, "CausesTest.BytesOfAnotherWeightThanTheOneNowAreStale"},
    {"dropped terms are not counted", kProvenance,
     "ReferenceBackend.CountsTheTermsThatAFollowedSplitDrops"},

    {"trace forgets the split", kFiles, "WrittenTrace.KeepsEveryFieldOfARecord"},
    {"a cut trace is read", kFiles, "WrittenTrace.RefusesALastLineThatIsCutShort"},
    {"overlaps are allowed", kFiles, "SafetensorsHeader.TheRangesCoverTheDataExactly"},
    {"holes are allowed", kFiles, "SafetensorsHeader.TheRangesCoverTheDataExactly"},
    {"spare bytes are allowed", kFiles, "SafetensorsHeader.TheRangesCoverTheDataExactly"},
    {"sizes may wrap", kFiles, "SafetensorsHeader.TheSizeOfAShapeDoesNotOverflow"},
    {"ranges beyond the file", kFiles, "SafetensorsHeader.DataOffsetsAreBeginAndEnd"},
    {"a tensor may stand twice", kFiles, "SafetensorsHeader.EveryKeyStandsOnce"},
    {"the last of equal keys", kFiles, "StrictJson.RefusesAKeyTwiceAtAnyDepth"},
};

}  // namespace

std::span<const MutantRow> mutant_table() { return kRows; }

}  // namespace samebits::properties
