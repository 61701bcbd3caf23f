// The elements of a host tensor as numbers and as bits.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/tensor.h"

namespace samebits {

// The bits of element `index`, zero-extended. Whole-byte dtypes up to 64 bits.
std::uint64_t bits_at(const HostTensor& tensor, std::int64_t index);

// Its value, exact: any float dtype up to F64, FP8 and E8M0 included. Throws Error for the others.
double value_at(const HostTensor& tensor, std::int64_t index);

bool is_float(DType dtype);  // value_at can read it

// "0x7e"; "448", "nan", "-inf", "-0": the shortest text that reads back to the same number.
std::string bits_text(const HostTensor& tensor, std::int64_t index);
std::string value_text(double value);

// RN_bf16(value): one rounding to nearest even, overflow to Inf, NaN canonical.
std::uint16_t to_bf16(double value);

// Elements that are NaN or infinite.
std::int64_t count_non_finite(const HostTensor& tensor);

}  // namespace samebits
