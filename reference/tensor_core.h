// What one tensor-core instruction, and a chain of them, makes of FP8 products.
//
// An accumulation model is a plain value, so that a chip, or a wrong guess about one, is a set of numbers. Hopper's was
// measured on an H200 (see "One tensor-core instruction" below and the golden files); Ada's and Blackwell's are as
// published and not measured here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "reference/scale.h"

namespace samebits::reference {

struct AccumulationModel {
  std::string_view name = "hopper";
  bool measured = true;       // false: as published, not measured
  bool exact = false;         // 128-bit fixed point over the whole K, rounded once; the fields below are not read
  int products_per_sum = 32;  // terms of one fused sum, beside the accumulator
  int aligned_fraction_bits = 13;  // each term is truncated to a multiple of 2^(E - this), E the largest exponent
  int result_fraction_bits = 13;   // the sum is truncated to this many bits below its own leading bit (23: FP32)
  int promotion_interval = 128;    // K elements a chain covers before it is added to FP32; 0: one chain (fast accum)
};

AccumulationModel hopper(bool fast_accumulation);
AccumulationModel ada(bool fast_accumulation);   // two chained sums of 16, 13 bits
AccumulationModel blackwell();                   // one sum of 32, 25 bits, FP32 result
AccumulationModel exact();

}  // namespace samebits::reference
