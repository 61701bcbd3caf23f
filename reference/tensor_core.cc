#include "reference/tensor_core.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "reference/mutants.h"

namespace samebits::reference {
namespace {

constexpr int kMaxProducts = 32;
constexpr int kMaxAlignedBits = 32;
constexpr int kProductFractionBits = 2 * kOperandFractionBits;
constexpr int kFp32FractionBits = 23;
constexpr int kFp32MinExponent = -126;
constexpr int kFp32MaxExponent = 127;

// c: significand * 2^(exponent - 23), or `special` where that is not 0 (NaN counts as not 0).
struct Accumulator {
  std::int64_t significand = 0;
  int exponent = kZeroExponent;
  float special = 0;  // Inf, -Inf or NaN
};

// value * 2^-bits for bits in [0, 63].
template <Cut kCut>
std::int64_t cut(std::int64_t value, int bits) {
  if constexpr (kCut == Cut::kFloor) return value >> bits;
  auto magnitude = static_cast<std::uint64_t>(std::abs(value));
  if constexpr (kCut == Cut::kNearestEven) {
    const std::uint64_t odd = (magnitude >> bits) & 1;
    if (bits > 0) magnitude += ((std::uint64_t{1} << (bits - 1)) - 1) + odd;
  }
  const auto shifted = static_cast<std::int64_t>(magnitude >> bits);
  return value < 0 ? -shifted : shifted;
}

std::int64_t cut(Cut how, std::int64_t value, int bits) {
  if (how == Cut::kFloor) return cut<Cut::kFloor>(value, bits);
  if (how == Cut::kNearestEven) return cut<Cut::kNearestEven>(value, bits);
  return cut<Cut::kTowardZero>(value, bits);
}

// The term significand * 2^(E - below - fraction_bits) in units of 2^(E - aligned_bits), cut to an
// integer. The shift left by kMaxAlignedBits keeps the one to the right from turning negative; a
// term has at most 24 bits.
template <Cut kCut>
std::int64_t align(std::int64_t significand, int fraction_bits, int below, int aligned_bits) {
  const int drop = kMaxAlignedBits - aligned_bits + fraction_bits + below;
  return cut<kCut>(significand * (std::int64_t{1} << kMaxAlignedBits), std::min(drop, 62));
}

// sum * 2^unit as an accumulator, by rule 6.
Accumulator round_result(const AccumulationModel& model, std::int64_t sum, int unit) {
  if (sum == 0) return {};
  const auto leading_exponent = [&](std::int64_t v) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::abs(v)))) - 1 + unit;
  };
  const int last_bit =
      std::max(leading_exponent(sum), kFp32MinExponent) - model.result_fraction_bits;
  const int drop = std::clamp(last_bit - unit, 0, 62);
  sum = cut(model.result_cut, sum, drop) * (std::int64_t{1} << drop);
  if (sum == 0) return {};

  // Rounding may have carried into a new leading bit.
  const int exponent = std::max(leading_exponent(sum), kFp32MinExponent);
  if (exponent > kFp32MaxExponent) {
    return {.special = std::copysign(std::numeric_limits<float>::infinity(), sum < 0 ? -1.f : 1.f)};
  }
  const int left = unit - (exponent - kFp32FractionBits);
  return {
      .significand = left >= 0 ? sum * (std::int64_t{1} << left) : sum / (std::int64_t{1} << -left),
      .exponent = exponent};
}

// The sum of the terms that are not finite, 0 if all are.
float special_sum(const OperandRow& a, const OperandRow& b, std::int64_t begin, std::int64_t end,
                  float c) {
  double sum = c;
  for (std::int64_t k = begin; k < end; ++k) {
    const double product = a.value(k) * b.value(k);
    if (!std::isfinite(product) && !mutant("infinities are lost")) sum += product;
  }
  return std::isnan(sum) ? kCanonicalNan : static_cast<float>(sum);
}

struct Terms {
  std::array<std::int16_t, kMaxProducts> products;  // kProductFractionBits
  std::array<std::int16_t, kMaxProducts> exponents;
};

// The largest exponent of a product; of its leading bit if `normalised`.
int largest_exponent(const Terms& terms, int count, bool normalised) {
  int largest = 2 * kZeroExponent;
  for (int i = 0; i < count; ++i) {
    int exponent = terms.exponents[i];
    if (normalised && terms.products[i] != 0) {
      const auto magnitude = static_cast<unsigned>(std::abs(terms.products[i]));
      exponent += static_cast<int>(std::bit_width(magnitude)) - 1 - kProductFractionBits;
    }
    largest = std::max(largest, exponent);
  }
  return largest;
}

