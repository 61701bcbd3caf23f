#include "properties/random_step.h"

#include <array>

#include "harness/core/scenario.h"
#include "harness/core/values.h"
#include "properties/generators.h"
#include "reference/formats.h"

namespace samebits::properties {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t bits() { return mixed(seed_, count_++); }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(limit));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class T, std::size_t N>
  T of(const std::array<T, N>& choices) {
    return choices[static_cast<std::size_t>(below(static_cast<std::int64_t>(N)))];
  }

 private:
  std::uint64_t seed_, count_ = 0;
};

// Mostly ordinary numbers; from one in 10 to one in 100000 is of any kind.
HostTensor random_tensor(Draw& draw, DType dtype, Shape shape) {
  const std::vector<FloatKind> kinds = every_kind();
  const std::int64_t rarity = draw.of(std::array<std::int64_t, 4>{10, 1000, 100000, 1 << 30});
  const std::uint64_t seed = draw.bits();
  std::vector<std::byte> bytes;
  const auto put = [&bytes](auto value) {
    const auto raw = std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  };
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    const std::uint64_t random = mixed(seed, static_cast<std::uint64_t>(i));
    const std::uint64_t choice = mixed(~seed, static_cast<std::uint64_t>(i));
    const bool odd = choice % static_cast<std::uint64_t>(rarity) == 0;
    const FloatKind kind = odd ? kinds[choice / 7 % kinds.size()] : FloatKind::kOrdinary;
    const float value = float_of(kind, random);
    if (dtype == DType::kF32) put(value);
    if (dtype == DType::kBF16) put(to_bf16(value));
    if (dtype == DType::kF16) {
      put(reference::FP16::round(value, reference::Rounding::kNearestEven,
                                 reference::Overflow::kToInfinityOrNan)
              .bits());
    }
  }
  return HostTensor::own(dtype, std::move(shape), std::move(bytes));
}

Recipe random_recipe(Draw& draw) {
  Recipe recipe = Recipe::defaults(draw.of(
      std::array{RecipeKind::kCurrent, RecipeKind::kBlock, RecipeKind::kMx, RecipeKind::kDelayed}));
  recipe.hybrid = draw.one_in(2);
  const bool chooses = recipe.kind == RecipeKind::kCurrent || recipe.kind == RecipeKind::kBlock;
  if (chooses) recipe.power_of_two = draw.one_in(2);
  return recipe;
}

constexpr std::array kDTypes{DType::kF32, DType::kBF16, DType::kF16};

CheckedLayer random_layer(Draw& draw, std::int64_t tokens, std::int64_t in, std::int64_t out,
                          std::int64_t slices) {
  CheckedLayer checked;
  checked.layer.name = "layer";
  checked.layer.weight = random_tensor(draw, draw.of(kDTypes), {out, in});
  if (draw.one_in(2)) checked.layer.bias = random_tensor(draw, draw.of(kDTypes), {out});
  checked.inputs = {draw.bits(), "layer", tokens, in, out, {}, {}};
  checked.inputs.x = random_tensor(draw, draw.of(kDTypes), {slices, tokens, in});
  if (draw.one_in(2)) {
    checked.inputs.dy = random_tensor(draw, draw.of(kDTypes), {slices, tokens, out});
  }
  return checked;
}

}  // namespace

CheckRequest random_step(std::uint64_t seed) {
  Draw draw(seed);
  CheckRequest request;
  const int steps = draw.one_in(4) ? 2 : 1;
  const int microbatches = 1 + static_cast<int>(draw.below(draw.one_in(2) ? 1 : 3));
  const auto main_grad = draw.one_in(2) ? MainGrad::kAccumulate : MainGrad::kOverwriteFirst;
  request.program = make_scenario(draw.one_in(4) ? "recompute" : "train", random_recipe(draw),
                                  main_grad, steps, microbatches);
  const auto size = [&draw] { return 16 * (1 + draw.below(draw.one_in(3) ? 17 : 6)); };
  const std::int64_t tokens = size(), in = size(), out = size();
  request.layers.push_back(random_layer(draw, tokens, in, out, steps * microbatches));
  return request;
}

CheckRequest tall_step(std::uint64_t seed) {
  Draw draw(seed);
  CheckRequest request;
  request.program = make_scenario("train", random_recipe(draw), MainGrad::kAccumulate, 1, 1);
  const std::int64_t tokens = draw.of(std::array<std::int64_t, 4>{16384, 40000, 96784, 131072});
  const auto size = [&draw] { return 32 * (1 + draw.below(4)); };
  const std::int64_t in = size(), out = size();
  request.layers.push_back(random_layer(draw, tokens, in, out, 1));
  return request;
}

std::string describe(const CheckRequest& request) {
  const CheckedLayer& checked = request.layers.front();
  return request.program.name + ", " + samebits::describe(request.program.recipe) + ", " +
         std::string(main_grad_name(request.program.main_grad)) + ", tokens " +
         std::to_string(checked.inputs.tokens) + ", weight " +
         std::string(dtype_name(checked.layer.weight.dtype)) + " " +
         shape_text(checked.layer.weight.shape) + ", x " +
         std::string(dtype_name(checked.inputs.x->dtype));
}

}  // namespace samebits::properties
