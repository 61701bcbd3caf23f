// One FP8 GEMM as cuBLASLt runs it: D[n][m] = epilogue(A row m . B row n), both operands with K
// innermost ("TN").
#pragma once

#include "reference/epilogue.h"
#include "reference/quantize.h"
#include "reference/tensor_core.h"

namespace samebits::reference {

// Everything that decides bits beside the operands; a plain value. Sizes come from the operands:
// A [m, k], B [n, k].
struct GemmSpec {
  AccumulationModel model = hopper(false);
  OutputType output = OutputType::kBF16;
  float alpha = 1;
  float beta = 0;
  bool in_place = false;           // C is D's buffer: matters to the bits where beta is 1
  int split_k = 1;                 // slices of K as the library's record says; >= 1
  const float* scale_d = nullptr;  // FP8 output only
  int threads = 1;                 // 0: all cores; no influence on bits
};

// bias[m] is added to D[n][m]; C is [n, m], not read where beta is 0. Both hold values of their
// storage type: C the output's; bias BF16, but FP16 for FP16 output and either for FP8.
struct GemmInputs {
  const Quantized* a = nullptr;
  const Quantized* b = nullptr;
  const Matrix* c = nullptr;
  const Eigen::VectorXf* bias = nullptr;
};

// D [n, m]: each entry is a value of the output type, NaN is 0x7fffffff. Scale modes, A x B: tensor
// x tensor, row x row; without fast accumulation 1x128 x 1x128, 128x128 x 1x128, 1x128 x 128x128;
// 1x32 x 1x32 with a model that takes block exponents.
// Throws std::invalid_argument where a size or K differs, an input is missing, the model is
// malformed, or the library has no such GEMM (the pair of scale modes, E5M2 x E5M2, E5M2 output
// without an E5M2 operand, an FP8 output with beta, a D scale without FP8 output).
Matrix gemm(const GemmInputs& in, const GemmSpec& spec);

// The elements of K that are summed, counted from 0: K itself, or less where split K loses the
// tail. Slices hold ceil(floor(K / split_k) / G) * G elements, G = 128, or 512 where one side has
// 128x128 scales, and none runs beyond the last: the library then drops terms and reports success.
std::int64_t summed_k(std::int64_t k, int split_k, Granularity a, Granularity b);

}  // namespace samebits::reference
