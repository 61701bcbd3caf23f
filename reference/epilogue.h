// What becomes of a GEMM's FP32 accumulation on its way to memory.
//
// The accumulation u is T (tensorwise), RN(RN(T * scale_a) * scale_b) (rowwise) or y (blocks); f is
// alpha, tensorwise RN(RN(alpha * scale_a) * scale_b). RN is to nearest even in FP32, cast rounds
// to the output type (FP16 and BF16 overflow to Inf, FP8 saturates after RN(value * scale_d)).
//   beta 0           v = fma(f, u, +0) unless f is 1, else u; then + bias; D = cast(v)
//   beta             v = fma(f, u, RN(beta * C)); then + bias; D = cast(v)
//   beta 1 in place  w as v of beta 0, with bias; D = cast(C + cast(w)): rounded twice
//   split K          w = RN(f * u); beta 0: D = cast(w + bias), FP8 output cast(w + 0 + bias); else
//                    D = cast(RN(fma(beta, C, w) + bias)), in place or not
// The sum with +0 makes +0 of an exact zero product, but a negative product that underflows stays
// -0. Measured on an H200 (cuBLASLt 13.1): rowwise u = -0 stays with alpha 1 and becomes +0 with
// alpha 28.7; u < 0 with alpha 2^-100 gives -0; with split K and alpha -28.7, u = +0 gives -0.
#pragma once

#include <cstdint>

namespace samebits::reference {

enum class OutputType { kFP32, kBF16, kFP16, kE4M3, kE5M2 };

struct Epilogue {
  OutputType output = OutputType::kBF16;
  float factor = 1;       // f
  float beta = 0;         // 0 (or -0): C is not read
  float scale_d = 1;      // read for FP8 output only
  bool in_place = false;  // C is D's buffer
  bool split_k = false;   // there was more than one slice
  bool has_bias = false;

  // D, a value of the output type. c and bias are read where beta and has_bias say so.
  float operator()(float u, float c, float bias) const;
};

// Rounds to the output type and back; NaN is 0x7fffffff.
float cast(float value, OutputType type);

// The bits of one output in its storage type: NaN canonical (0x7fffffff, 0x7fff, 0x7f).
std::uint32_t output_bits(float value, OutputType type);

}  // namespace samebits::reference
