// fprop, dgrad and wgrad of one linear layer under a recipe: an oracle for the engine, with no
// cache in it.
#pragma once

#include "reference/gemm.h"

namespace samebits::reference {

enum class RecipeKind { kCurrent, kBlock, kMx };

struct LinearRecipe {
  RecipeKind kind = RecipeKind::kBlock;
  bool power_of_two = true;
  bool hybrid = false;  // the incoming gradient is E5M2
};

// x [tokens, in], w [out, in], dy [tokens, out], bias [out] or null, main_grad [out, in] (FP32,
// accumulated into). `types` are what x, w and dy were stored as.
struct LinearInputs {
  Matrix x, w, dy;
  const Eigen::VectorXf* bias = nullptr;
  InputType x_type = InputType::kBF16, w_type = InputType::kBF16, dy_type = InputType::kBF16;
};

struct LinearOutputs {
  Matrix y;   // [tokens, out], BF16
  Matrix dx;  // [tokens, in], BF16
  Matrix dw;  // [out, in], FP32: beta * main_grad + dw, in place
};

LinearOutputs linear(const LinearInputs& in, const LinearRecipe& recipe, const Matrix& main_grad,
                     float beta, int threads = 1);

}  // namespace samebits::reference
