// How far an output of a GEMM can be from the exact result, for any accumulation model: a theorem,
// where bits are not promised.
//
// The exact result of D[n][m] is alpha * sum over all k of scale_a * a * scale_b * b, + beta * C +
// bias, times scale_d, none of it rounded. The bound follows the arithmetic of gemm.h step by step
// in the numbers of approximate.h; a step adds to the error of what came before it
//   fused sum   t products that are not zero, and c: with E the largest exponent of a term, each
//               term is cut by less than 2^(E - aligned_fraction_bits), half of it to nearest.
//               2^E <= max(2^(ea + eb), |c|, 2^-126): c is normal or has FP32's least exponent.
//               (A product may be less than 2^(ea + eb): subnormals are not normalised.)
//               Then the sum v is cut by less than 2^-result_fraction_bits * max(|v|, 2^-126).
//               Nothing, where no term is there.
//   promotion   recursive summation in FP32: at most u * |T'| a sum, u = 2^-24, with T' the
//               computed partial sum. Over n chains that is within gamma_(n-1) * sum |chain|,
//               gamma_n = nu / (1 - nu) (Higham, 2nd ed., section 4.2); the first is added to 0.
//   scales      each product in FP32: max(u * |x|, 2^-150), the second where it is subnormal; the
//               fma with a block's scale rounds once.
//   split K     the slices are summed as chains are; the terms of a lost tail, all of them, are
//               error.
//   epilogue    each rounding of epilogue.h, in its order: FP32, then the output type.
// A partial sum counts by its magnitude, so signs that cancel make the bound small as well. Over K
// products of magnitudes about p, without promotion, the first order is
//   K (1 + 1/products_per_sum) 2^-aligned_fraction_bits max(p, |c|)
//     + K / products_per_sum 2^-result_fraction_bits |c|.
// A model can reach it: see the tests. There is no bound (infinity) where an operand, a scale, C or
// the bias is not finite, or where an overflow cannot be excluded; FP8 output saturates instead.
#pragma once

#include <limits>

#include "reference/gemm.h"
#include "reference/operand.h"

namespace samebits::reference {

// |D[n][m] - exact| <= bound(m, n), from the operands themselves. Keeps references to the inputs
// and to what the spec points to. Throws std::invalid_argument where gemm() would.
class ErrorBound {
 public:
  ErrorBound(const GemmInputs& in, const GemmSpec& spec);
  double operator()(Eigen::Index m, Eigen::Index n) const;

 private:
  GemmInputs in_;
  GemmSpec spec_;
  Operand a_, b_;
};

// What is known of operands that are not at hand. Defaults say nothing more than the first lines.
struct OperandNorms {
  Granularity granularity = Granularity::kTensor;
  Fp8 format = Fp8::kE4M3;
  double largest = 0;        // >= |code|, without scales
  double largest_scale = 1;  // >= |scale|, of 1x32 too
};
struct GemmNorms {
  std::int64_t k = 0;
  OperandNorms a, b;
  double sum_abs = std::numeric_limits<double>::infinity();  // >= the sum of |a_k b_k| of the codes
  double largest_c = 0;
  double largest_bias = 0;
};

// The same for every output of every GEMM within these norms. Throws std::invalid_argument where
// the model is malformed.
double error_bound(const GemmNorms& norms, const GemmSpec& spec);

}  // namespace samebits::reference
