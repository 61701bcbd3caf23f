// The body of the kernel files, written with the compiler's vector types. A kernel file defines
// kVectorBytes, kVectors and kRows before it, is compiled with its instruction set's options and
// with -ffp-contract=fast: every product here that is added is exact, so that contraction changes
// speed alone. No standard header but <cstdint>, no inline function that another file shares.
#pragma once

#include "reference/fast/kernels.h"
#include "reference/mutants.h"

namespace samebits::reference::fast {
namespace {

constexpr int kPerVector = kVectorBytes / 4;
constexpr int kLanes = kVectors * kPerVector;

using Floats __attribute__((vector_size(kVectorBytes))) = float;
using Ints __attribute__((vector_size(kVectorBytes))) = std::int32_t;
using Bytes __attribute__((vector_size(kLanes))) = std::uint8_t;

template <class To, class From>
To bits(const From& from) {
  return reinterpret_cast<To>(from);
}

template <class V, class T>
V load(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

template <class V, class T>
void store(T* p, const V& v) {
  __builtin_memcpy(p, &v, sizeof v);
}

constexpr std::int32_t kSign = INT32_MIN;

// The exponent fields, as FP32 has them, of the largest products: [kRows][kLanes].
template <int kCount>
void largest_exponents(const PanelGroup& rows, const PanelGroup& lanes, int count,
                       std::int32_t* fields) {
  count = kCount != 0 ? kCount : count;
  Bytes largest[kRows] = {};
#pragma GCC unroll 8
  for (int k = 0; k < count; ++k) {
    const Bytes b = load<Bytes>(lanes.exponents + k * kLanes);
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
      const Bytes sum = b + rows.exponents[k * kRows + row];
      largest[row] = sum > largest[row] ? sum : largest[row];
    }
  }
  std::uint8_t bytes[kRows * kLanes];
  __builtin_memcpy(bytes, largest, sizeof bytes);
  for (int i = 0; i < kRows * kLanes; ++i) {
    const int offset = 2 * kExponentOffset - (mutant("fast: exponents are one high") ? 1 : 0);
    fields[i] = (bytes[i] + 127 - offset) << 23;
  }
}

// kCount: the number of products where the compiler knows it, else 0.
template <int kCount>
void sum_products(const PanelGroup& rows, const PanelGroup& lanes, int count,
                  int aligned_fraction_bits, std::uint32_t result_mask, float* c) {
  count = kCount != 0 ? kCount : count;
  alignas(kVectorBytes) std::int32_t fields[kRows * kLanes];
  alignas(kVectorBytes) float middles[kRows * kLanes];  // M
  largest_exponents<kCount>(rows, lanes, count, fields);

  const std::int32_t to_middle = ((23 - aligned_fraction_bits) << 23) | 0x400000;
  Floats sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows * kVectors; ++i) {
    const Floats old = load<Floats>(c + i * kPerVector);
    const Ints of_c = bits<Ints>(old) & 0x7f800000;
    const Ints of_products = load<Ints>(fields + i * kPerVector);
    const Ints middle = (of_products > of_c ? of_products : of_c) + to_middle;
    store(middles + i * kPerVector, middle);
    const Ints sign = bits<Ints>(old) & kSign;
    const Floats signed_sum = bits<Floats>(middle | sign) + bits<Floats>(bits<Ints>(old) & ~kSign);
    sum[i / kVectors][i % kVectors] = bits<Floats>(bits<Ints>(signed_sum) ^ sign);
  }

  const auto flip = [&](int k) {
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
      const Ints of_row = static_cast<std::int32_t>(rows.flips[k * kRows + row]) - Ints{};
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Ints of_lanes = load<Ints>(lanes.flips + k * kLanes + v * kPerVector);
        sum[row][v] = bits<Floats>(bits<Ints>(sum[row][v]) ^ of_lanes ^ of_row);
      }
    }
  };
#pragma GCC unroll 4
  for (int k = 0; k < count; ++k) {
    flip(k);
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
      const float a = rows.magnitudes[k * kRows + row];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        sum[row][v] += load<Floats>(lanes.magnitudes + k * kLanes + v * kPerVector) * a;
      }
    }
  }
  flip(count);

#pragma GCC unroll 16
  for (int i = 0; i < kRows * kVectors; ++i) {
    const Floats difference =
        sum[i / kVectors][i % kVectors] - load<Floats>(middles + i * kPerVector);
    store(c + i * kPerVector, bits<Ints>(difference) & static_cast<std::int32_t>(result_mask));
  }
}

void fused_sums(const PanelGroup& rows, const PanelGroup& lanes, int count,
                int aligned_fraction_bits, std::uint32_t result_mask, float* c) {
  const auto sum = count == 32 ? sum_products<32> : sum_products<0>;
  sum(rows, lanes, count, aligned_fraction_bits, result_mask, c);
}

