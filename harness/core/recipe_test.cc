#include "harness/core/recipe.h"

#include <gtest/gtest.h>

#include "harness/core/arm.h"
#include "harness/core/error.h"

namespace samebits {
namespace {

constexpr RecipeKind kKinds[] = {RecipeKind::kCurrent, RecipeKind::kBlock, RecipeKind::kMx,
                                 RecipeKind::kDelayed};

TEST(Recipes, AreFoundByTheirNames) {
  for (const RecipeKind kind : kKinds) EXPECT_EQ(recipe_from_name(recipe_name(kind)), kind);
  for (const char* name : {"", "Block", "blocks", "tensorwise"}) {
    EXPECT_EQ(recipe_from_name(name), std::nullopt);
  }
}

TEST(Recipes, DefaultToWhatTrainingRunsDo) {
  const Recipe current = Recipe::defaults(RecipeKind::kCurrent);
  EXPECT_TRUE(current.hybrid);
  EXPECT_FALSE(current.power_of_two);
  const Recipe block = Recipe::defaults(RecipeKind::kBlock);
  EXPECT_FALSE(block.hybrid);
  EXPECT_TRUE(block.power_of_two);
  EXPECT_FALSE(Recipe::defaults(RecipeKind::kMx).hybrid);
  const Recipe delayed = Recipe::defaults(RecipeKind::kDelayed);
  EXPECT_TRUE(delayed.hybrid);
  EXPECT_EQ(delayed.margin, 0);
  EXPECT_EQ(delayed.history_length, 1024);
  EXPECT_FALSE(delayed.most_recent);
}

TEST(Recipes, ShareScalesAsTheirGranularitySays) {
  const auto mode = [](RecipeKind kind, Role role) {
    return Recipe::defaults(kind).quantize(role).mode;
  };
  for (const Role role : {Role::kActivation, Role::kWeight, Role::kGradient}) {
    EXPECT_EQ(mode(RecipeKind::kCurrent, role), ScaleMode::kTensor);
    EXPECT_EQ(mode(RecipeKind::kDelayed, role), ScaleMode::kTensor);
    EXPECT_EQ(mode(RecipeKind::kMx, role), ScaleMode::k1x32);
    EXPECT_EQ(mode(RecipeKind::kBlock, role),
              role == Role::kWeight ? ScaleMode::k128x128 : ScaleMode::k1x128);
  }
}

TEST(Recipes, HybridMakesOnlyTheIncomingGradientE5M2) {
  for (const RecipeKind kind : kKinds) {
    Recipe recipe = Recipe::defaults(kind);
    for (const bool hybrid : {false, true}) {
      recipe.hybrid = hybrid;
      EXPECT_EQ(recipe.quantize(Role::kGradient).format, hybrid ? DType::kF8E5M2 : DType::kF8E4M3);
      EXPECT_EQ(recipe.quantize(Role::kActivation).format, DType::kF8E4M3);
      EXPECT_EQ(recipe.quantize(Role::kWeight).format, DType::kF8E4M3);
    }
  }
}

TEST(Recipes, AccumulateFastOnlyForwardAndNeverWithBlocks) {
  for (const RecipeKind kind : kKinds) {
    const Recipe recipe = Recipe::defaults(kind);
    EXPECT_EQ(recipe.fast_accumulation(Operation::kFprop), kind != RecipeKind::kBlock);
    EXPECT_FALSE(recipe.fast_accumulation(Operation::kDgrad));
    EXPECT_FALSE(recipe.fast_accumulation(Operation::kWgrad));
  }
}

TEST(Recipes, AreDescribedInOneLine) {
  EXPECT_EQ(describe(Recipe::defaults(RecipeKind::kBlock)), "block, power-of-two scales, E4M3");
  EXPECT_EQ(describe(Recipe::defaults(RecipeKind::kCurrent)),
            "current, FP32 scales, E4M3 with E5M2 gradients");
  EXPECT_EQ(describe(Recipe::defaults(RecipeKind::kMx)), "mx, E8M0 scales, E4M3");
  EXPECT_EQ(describe(Recipe::defaults(RecipeKind::kDelayed)),
            "delayed, scales from the amax history, E4M3 with E5M2 gradients, margin 0, history "
            "1024, maximum");
  EXPECT_EQ(describe(Recipe::defaults(RecipeKind::kBlock).quantize(Role::kWeight)),
            "block 128x128, power-of-two scales, F8_E4M3");
}

TEST(ScaleBlocks, CoverWhatOneScaleCovers) {
  const Shape shape{200, 300};
  const auto block = [&](ScaleMode mode) {
    const ScaleBlock result = scale_block(mode, shape);
    return std::pair(result.rows, result.cols);
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(block(ScaleMode::kTensor), Pair(200, 300));
  EXPECT_EQ(block(ScaleMode::kRow), Pair(1, 300));
  EXPECT_EQ(block(ScaleMode::k1x128), Pair(1, 128));
  EXPECT_EQ(block(ScaleMode::k128x128), Pair(128, 128));
  EXPECT_EQ(block(ScaleMode::k1x32), Pair(1, 32));
}

TEST(Arms, AreABackendAndWhetherItCaches) {
  const Arm arm = parse_arm("cuda/cached");
  EXPECT_EQ(arm.backend, "cuda");
  EXPECT_TRUE(arm.cached);
  EXPECT_EQ(parse_arm("reference/uncached").name(), "reference/uncached");
  for (const char* text :
       {"", "/", "cuda", "cuda/", "/cached", "cuda/Cached", "cuda/cached/", "cached/cuda"}) {
    EXPECT_THROW(parse_arm(text), Error) << text;
  }
}

}  // namespace
}  // namespace samebits