// One fused sum of the `count` products from `begin` on and c.
template <Cut kCut>
Accumulator fused_sum(const AccumulationModel& model, const OperandRow& a, const OperandRow& b,
                      std::int64_t begin, int count, const Accumulator& c) {
  if (c.special != 0 || !a.all_finite || !b.all_finite) {
    const float special = special_sum(a, b, begin, begin + count, c.special);
    if (special != 0) return {.special = special};
  }

  Terms terms;
  for (int i = 0; i < count; ++i) {
    terms.products[i] =
        static_cast<std::int16_t>(a.significands[begin + i] * b.significands[begin + i]);
    terms.exponents[i] = static_cast<std::int16_t>(a.exponents[begin + i] + b.exponents[begin + i]);
  }

  const std::int64_t block = begin / kBlockOf32;
  const int block_exponent = model.block_exponents && a.block_exponents != nullptr
                                 ? a.block_exponents[block] + b.block_exponents[block]
                                 : 0;
  const int largest_product =
      largest_exponent(terms, count, model.normalise_products) + block_exponent;
  const int largest = std::max(largest_product, c.exponent);

  const int aligned_bits = model.aligned_fraction_bits;
  std::int64_t sum =
      align<kCut>(c.significand, kFp32FractionBits, largest - c.exponent, aligned_bits);
  for (int i = 0; i < count; ++i) {
    const int below = largest - (terms.exponents[i] + block_exponent);
    sum += align<kCut>(terms.products[i], kProductFractionBits, below, aligned_bits);
  }
  return round_result(model, sum, largest - aligned_bits);
}

Accumulator fused_sum(const AccumulationModel& model, const OperandRow& a, const OperandRow& b,
                      std::int64_t begin, int count, const Accumulator& c) {
  const Cut how = model.aligned_cut;
  if (how == Cut::kFloor) return fused_sum<Cut::kFloor>(model, a, b, begin, count, c);
  if (how == Cut::kNearestEven) return fused_sum<Cut::kNearestEven>(model, a, b, begin, count, c);
  return fused_sum<Cut::kTowardZero>(model, a, b, begin, count, c);
}

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

}  // namespace

AccumulationModel hopper(bool fast_accumulation) {
  AccumulationModel model{.promotion_interval = fast_accumulation ? 0 : 128};
  if (mutant("12 aligned bits")) model.aligned_fraction_bits = 12;
  if (mutant("14 aligned bits")) model.aligned_fraction_bits = 14;
  if (mutant("FP32 between instructions")) model.result_fraction_bits = kFp32FractionBits;
  if (mutant("instructions of 16")) model.products_per_sum = 16;
  if (mutant("no promotion")) model.promotion_interval = 0;
  if (mutant("terms are floored")) model.aligned_cut = Cut::kFloor;
  if (mutant("results are rounded")) model.result_cut = Cut::kNearestEven;
  if (mutant("products are normalised")) model.normalise_products = true;
  return model;
}

AccumulationModel ada(bool fast_accumulation) {
  return {.name = "ada",
          .measured = false,
          .products_per_sum = 16,
          .promotion_interval = fast_accumulation ? 0 : 128};
}

AccumulationModel blackwell() {
  return {.name = "blackwell",
          .measured = false,
          .aligned_fraction_bits = 25,
          .result_fraction_bits = kFp32FractionBits,
          .promotion_interval = 0,
          .block_exponents = true};
}

AccumulationModel exact() { return {.name = "exact", .measured = false, .exact = true}; }

void check(const AccumulationModel& model) {
  if (model.exact) return;
  const int products = model.products_per_sum, interval = model.promotion_interval;
  require(products >= 1 && products <= kMaxProducts, "products_per_sum is not in [1, 32]");
  require(model.aligned_fraction_bits >= 0 && model.aligned_fraction_bits <= kMaxAlignedBits,
          "aligned_fraction_bits is not in [0, 32]");
  require(model.result_fraction_bits >= 0 && model.result_fraction_bits <= kFp32FractionBits,
          "result_fraction_bits is not in [0, 23]");
  require(interval >= 0, "promotion_interval is negative");
  require(!model.block_exponents || (kBlockOf32 % products == 0 && interval % kBlockOf32 == 0),
          "a fused sum would span two 1x32 blocks");
}

float chain(const AccumulationModel& model, const OperandRow& a, const OperandRow& b,
            std::int64_t begin, std::int64_t end) {
  Accumulator c;
  for (std::int64_t k = begin; k < end; k += model.products_per_sum) {
    const auto count = std::min<std::int64_t>(model.products_per_sum, end - k);
    c = fused_sum(model, a, b, k, static_cast<int>(count), c);
  }
  if (c.special != 0) return c.special;
  return std::ldexp(static_cast<float>(c.significand), c.exponent - kFp32FractionBits);
}

float promoted_chains(const AccumulationModel& model, const OperandRow& a, const OperandRow& b,
                      std::int64_t begin, std::int64_t end) {
  if (model.promotion_interval == 0) return chain(model, a, b, begin, end);
  float total = 0;
  for (std::int64_t k = begin; k < end; k += model.promotion_interval) {
    total += chain(model, a, b, k, std::min(end, k + model.promotion_interval));
  }
  return total;
}

}  // namespace samebits::reference