void add(const float* p, float* total, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) total[i] += p[i];
}

// The products of scales round, so they must not be contracted: __builtin_fmaf says what is fused.
void add_1x128(const float* p, const float* scale_m, float scale_n, float* y) {
  for (int i = 0; i < kLanes; ++i) y[i] = __builtin_fmaf(scale_m[i], scale_n * p[i], y[i]);
}

void add_128x128(const float* p, const float* scale_m, float scale_n, float* y) {
  for (int i = 0; i < kLanes; ++i) y[i] = __builtin_fmaf(scale_m[i] * scale_n, p[i], y[i]);
}

// kTop: the first magnitude that is not finite. Masks and no conditions: vector code.
template <int kMantissaBits, int kBias, int kTop>
void decode(const std::uint8_t* __restrict codes, std::int64_t count, float* __restrict magnitudes,
            std::uint8_t* __restrict exponents) {
  for (std::int64_t i = 0; i < count; ++i) {
    const int whole = codes[i] & 0x7f;
    const int magnitude = whole & ((whole - kTop) >> 31);
    const int normal = (((1 << kMantissaBits) - 1 - magnitude) >> 31) & 1;
    const int field = (magnitude >> kMantissaBits) + 1 - normal;
    const int significand = (magnitude & ((1 << kMantissaBits) - 1)) | normal << kMantissaBits;
    const int step = (field - kBias - kMantissaBits + 127) << 23;
    magnitudes[i] = static_cast<float>(significand) * __builtin_bit_cast(float, step);
    exponents[i] =
        static_cast<std::uint8_t>((field + kExponentOffset - kBias) & (-magnitude >> 31));
  }
}

void flips(const std::uint8_t* __restrict before, const std::uint8_t* __restrict codes,
           std::int64_t count, std::uint32_t* __restrict flips) {
  for (std::int64_t i = 0; i < count; ++i) {
    const int flip = mutant("fast: signs of one operand") ? codes[i] : before[i] ^ codes[i];
    flips[i] = static_cast<std::uint32_t>(flip & 0x80) << 24;
  }
}

// Minifloat::saturate of formats.h, without its types: a code is its binade's first code plus a
// count of steps, and one FP32 sum with the power of two whose ulp is the step rounds to that
// count. No conditions, so that the loop becomes vector code. kMin and kMax: the bits of
// min_normal() and max().
template <int kMantissaBits, std::int32_t kMin, std::int32_t kMax>
void cast(const float* __restrict x, std::int64_t count, float scale,
          std::uint8_t* __restrict codes) {
  constexpr int kDropped = 23 - kMantissaBits;
  constexpr std::int32_t kExponent = 0x7f800000;
  const auto clamp = [](std::int32_t v, std::int32_t low, std::int32_t high) {
    v = v < low ? low : v;
    return v < high ? v : high;
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const auto whole = __builtin_bit_cast(std::int32_t, x[i] * scale);
    const std::int32_t magnitude = whole & 0x7fffffff;
    const std::int32_t least = mutant("fast: no subnormal step") ? 0x00800000 : kMin;
    const std::int32_t binade = clamp(magnitude & kExponent, least, kMax & kExponent);
    const std::int32_t aligner = binade + (kDropped << 23);
    const float sum =
        __builtin_bit_cast(float, clamp(magnitude, 0, kMax)) + __builtin_bit_cast(float, aligner);
    const std::int32_t steps = __builtin_bit_cast(std::int32_t, sum) - aligner;
    const std::int32_t nan =  // all ones for NaN, else 0
        mutant("fast: NaN becomes the largest code") ? 0 : (kExponent - magnitude) >> 31;
    const std::int32_t sign = (whole >> 24) & 0x80 & ~nan;
    const std::int32_t code = (((binade - kMin) >> kDropped) + steps) | (nan & 0x7f) | sign;
    codes[i] = static_cast<std::uint8_t>(code);
  }
}

constexpr Kernels kThese{
    .lanes = kLanes,
    .rows = kRows,
    .fused_sums = fused_sums,
    .add = add,
    .add_1x128 = add_1x128,
    .add_128x128 = add_128x128,
    .decode_e4m3 = decode<3, 7, 0x7f>,
    .decode_e5m2 = decode<2, 15, 0x7c>,
    .flips = flips,
    .cast_e4m3 = cast<3, 0x3c800000, 0x43e00000>,  // 2^-6, 448
    .cast_e5m2 = cast<2, 0x38800000, 0x47600000>,  // 2^-14, 57344
};

}  // namespace
}  // namespace samebits::reference::fast
