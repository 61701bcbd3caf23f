// What the caller's flag does to the cached copy, seen through a backend that only counts.
#include "harness/core/weight_cache.h"

#include <gtest/gtest.h>

#include "harness/core/error.h"

namespace samebits {
namespace {

// The "bytes" of a tensor: where they came from. Shared by every handle.
struct Cell : Storage {
  int value = 0;
};
int value(const Tensor& tensor) { return static_cast<const Cell&>(*tensor.storage).value; }

Tensor cell(int value) {
  auto storage = std::make_shared<Cell>();
  storage->value = value;
  return {DType::kF32, {1, 1}, storage};
}
void write(Tensor& tensor, int value) {
  if (!tensor) tensor = cell(0);
  static_cast<Cell&>(*tensor.storage).value = value;
}

// Quantising copies the source's number; transposing copies the operand's.
class CountingBackend : public Backend {
 public:
  int quantised = 0, transposed = 0;
  QuantizeSpec last;

  std::string_view name() const override { return "counting"; }
  void quantize(const Tensor& source, const QuantizeSpec& spec, QuantizedTensor& out) override {
    ++quantised;
    last = spec;
    out.amax = static_cast<float>(value(source));
    if (spec.rowwise) fill(out.rowwise, spec, value(source));
    if (spec.columnwise) fill(out.columnwise, spec, value(source));
  }
  QuantizedOperand transpose(const QuantizedOperand& operand) override {
    ++transposed;
    return {cell(value(operand.codes)), cell(value(operand.scale_inv)), operand.mode};
  }

  Tensor upload(const HostTensor&) override { throw Error("not asked of a cache"); }
  HostTensor download(const Tensor&) override { throw Error("not asked of a cache"); }
  Tensor zeros(DType, const Shape&) override { throw Error("not asked of a cache"); }
  bool multiplies(ScaleMode, ScaleMode) const override { return true; }
  GemmRecord gemm(const GemmSpec&, const QuantizedOperand&, const QuantizedOperand&, const Tensor&,
                  Tensor&) override {
    throw Error("not asked of a cache");
  }
  float amax(const Tensor&) override { throw Error("not asked of a cache"); }
  Tensor update(const Tensor&, const Tensor&, float) override {
    throw Error("not asked of a cache");
  }

 private:
  static void fill(QuantizedOperand& operand, const QuantizeSpec& spec, int source) {
    operand.mode = spec.parameters.mode;
    write(operand.codes, source);
    write(operand.scale_inv, source);
  }
};

evidence::Sha256Value digest(int value) {
  evidence::Sha256Value result{};
  result[0] = static_cast<std::byte>(value);
  return result;
}

struct WeightCacheTest : testing::Test {
  CountingBackend backend;
  WeightCache cache;
  Recipe recipe = Recipe::defaults(RecipeKind::kBlock);

