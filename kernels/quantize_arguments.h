// What every quantise launcher takes, and how it refuses what it cannot do.
#pragma once

#include <cstdint>

#include "kernels/format.h"

namespace samebits::kernels {

// A row-major matrix without gaps, on the device. Empty ones may have a null pointer.
struct MatrixView {
  const void* data;
  Format format;
  std::int64_t rows, cols;
};

// How an amax becomes a scale where the recipe leaves a choice.
struct ScaleOptions {
  bool power_of_two = false;
  float epsilon = 0;  // lower clamp of amax, applied first
};

// One direction of a quantised matrix. `codes` null: this direction is not wanted. Scale is float,
// or a byte for E8M0.
template <class Scale>
struct Quantized {
  std::uint8_t* codes = nullptr;
  Scale* scale_inv = nullptr;
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t multiple) {
  return ceil_div(a, multiple) * multiple;
}

// std::invalid_argument, with `launcher` and the reason, for a negative size and for more than 2^63
// bytes.
void check_shape(const char* launcher, std::int64_t rows, std::int64_t cols,
                 std::int64_t element_bytes);
// The same, and for another format than FP32, BF16 and FP16, and for data of a matrix that is not
// empty at null or at no multiple of its element size.
void check_source(const char* launcher, const MatrixView& x);
// The same for another format than E4M3 and E5M2.
void check_target(const char* launcher, Format format);
// The same for a pointer that has to hold something, at a multiple of `alignment` bytes.
void check_pointer(const char* launcher, const char* what, const void* pointer,
                   std::int64_t alignment);
// A one-dimensional grid; the same beyond 2^31 - 1 blocks.
unsigned check_grid(const char* launcher, std::int64_t blocks);

// Whether 16-byte accesses are possible. Null is.
inline bool is_16_byte_aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

}  // namespace samebits::kernels
