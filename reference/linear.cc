#include "reference/linear.h"

#include <stdexcept>

namespace samebits::reference {
namespace {

// How an operand is quantised; the columnwise copy is that of the transposed matrix.
struct Role {
  Granularity granularity;
  Fp8 format;
  InputType input;
};

class Recipe {
 public:
  Recipe(const LinearRecipe& recipe, int threads) : recipe_(recipe), threads_(threads) {}

  Role activation(InputType input) const { return {one_dimensional(), Fp8::kE4M3, input}; }
  Role gradient(InputType input) const {
    return {one_dimensional(), recipe_.hybrid ? Fp8::kE5M2 : Fp8::kE4M3, input};
  }
  Role weight(InputType input) const {
    const bool block = recipe_.kind == RecipeKind::kBlock;
    return {block ? Granularity::k128x128 : one_dimensional(), Fp8::kE4M3, input};
  }

  Quantized rowwise(const Matrix& x, const Role& role) const {
    QuantizeSpec spec;
    spec.granularity = role.granularity;
    spec.rule.format = role.format;
    spec.rule.power_of_two = recipe_.power_of_two;
    if (recipe_.kind == RecipeKind::kBlock) spec.rule.largest = largest_finite(role.input);
    spec.threads = threads_;
    return quantize(x, spec);
  }
  Quantized columnwise(const Matrix& x, const Role& role) const {
    return rowwise(x.transpose(), role);
  }

  GemmSpec fprop() const { return spec(recipe_.kind == RecipeKind::kCurrent); }
  GemmSpec dgrad() const { return spec(false); }
  GemmSpec wgrad(float beta) const {
    GemmSpec result = spec(false);
    result.output = OutputType::kFP32;
    result.beta = beta;
    result.in_place = true;
    return result;
  }

 private:
  Granularity one_dimensional() const {
    switch (recipe_.kind) {
      case RecipeKind::kCurrent:
        return Granularity::kTensor;
      case RecipeKind::kBlock:
        return Granularity::k1x128;
      case RecipeKind::kMx:
        return Granularity::k1x32;
    }
    throw std::invalid_argument("linear: no such recipe");
  }
  GemmSpec spec(bool fast_accumulation) const {
    GemmSpec result;
    // No tensor core of Hopper takes 1x32 scales.
    result.model = recipe_.kind == RecipeKind::kMx ? blackwell() : hopper(fast_accumulation);
    result.threads = threads_;
    return result;
  }

  LinearRecipe recipe_;
  int threads_;
};

}  // namespace

LinearOutputs linear(const LinearInputs& in, const LinearRecipe& recipe, const Matrix& main_grad,
                     float beta, int threads) {
  const Recipe as(recipe, threads);
  const Role x = as.activation(in.x_type), w = as.weight(in.w_type), dy = as.gradient(in.dy_type);

  // Which copy is A and which is B decides bits: the library is not symmetric in them.
  const Quantized x_row = as.rowwise(in.x, x), x_col = as.columnwise(in.x, x);
  const Quantized w_row = as.rowwise(in.w, w), w_col = as.columnwise(in.w, w);
  const Quantized dy_row = as.rowwise(in.dy, dy), dy_col = as.columnwise(in.dy, dy);
  return {
      .y = gemm({.a = &w_row, .b = &x_row, .bias = in.bias}, as.fprop()),
      .dx = gemm({.a = &w_col, .b = &dy_row}, as.dgrad()),
      .dw = gemm({.a = &x_col, .b = &dy_col, .c = &main_grad}, as.wgrad(beta)),
  };
}

}  // namespace samebits::reference
