// The FP8 recipes: which formats, which scales, which accumulation. Plain values that can be
// compared and recorded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/core/tensor.h"

namespace samebits {

enum class RecipeKind { kCurrent, kBlock, kMx, kDelayed };

// Which elements of a [rows, cols] operand share one scale.
enum class ScaleMode { kTensor, kRow, k1x128, k128x128, k1x32 };
struct ScaleBlock {
  std::int64_t rows, cols;
};
// The block that one scale covers in an operand of this shape.
ScaleBlock scale_block(ScaleMode mode, const Shape& shape);
std::string_view scale_mode_name(ScaleMode mode);

// The three operands of a linear layer.
enum class Role { kActivation, kWeight, kGradient };
// Its three GEMMs.
enum class Operation { kFprop, kDgrad, kWgrad, kUpdate };
std::string_view operation_name(Operation operation);

// What decides the bytes of one quantised operand, beside the source and, for delayed scaling, the
// scale in force. A cached copy keeps the parameters it was made with.
struct QuantizeParameters {
  RecipeKind kind = RecipeKind::kBlock;
  DType format = DType::kF8E4M3;
  ScaleMode mode = ScaleMode::k1x128;
  bool power_of_two = true;  // kCurrent and kBlock; kMx always, kDelayed never

  bool operator==(const QuantizeParameters&) const = default;
};
std::string describe(const QuantizeParameters& parameters);

struct Recipe {
  RecipeKind kind = RecipeKind::kBlock;
  bool power_of_two = true;
  bool hybrid = false;        // the incoming gradient dy is E5M2
  int margin = 0;             // kDelayed: scale = max * 2^-margin / amax
  int history_length = 1024;  // kDelayed
  bool most_recent = false;   // kDelayed: the last amax instead of the history's maximum

  static Recipe defaults(RecipeKind kind);
  QuantizeParameters quantize(Role role) const;
  bool fast_accumulation(Operation operation) const;

  bool operator==(const Recipe&) const = default;
};

std::string_view recipe_name(RecipeKind kind);  // "current", "block", "mx", "delayed"
std::optional<RecipeKind> recipe_from_name(std::string_view name);
std::string describe(const Recipe& recipe);  // "block, power-of-two scales, E4M3"

}  // namespace samebits
