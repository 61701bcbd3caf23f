// Generators for RapidCheck that reach what its own float generator never does: NaN, Inf, -0,
// subnormals, outliers, and shapes at the edges of tiles.
#pragma once

#include <rapidcheck.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "reference/matrix.h"

namespace samebits::properties {

// Kinds of FP32 patterns. Ordinary is 2^-8 to 2^8 in magnitude, an outlier 2^9 to 2^40; both signs.
enum class FloatKind { kZero, kSubnormal, kOrdinary, kOutlier, kAnyFinite, kInf, kNan };

inline std::vector<FloatKind> every_kind() {
  return {FloatKind::kOrdinary,  FloatKind::kZero, FloatKind::kSubnormal, FloatKind::kOutlier,
          FloatKind::kAnyFinite, FloatKind::kInf,  FloatKind::kNan};
}
inline std::vector<FloatKind> well_scaled_kinds() {
  return {FloatKind::kOrdinary, FloatKind::kZero, FloatKind::kOutlier};
}

// A float of that kind, all its free bits taken from `random`.
inline float float_of(FloatKind kind, std::uint64_t random) {
  const auto sign = static_cast<std::uint32_t>(random >> 63) << 31;
  const auto mantissa = static_cast<std::uint32_t>(random) & 0x7fffff;
  const auto draw = static_cast<std::uint32_t>(random >> 32) & 0xffff;  // for the exponent
  const auto make = [&](std::uint32_t exponent, std::uint32_t fraction) {
    return std::bit_cast<float>(sign | exponent << 23 | fraction);
  };
  switch (kind) {
    case FloatKind::kZero:
      return make(0, 0);
    case FloatKind::kSubnormal:
      return make(0, mantissa | 1);
    case FloatKind::kOrdinary:
      return make(127 - 8 + draw % 16, mantissa);
    case FloatKind::kOutlier:
      return make(127 + 9 + draw % 31, mantissa);
    case FloatKind::kAnyFinite:
      return make(draw % 255, mantissa);
    case FloatKind::kInf:
      return make(255, 0);
    case FloatKind::kNan:
      return make(255, mantissa | 1);
  }
  return 0;
}

// All values alike from the first case on: RapidCheck's integers grow with the case's number.
template <class T>
rc::Gen<T> uniform() {
  return rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<T>());
}

inline rc::Gen<float> any_float(std::vector<FloatKind> kinds = every_kind()) {
  return rc::gen::apply(float_of, rc::gen::elementOf(std::move(kinds)), uniform<std::uint64_t>());
}

// Half of any bits, half of a magnitude from 2^-24 to 2^24, as few of the former meet a small
// format.
inline rc::Gen<double> any_double() {
  const auto of_bits = [](std::uint64_t bits) { return std::bit_cast<double>(bits); };
  const auto in_range = [](std::uint64_t bits) {
    const std::uint64_t exponent = 1023 - 24 + (bits >> 52 & 0x7ff) % 48;
    return std::bit_cast<double>((bits & 0x800fffffffffffff) | exponent << 52);
  };
  return rc::gen::oneOf(rc::gen::map(uniform<std::uint64_t>(), of_bits),
                        rc::gen::map(uniform<std::uint64_t>(), in_range));
}

inline rc::Gen<std::uint8_t> fp8_code() { return uniform<std::uint8_t>(); }

// Sizes round the tiles of 16, 32 and 128 elements, and empty.
inline rc::Gen<Eigen::Index> tile_edge() {
  return rc::gen::element<Eigen::Index>(0, 1, 15, 16, 17, 31, 32, 33, 127, 128, 129);
}

// The bits of `seed` and `index` mixed (splitmix64's finaliser, Steele et al. 2014).
inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

// A matrix at tile edges: of the first kind but for one element in 10, 1000 or 100000, which is of
// any, so that blocks with and without them are met at every block size. Its elements come from one
// seed: shrinking then works on the shape, and a case stays cheap.
inline rc::Gen<reference::Matrix> any_matrix(std::vector<FloatKind> kinds = every_kind()) {
  return rc::gen::apply(
      [kinds = std::move(kinds)](Eigen::Index rows, Eigen::Index cols, std::uint64_t rarity,
                                 std::uint64_t seed) {
        reference::Matrix x(rows, cols);
        for (Eigen::Index i = 0; i < x.size(); ++i) {
          const std::uint64_t choice = mixed(~seed, static_cast<std::uint64_t>(i));
          const bool is_odd = choice % rarity == 0;
          const FloatKind kind = kinds[is_odd ? choice / rarity % kinds.size() : 0];
          x.data()[i] = float_of(kind, mixed(seed, static_cast<std::uint64_t>(i)));
        }
        return x;
      },
      tile_edge(), tile_edge(), rc::gen::element<std::uint64_t>(100000, 1000, 10),
      uniform<std::uint64_t>());
}

}  // namespace samebits::properties
