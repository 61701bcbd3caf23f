// One FP8 GEMM as a plain value, and what is refused before the library is asked.
//
// D[n][m] = epilogue(A row m . B row n): A is [m][k], B [n][k], C and D [n][m], all row-major. The
// library is column-major: to it A is a k x m matrix taken transposed, B is k x n, D is m x n
// ("TN"). It is not symmetric in A and B, so the order of the operands is part of the problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/format.h"

namespace samebits::kernels {

// Which elements of an operand [rows][k] share a scale, and how the FP32 scales lie in memory:
//   kTensor   [1]                                        k1x128    [ceil(k/128)][rows up to 4]
//   kRow      [rows]                                     k128x128  [ceil(rows/128)][ceil(k/128) up
//   k1x32     no GEMM on this chip                                 to 4]
// What lies in the padding is not read into any result.
enum class ScaleMode { kTensor, kRow, k1x128, k128x128, k1x32 };

struct GemmProblem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Format a = Format::kE4M3;
  Format b = Format::kE4M3;
  Format output = Format::kBF16;  // of D, and of C
  ScaleMode scale_a = ScaleMode::kTensor;
  ScaleMode scale_b = ScaleMode::kTensor;
  bool fast_accumulation = false;
  float alpha = 1;
  float beta = 0;
  bool in_place = false;            // C is D's buffer: with beta 1 that changes bits
  std::optional<Format> bias = {};  // its format; bias[m] is added to D[n][m]
  bool scale_d = false;             // FP8 output is multiplied by a scale before its cast

  bool operator==(const GemmProblem&) const = default;
};

// Device pointers. c is read where beta is not 0; in place it is d, or null for the same.
struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const float* scale_a = nullptr;
  const float* scale_b = nullptr;
  const void* c = nullptr;
  const void* bias = nullptr;
  const float* scale_d = nullptr;
  void* d = nullptr;
};

bool is_block_scaled(const GemmProblem& problem);
bool has_128x128_scales(const GemmProblem& problem);
// The type of C that the library wants beside D: D's own, beside FP8 the bias's (BF16 without one).
Format c_format(const GemmProblem& problem);
// The matrix that stands for C in the call: d where C is in place or not read; none beside FP8.
const void* c_operand(const GemmProblem& problem, const GemmOperands& operands);

// One line for messages: "GEMM m=64 n=64 k=128 E4M3/1x128 x E4M3/128x128 -> BF16 ...".
std::string describe(const GemmProblem& problem);

// Throws std::invalid_argument with the reason and the problem where Hopper's library has no such
// GEMM, or one whose bits are not known: sizes that are not positive multiples of 16, or 2^31 and
// more; operands that are not FP8, E5M2 x E5M2; pairs of scale modes without an algorithm (1x32;
// 128x128 x 128x128; unlike ones); fast accumulation with block scales; E5M2 output without an E5M2
// operand; FP8 output with beta; a D scale without FP8 output; a bias of a type without an
// algorithm.
void check_problem(const GemmProblem& problem);

// Throws std::invalid_argument where a pointer is missing, is not aligned to 16 bytes (one scale
// too: some algorithms of the library fail when they run with less), or C is D's buffer against
// in_place.
void check_operands(const GemmProblem& problem, const GemmOperands& operands);

}  // namespace samebits::kernels
