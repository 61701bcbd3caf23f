#include "reference/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace samebits::reference {
namespace {

__extension__ using Int128 = __int128;

constexpr int kFp32SignificandBits = 24;
constexpr int kFp32LeastBit = -149;

bool bit(const auto& limbs, int index) { return ((limbs[index / 64] >> (index % 64)) & 1) != 0; }

}  // namespace

void ExactSum::add(std::int64_t significand, int exponent) {
  const int position = exponent - kMinExponent;
  const Int128 shifted = static_cast<Int128>(significand) * (Int128{1} << (position % 64));
  const std::uint64_t sign = significand < 0 ? ~std::uint64_t{0} : 0;
  bool carry = false;
  for (int limb = position / 64, i = 0; limb < kLimbs; ++limb, ++i) {
    const std::uint64_t addend = i < 2 ? static_cast<std::uint64_t>(shifted >> (64 * i)) : sign;
    if (i >= 2 && addend + carry == 0)
      return;  // the sign and the carry cancel, or there is neither
    const std::uint64_t sum = limbs_[limb] + addend;
    const std::uint64_t with_carry = sum + carry;
    carry = sum < addend || with_carry < sum;
    limbs_[limb] = with_carry;
  }
}

float ExactSum::to_float() const {
  auto magnitude = limbs_;
  const bool negative = (limbs_.back() >> 63) != 0;
  if (negative) {
    bool carry = true;
    for (auto& limb : magnitude) {
      limb = ~limb + carry;
      carry = carry && limb == 0;
    }
  }
  int leading = kLimbs * 64 - 1;
  while (leading >= 0 && !bit(magnitude, leading)) --leading;
  if (leading < 0) return 0;

  // `last` is the position of the result's last bit, `rest` whether any bit below the half is set.
  const int last = std::max(leading - (kFp32SignificandBits - 1), kFp32LeastBit - kMinExponent);
  std::int32_t significand = 0;
  for (int i = leading; i >= last; --i) significand = 2 * significand + bit(magnitude, i);
  bool rest = false;
  for (int i = 0; i < last - 1; ++i) rest = rest || bit(magnitude, i);
  if (bit(magnitude, last - 1) && (rest || significand % 2 != 0)) ++significand;

  const float value = std::ldexp(static_cast<float>(significand), last + kMinExponent);
  return negative ? -value : value;
}

namespace {

constexpr std::int64_t kScaleBlock = 128;

struct Scale {
  std::int64_t significand;  // the product of two FP32 significands: below 2^48
  int exponent;
  double value;  // exact
};

Scale multiply(const BlockScales& scales) {
  const double value = static_cast<double>(scales.a) * scales.b;
  if (!std::isfinite(value)) return {0, 0, value};
  int exponent = 0;
  const double significand = std::ldexp(std::frexp(value, &exponent), 2 * kFp32SignificandBits);
  return {static_cast<std::int64_t>(significand), exponent - 2 * kFp32SignificandBits, value};
}

}  // namespace

float exact_dot(const OperandRow& a, const OperandRow& b, std::int64_t count,
                const std::function<BlockScales(std::int64_t)>& scales_at) {
  ExactSum sum;
  double special = 0;  // the sum of the terms that are not finite
  Scale scale{};
  for (std::int64_t k = 0; k < count; ++k) {
    if (k % kScaleBlock == 0) scale = multiply(scales_at(k));
    if (!a.all_finite || !b.all_finite || !std::isfinite(scale.value)) {
      const double term = a.value(k) * b.value(k) * scale.value;
      if (!std::isfinite(term)) {
        special += term;
        continue;
      }
    }
    const std::int64_t product = a.significands[k] * b.significands[k];  // below 2^8
    if (product == 0 || scale.significand == 0) continue;
    int exponent = a.exponents[k] + b.exponents[k] - 2 * kOperandFractionBits + scale.exponent;
    if (a.block_exponents != nullptr) exponent += a.block_exponents[k / kBlockOf32];
    if (b.block_exponents != nullptr) exponent += b.block_exponents[k / kBlockOf32];
    sum.add(product * scale.significand, exponent);
  }
  if (special == 0) return sum.to_float();
  return std::isnan(special) ? kCanonicalNan : static_cast<float>(special);
}

}  // namespace samebits::reference
