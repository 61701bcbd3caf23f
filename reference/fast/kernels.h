// The inner loops of the fast forms, compiled once for each instruction set. Plain pointers and
// numbers: nothing that is inline elsewhere may be compiled for an instruction set that the CPU may
// lack.
//
// How a fused sum becomes a chain of FMAs. Rule 4 of tensor_core.h cuts each term toward zero to a
// multiple of u = 2^(E - aligned_fraction_bits). Let the accumulator be s * (M + S): S is the sum
// so far, a multiple of u; M = 1.5 * 2^23 * u, so that the ulp is u and stays it; and s is the sign
// of the next term. The FMA adds the magnitude |a| * |b|, exact with its 8 significant bits, and
// rounds once, downward:
//   s = +1:   M + S  + |ab|  becomes    M + S + floor(|ab|)
//   s = -1: -(M + S) + |ab|  becomes  -(M + S - floor(|ab|))
// floor in units of u. So S has the term, cut toward zero, and between terms only signs flip. In
// the end s * accumulator - M is exact, and its mantissa masked is rule 6. 33 terms below 4 * 2^E
// keep |S| below M / 3 where aligned_fraction_bits is 14 or less.
//
// E is the largest sum of operand exponents, taken in bytes beforehand: products are not
// renormalised, so it cannot be read off them.
#pragma once

#include <cstdint>

namespace samebits::reference::fast {

enum class Isa;

inline constexpr int kMostAlignedBits = 14;
inline constexpr int kExponentOffset = 60;  // a sum with one zero stays below every other sum

// Up to 32 elements of K of some rows (`width` of them) of an operand, K outermost. NaN and Inf
// count as zeros.
struct PanelGroup {
  const float* magnitudes;     // [count][width]
  const std::uint32_t* flips;  // [count + 1][width]: the sign bit where a row's sign changes, from
                               // + before the first element and to + after the last
  const std::uint8_t* exponents;  // [count][width]: kExponentOffset + the exponent; zeros: 0
};

struct Kernels {
  int lanes;  // rows of one operand, a vector's worth
  int rows;   // of the other, handled together

  // c [rows][lanes] becomes the fused sum of the `count` products of each pair of rows and c.
  // The rounding mode is downward.
  void (*fused_sums)(const PanelGroup& rows, const PanelGroup& lanes, int count,
                     int aligned_fraction_bits, std::uint32_t result_mask, float* c);

  // To nearest even: total += p over `count` values; and the two orders of block scales over
  // `lanes` values, y = fma(scale_m, RN(scale_n * p), y) where both are 1x128, else
  // y = fma(RN(scale_m * scale_n), p, y). scale_m: one a lane.
  void (*add)(const float* p, float* total, std::int64_t count);
  void (*add_1x128)(const float* p, const float* scale_m, float scale_n, float* y);
  void (*add_128x128)(const float* p, const float* scale_m, float scale_n, float* y);

  // The parts of `count` codes as PanelGroup has them.
  void (*decode_e4m3)(const std::uint8_t* codes, std::int64_t count, float* magnitudes,
                      std::uint8_t* exponents);
  void (*decode_e5m2)(const std::uint8_t* codes, std::int64_t count, float* magnitudes,
                      std::uint8_t* exponents);

  // flips[i] = the sign bit where before[i] and codes[i] have different signs.
  void (*flips)(const std::uint8_t* before, const std::uint8_t* codes, std::int64_t count,
                std::uint32_t* flips);

  // codes[i] = the saturating cast of RN(x[i] * scale), to nearest even.
  void (*cast_e4m3)(const float* x, std::int64_t count, float scale, std::uint8_t* codes);
  void (*cast_e5m2)(const float* x, std::int64_t count, float scale, std::uint8_t* codes);
};

const Kernels& kernels_of(Isa isa);

extern const Kernels kPortableKernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;

}  // namespace samebits::reference::fast
