// What is done, free of how: the ordered operations of a few training steps, the same for both
// arms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/recipe.h"

namespace samebits {

// The caller's flag of weight caching ("is this the first microbatch?"), as a forward passes it.
//   kNone   caching off: quantise afresh, leave a cached copy alone
//   kTrue   quantise into the cache
//   kFalse  use the cached copy, whatever the weight is now; create it where it is missing
enum class CacheFlag { kNone, kTrue, kFalse };
std::string_view flag_name(CacheFlag flag);  // "None", "True", "False"

// How a backward treats main_grad. kOverwriteFirst: beta is 0 exactly when the last forward of that
// microbatch ran with True (as fused weight gradients do), 1 otherwise. main_grad is zeroed at the
// start of each step either way.
enum class MainGrad { kAccumulate, kOverwriteFirst };
std::string_view main_grad_name(MainGrad mode);

enum class OpKind {  // op_name follows this order
  kBeginStep,        // main_grad = 0
  kForward,
  kRecompute,  // a forward again, of a microbatch whose backward is still to come
  kBackward,
  kEvaluate,  // a forward on an input of its own; needs no columnwise copies
  kUpdate,
  kSetRecipe,
};

std::string_view op_name(OpKind kind);  // "begin step", "forward", ...
inline constexpr int kOpKinds = 7;

struct Op {
  OpKind kind = OpKind::kForward;
  int step = 0;
  int microbatch = 0;  // kEvaluate: the training microbatch that follows; kUpdate: the last one
  CacheFlag flag = CacheFlag::kNone;  // of the cached arm; the uncached arm passes None everywhere
  Recipe recipe;                      // kSetRecipe
};

struct Program {
  std::string name;  // the scenario it was made from
  int steps = 0;
  int microbatches = 0;
  Recipe recipe;  // in force at the start
  MainGrad main_grad = MainGrad::kAccumulate;
  std::vector<Op> ops;

  std::int64_t inputs() const { return std::int64_t{steps} * microbatches; }  // microbatches in all
  std::int64_t evaluations() const;
};

// What the engine relies on and a program of unknown origin may lack: steps and microbatches within
// the counts, a forward before each backward and recomputation of its microbatch, every recipe of
// the first one's kind. Throws Error.
void check_program(const Program& program);

}  // namespace samebits
