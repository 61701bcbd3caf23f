// One FP8 GEMM as cuBLASLt runs it: D[n][m] = epilogue(A row m . B row n), both operands with K innermost ("TN").
#pragma once

#include "reference/quantize.h"
#include "reference/tensor_core.h"

namespace samebits::reference {

enum class OutputType { kFP32, kBF16, kFP16, kE4M3, kE5M2 };
enum class BiasType { kBF16, kFP16 };

// Everything that decides bits beside the operands; a plain value. Sizes come from the operands: A [m, k], B [n, k].
struct GemmSpec {
  AccumulationModel model = hopper(false);
  OutputType output = OutputType::kBF16;
  float alpha = 1;
  float beta = 0;
  bool in_place = false;   // C is D's buffer: matters to the bits where beta is 1
  int split_k = 1;         // slices of K as the library's record says; >= 1
  const float* scale_d = nullptr;  // FP8 output only
  int threads = 1;
};

// bias[m] is added to D[n][m]; C is [n, m], not read where beta is 0. Both hold values of their storage type.
struct GemmInputs {
  const Quantized* a = nullptr;
  const Quantized* b = nullptr;
  const Matrix* c = nullptr;
  const Eigen::VectorXf* bias = nullptr;
};

// D [n, m]: each entry is a value of the output type, NaN is 0x7fffffff. Throws std::invalid_argument where K differs,
// the pair of scale modes has no GEMM, or an input is missing.
Matrix gemm(const GemmInputs& in, const GemmSpec& spec);

// The bits of one output in its storage type: NaN canonical (0x7fffffff, 0x7fff, 0x7f).
std::uint32_t output_bits(float value, OutputType type);

}  // namespace samebits::reference
