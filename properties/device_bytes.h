// Large inputs and comparisons that stay on the device.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "kernels/compare.h"
#include "kernels/gpu_test.h"

namespace samebits::properties {

// BF16 of magnitudes 2^-7 to 2^8, made once and repeated with a period that no tile divides.
kernels::Buffer repeated_bf16(std::int64_t count, std::uint64_t seed, cudaStream_t stream);

// Both of the same size, compared as elements of that many bytes. Waits.
kernels::Comparison compared(const kernels::Buffer& a, const kernels::Buffer& b, int element_bytes,
                             cudaStream_t stream);

}  // namespace samebits::properties
