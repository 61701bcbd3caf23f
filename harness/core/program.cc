#include "harness/core/program.h"

#include <algorithm>
#include <array>
#include <set>

#include "harness/core/error.h"

namespace samebits {
namespace {

[[noreturn]] void refuse(std::size_t op, const std::string& reason) {
  throw Error("operation " + std::to_string(op) + " of the program: " + reason);
}

}  // namespace

std::string_view op_name(OpKind kind) {
  constexpr std::array<std::string_view, kOpKinds> kNames{
      "begin step", "forward", "recompute", "backward", "evaluate", "update", "set recipe"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::int64_t Program::evaluations() const {
  return std::count_if(ops.begin(), ops.end(),
                       [](const Op& op) { return op.kind == OpKind::kEvaluate; });
}

void check_program(const Program& program) {
  std::set<int> saved;  // microbatches whose forward waits for its backward
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.step < 0 || op.step >= program.steps) refuse(i, "its step is none of the program's");
    if (op.microbatch < 0 || op.microbatch >= program.microbatches) {
      refuse(i, "its microbatch is none of the program's");
    }
    const bool needs_forward = op.kind == OpKind::kRecompute || op.kind == OpKind::kBackward;
    if (needs_forward && !saved.contains(op.microbatch)) {
      refuse(i, "no forward of its microbatch comes before it");
    }
    if (op.kind == OpKind::kForward) saved.insert(op.microbatch);
    if (op.kind == OpKind::kBackward) saved.erase(op.microbatch);
    if (op.kind == OpKind::kSetRecipe && op.recipe.kind != program.recipe.kind) {
      refuse(i, "it sets a recipe of another kind");
    }
  }
}

}  // namespace samebits
