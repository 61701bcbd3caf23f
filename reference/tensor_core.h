// What one tensor-core instruction, and a chain of them, makes of FP8 products.
//
// An accumulation model is a plain value, so that a chip, or a wrong guess about one, is a set of
// numbers. Hopper's was measured on an H200 and gives every recorded output in every bit; Ada's and
// Blackwell's are as published and were not measured.
//
// One fused sum has up to `products_per_sum` exact products and the accumulator c as its terms:
//   1. An operand is (s, e), its value s * 2^e: 1 <= |s| < 2, but a subnormal keeps the format's
//      least exponent and |s| < 1. So is c, with FP32's least exponent -126.
//   2. A product is (sa * sb, ea + eb), not renormalised even where |s| >= 2.
//   3. E is the largest exponent among the terms that are not zero. If there is none, the sum is
//   +0.
//   4. Each term is cut to a multiple of 2^(E - aligned_fraction_bits): the magnitude, not the
//   floor.
//   5. The integer sum of the terms is exact.
//   6. It is cut to result_fraction_bits below its own leading bit: the next sum's c. Zero gives
//   +0.
// A NaN, Inf * 0 or Inf - Inf among the terms gives NaN; Inf survives with its sign.
#pragma once

#include <cstdint>
#include <string_view>

#include "reference/operand.h"

namespace samebits::reference {

// How the bits of a term or of a sum are dropped; every measured chip cuts toward zero.
enum class Cut { kTowardZero, kFloor, kNearestEven };

struct AccumulationModel {
  std::string_view name = "hopper";
  bool measured = true;            // false: as published, not measured
  bool exact = false;              // see exact(); the fields below are not read
  int products_per_sum = 32;       // terms of one fused sum, beside the accumulator: 1 to 32
  int aligned_fraction_bits = 13;  // 0 to 32
  int result_fraction_bits = 13;   // 0 to 23 (FP32)
  int promotion_interval = 128;    // K elements a chain covers before it is added to FP32; 0: one
                                   // chain (fast accumulation)
  bool block_exponents = false;    // adds the exponents of 1x32 scales to each product's
  // No chip is known to do these: they are here to be refuted.
  bool normalise_products = false;
  Cut aligned_cut = Cut::kTowardZero;
  Cut result_cut = Cut::kTowardZero;
};

AccumulationModel hopper(bool fast_accumulation);
AccumulationModel ada(bool fast_accumulation);  // chained sums of 16, 13 bits
AccumulationModel blackwell();                  // one sum of 32, 25 bits, FP32 result

// The sum over the whole K (and over all slices of a split K: nothing is lost) is exact and rounded
// once, to nearest even in FP32. The scales of 1x128, 128x128 and 1x32 blocks are inside that sum,
// exact as well; scales of a tensor or a row, and the epilogue, follow as after any other model.
AccumulationModel exact();

// Throws std::invalid_argument where a field is outside its range.
void check(const AccumulationModel& model);

// The FP32 value of one chain of fused sums over k in [begin, end), started from c = 0, ascending.
// A tail counts as filled with zeros. NaN is canonical. With block exponents `begin` and the sums
// are aligned to blocks of 32.
float chain(const AccumulationModel& model, const OperandRow& a, const OperandRow& b,
            std::int64_t begin, std::int64_t end);

// Chains of promotion_interval elements added in FP32, to nearest even, ascending from +0; one
// chain alone where the interval is 0.
float promoted_chains(const AccumulationModel& model, const OperandRow& a, const OperandRow& b,
                      std::int64_t begin, std::int64_t end);

}  // namespace samebits::reference
