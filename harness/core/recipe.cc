#include "harness/core/recipe.h"

#include <algorithm>
#include <array>

namespace samebits {

ScaleBlock scale_block(ScaleMode mode, const Shape& shape) {
  switch (mode) {
    case ScaleMode::kRow:
      return {1, std::max<std::int64_t>(1, shape.at(1))};
    case ScaleMode::k1x128:
      return {1, 128};
    case ScaleMode::k128x128:
      return {128, 128};
    case ScaleMode::k1x32:
      return {1, 32};
    case ScaleMode::kTensor:
      break;
  }
  return {std::max<std::int64_t>(1, shape.at(0)), std::max<std::int64_t>(1, shape.at(1))};
}

std::string_view scale_mode_name(ScaleMode mode) {
  constexpr std::array<std::string_view, 5> kNames{"tensorwise", "rowwise", "1x128", "128x128",
                                                   "1x32"};
  return kNames.at(static_cast<std::size_t>(mode));
}

std::string_view operation_name(Operation operation) {
  constexpr std::array<std::string_view, 4> kNames{"fprop", "dgrad", "wgrad", "update"};
  return kNames.at(static_cast<std::size_t>(operation));
}

Recipe Recipe::defaults(RecipeKind kind) {
  Recipe recipe;
  recipe.kind = kind;
  recipe.power_of_two = kind == RecipeKind::kBlock || kind == RecipeKind::kMx;
  recipe.hybrid = kind == RecipeKind::kCurrent || kind == RecipeKind::kDelayed;
  return recipe;
}

QuantizeParameters Recipe::quantize(Role role) const {
  QuantizeParameters parameters;
  parameters.kind = kind;
  parameters.format = hybrid && role == Role::kGradient ? DType::kF8E5M2 : DType::kF8E4M3;
  parameters.power_of_two = power_of_two;
  switch (kind) {
    case RecipeKind::kBlock:
      parameters.mode = role == Role::kWeight ? ScaleMode::k128x128 : ScaleMode::k1x128;
      break;
    case RecipeKind::kMx:
      parameters.mode = ScaleMode::k1x32;
      break;
    case RecipeKind::kCurrent:
    case RecipeKind::kDelayed:
      parameters.mode = ScaleMode::kTensor;
      break;
  }
  return parameters;
}

bool Recipe::fast_accumulation(Operation operation) const {
  return kind != RecipeKind::kBlock && operation == Operation::kFprop;
}

namespace {
constexpr std::array<std::string_view, 4> kRecipeNames{"current", "block", "mx", "delayed"};

std::string scales_text(RecipeKind kind, bool power_of_two) {
  switch (kind) {
    case RecipeKind::kMx:
      return "E8M0 scales";
    case RecipeKind::kDelayed:
      return "scales from the amax history";
    default:
      return power_of_two ? "power-of-two scales" : "FP32 scales";
  }
}
}  // namespace

std::string_view recipe_name(RecipeKind kind) {
  return kRecipeNames.at(static_cast<std::size_t>(kind));
}

std::optional<RecipeKind> recipe_from_name(std::string_view name) {
  const auto found = std::find(kRecipeNames.begin(), kRecipeNames.end(), name);
  if (found == kRecipeNames.end()) return std::nullopt;
  return static_cast<RecipeKind>(found - kRecipeNames.begin());
}

std::string describe(const QuantizeParameters& parameters) {
  return std::string(recipe_name(parameters.kind)) + " " +
         std::string(scale_mode_name(parameters.mode)) + ", " +
         scales_text(parameters.kind, parameters.power_of_two) + ", " +
         std::string(dtype_name(parameters.format));
}

std::string describe(const Recipe& recipe) {
  std::string text = std::string(recipe_name(recipe.kind)) + ", " +
                     scales_text(recipe.kind, recipe.power_of_two) +
                     (recipe.hybrid ? ", E4M3 with E5M2 gradients" : ", E4M3");
  if (recipe.kind == RecipeKind::kDelayed) {
    text += ", margin " + std::to_string(recipe.margin) + ", history " +
            std::to_string(recipe.history_length) +
            (recipe.most_recent ? ", most recent" : ", maximum");
  }
  return text;
}

}  // namespace samebits
