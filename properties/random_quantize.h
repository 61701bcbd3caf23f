// Random cases for the quantise kernels, and what the reference says of them.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

#include "kernels/format.h"
#include "reference/quantize.h"

namespace samebits::properties {

// A matrix as its type stores it.
struct StoredMatrix {
  std::vector<std::uint8_t> bytes;
  reference::Matrix values;  // what the bytes widen to
};

// FP32 keeps the patterns, BF16 takes their upper halves, FP16 the nearest value; but an FP32
// subnormal becomes an FP16 subnormal, and a NaN keeps its sign and some of its payload.
StoredMatrix stored(const reference::Matrix& x, kernels::Format format);

struct QuantizeCase {
  reference::Granularity granularity = reference::Granularity::kTensor;
  kernels::Format source = kernels::Format::kBF16, target = kernels::Format::kE4M3;
  bool power_of_two = false;
  bool rowwise = true, columnwise = true;
  std::optional<float> given_scale;                       // kTensor only
  int source_offset = 0, row_offset = 0, col_offset = 0;  // elements, bytes, bytes
  reference::Matrix x;
};
std::ostream& operator<<(std::ostream& os, const QuantizeCase& c);

// Sizes round all tiles, every kind of number, any direction; half of all cases are aligned, the
// rest lie anywhere their element size allows. Draws inside a property.
QuantizeCase any_quantize_case(reference::Granularity granularity);

// Holds a pointer into the case.
reference::QuantizeSpec specification(const QuantizeCase& c);

}  // namespace samebits::properties