  // A forward while the weight is `weight`.
  WeightUse use(CacheFlag flag, int weight, bool columnwise = true,
                std::optional<float> scale = {}) {
    return cache.use(backend, cell(weight), digest(weight),
                     {flag, recipe.quantize(Role::kWeight), scale, columnwise});
  }
};

int bytes(const WeightUse& use) { return value(use.copy.bytes.rowwise.codes); }
int columnwise_bytes(const WeightUse& use) { return value(use.copy.bytes.columnwise.codes); }

TEST_F(WeightCacheTest, NoneQuantisesAfreshEachTime) {
  for (const int weight : {1, 2, 2}) {
    const WeightUse used = use(CacheFlag::kNone, weight);
    EXPECT_TRUE(used.cast);
    EXPECT_EQ(bytes(used), weight);
    EXPECT_EQ(used.copy.source, digest(weight));
  }
  EXPECT_EQ(backend.quantised, 3);
  EXPECT_FALSE(cache.copy().has_value());
}

TEST_F(WeightCacheTest, NoneNeitherReadsNorWritesAnExistingCopy) {
  const WeightUse cached = use(CacheFlag::kTrue, 1);
  EXPECT_EQ(bytes(use(CacheFlag::kNone, 2)), 2);
  EXPECT_EQ(bytes(cached), 1);
  EXPECT_EQ(bytes(use(CacheFlag::kFalse, 3)), 1);
}

TEST_F(WeightCacheTest, NoneLeavesACopyOfAnotherRecipeAlone) {
  use(CacheFlag::kTrue, 1);
  recipe = Recipe::defaults(RecipeKind::kMx);
  use(CacheFlag::kNone, 2);
  ASSERT_TRUE(cache.copy().has_value());
  EXPECT_EQ(cache.copy()->parameters.kind, RecipeKind::kBlock);
}

TEST_F(WeightCacheTest, TrueQuantisesInPlaceSoThatOldHandlesSeeTheNewBytes) {
  const WeightUse first = use(CacheFlag::kTrue, 1);
  EXPECT_EQ(bytes(first), 1);
  const WeightUse second = use(CacheFlag::kTrue, 2);
  EXPECT_TRUE(second.cast);
  EXPECT_EQ(second.copy.source, digest(2));
  EXPECT_EQ(first.copy.bytes.rowwise.codes.storage, second.copy.bytes.rowwise.codes.storage);
  EXPECT_EQ(bytes(first), 2);
  EXPECT_EQ(columnwise_bytes(first), 2);
  EXPECT_EQ(backend.quantised, 2);
}

TEST_F(WeightCacheTest, FalseUsesTheCopyWhateverTheWeightIsNow) {
  use(CacheFlag::kTrue, 1);
  const WeightUse later = use(CacheFlag::kFalse, 2);
  EXPECT_FALSE(later.cast);
  EXPECT_EQ(bytes(later), 1);
  EXPECT_EQ(columnwise_bytes(later), 1);
  EXPECT_EQ(later.copy.source, digest(1));
  EXPECT_EQ(backend.quantised, 1);
}

TEST_F(WeightCacheTest, FalseUsesTheBytesThatAreThereEvenIfTheyWerePoisoned) {
  WeightUse first = use(CacheFlag::kTrue, 1);
  write(first.copy.bytes.rowwise.codes, 255);
  EXPECT_EQ(bytes(use(CacheFlag::kFalse, 1)), 255);
  EXPECT_EQ(bytes(use(CacheFlag::kTrue, 1)), 1);
}

TEST_F(WeightCacheTest, FalseCreatesAMissingCopy) {
  const WeightUse first = use(CacheFlag::kFalse, 1);
  EXPECT_TRUE(first.cast);
  EXPECT_EQ(bytes(first), 1);
  EXPECT_EQ(bytes(use(CacheFlag::kFalse, 2)), 1);
  EXPECT_EQ(backend.quantised, 1);
}

TEST_F(WeightCacheTest, AnEvaluationMakesNoColumnwiseHalf) {
  const WeightUse used = use(CacheFlag::kTrue, 1, false);
  EXPECT_FALSE(used.copy.bytes.columnwise);
  EXPECT_FALSE(backend.last.columnwise);
}

TEST_F(WeightCacheTest, AnEvaluationWithTrueKeepsTheColumnwiseHalfFresh) {
  use(CacheFlag::kTrue, 1);
  EXPECT_EQ(columnwise_bytes(use(CacheFlag::kTrue, 2, false)), 2);
}

TEST_F(WeightCacheTest, BlocksGetTheirColumnwiseHalfByTransposingTheCachedBytes) {
  use(CacheFlag::kTrue, 1, false);
  const WeightUse later = use(CacheFlag::kFalse, 2);
  EXPECT_FALSE(later.cast);
  EXPECT_EQ(bytes(later), 1);
  EXPECT_EQ(columnwise_bytes(later), 1);
  EXPECT_EQ(later.copy.source, digest(1));
  use(CacheFlag::kFalse, 2);
  EXPECT_EQ(backend.transposed, 1);
  EXPECT_EQ(backend.quantised, 1);
}

TEST_F(WeightCacheTest, OtherRecipesCountACopyWithoutColumnwiseHalfAsMissing) {
  for (const RecipeKind kind : {RecipeKind::kCurrent, RecipeKind::kMx, RecipeKind::kDelayed}) {
    SCOPED_TRACE(recipe_name(kind));
    recipe = Recipe::defaults(kind);
    use(CacheFlag::kTrue, 1, false);
    EXPECT_EQ(bytes(use(CacheFlag::kFalse, 2, false)), 1);  // rows are enough for an evaluation
    const WeightUse later = use(CacheFlag::kFalse, 2);
    EXPECT_TRUE(later.cast);
    EXPECT_EQ(bytes(later), 2);
    EXPECT_EQ(columnwise_bytes(later), 2);
    EXPECT_EQ(later.copy.source, digest(2));
  }
  EXPECT_EQ(backend.transposed, 0);
}

TEST_F(WeightCacheTest, ACopyKeepsItsParametersUnderTrueToo) {
  const QuantizeParameters made_with = recipe.quantize(Role::kWeight);
  use(CacheFlag::kTrue, 1);
  recipe.power_of_two = !recipe.power_of_two;
  EXPECT_EQ(use(CacheFlag::kFalse, 2).copy.parameters, made_with);
  EXPECT_EQ(use(CacheFlag::kTrue, 2).copy.parameters, made_with);
  EXPECT_EQ(backend.last.parameters, made_with);
  EXPECT_EQ(use(CacheFlag::kNone, 2).copy.parameters, recipe.quantize(Role::kWeight));
  EXPECT_EQ(backend.last.parameters, recipe.quantize(Role::kWeight));
}

TEST_F(WeightCacheTest, AnotherRecipeDropsTheCopy) {
  for (const CacheFlag flag : {CacheFlag::kTrue, CacheFlag::kFalse}) {
    recipe = Recipe::defaults(RecipeKind::kBlock);
    const WeightUse before = use(CacheFlag::kTrue, 1);
    recipe = Recipe::defaults(RecipeKind::kMx);
    const WeightUse after = use(flag, 2);
    EXPECT_TRUE(after.cast);
    EXPECT_EQ(bytes(after), 2);
    EXPECT_EQ(after.copy.parameters, recipe.quantize(Role::kWeight));
    EXPECT_EQ(bytes(before), 1);  // in buffers of its own
  }
}

TEST_F(WeightCacheTest, ACastTakesTheScaleInForce) {
  recipe = Recipe::defaults(RecipeKind::kDelayed);
  use(CacheFlag::kTrue, 1, true, 2.0F);
  EXPECT_EQ(backend.last.scale, 2.0F);
  use(CacheFlag::kTrue, 1, true, 4.0F);
  EXPECT_EQ(backend.last.scale, 4.0F);
}

}  // namespace
}  // namespace samebits
