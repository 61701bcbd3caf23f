// One run of a quantise kernel in guarded device memory, held against the reference.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "kernels/gpu_test.h"
#include "properties/random_quantize.h"

namespace samebits::properties {

// Of a run whose outputs, padding and all, held `poison` before. Empty if every byte of them is
// then as the reference has it, or else the first that is not.
std::string quantize_difference(const QuantizeCase& c, const StoredMatrix& source,
                                std::uint8_t poison, cudaStream_t stream);

}  // namespace samebits::properties
