#include "reference/epilogue.h"

#include <bit>
#include <cmath>

#include "reference/formats.h"
#include "reference/mutants.h"

namespace samebits::reference {
namespace {

bool is_fp8(OutputType type) { return type == OutputType::kE4M3 || type == OutputType::kE5M2; }

template <class F>
F to(float value, Overflow overflow) {
  return F::round(value, Rounding::kNearestEven, overflow);
}

}  // namespace

float Epilogue::operator()(float u, float c, float bias) const {
  const auto plus_bias = [&](float value) {
    return has_bias && !mutant("bias is ignored") ? value + bias : value;
  };
  const auto store = [&](float value) {
    if (mutant("D scale after the cast") && is_fp8(output)) {
      return cast(cast(value, output) * scale_d, output);
    }
    return cast(is_fp8(output) ? value * scale_d : value, output);
  };
  if (split_k) {
    const float product = factor * u;
    if (beta != 0) return store(plus_bias(std::fma(beta, c, product)));
    return store(plus_bias(is_fp8(output) ? product + 0.0f : product));
  }

  const bool accumulates_in_place = beta == 1 && in_place;
  if (beta != 0 && !accumulates_in_place) {
    return store(plus_bias(std::fma(factor, u, beta * c)));
  }
  const float zero = mutant("no +0 joins the product") ? -0.0f : 0.0f;
  const float value = plus_bias(factor == 1 ? u : std::fma(factor, u, zero));  // on -0: the header
  if (mutant("in place rounds once") && accumulates_in_place) return store(c + value);
  return accumulates_in_place ? store(c + store(value)) : store(value);
}

float cast(float value, OutputType type) {
  switch (type) {
    case OutputType::kFP32:
      break;
    case OutputType::kBF16:
      return to<BF16>(value, Overflow::kToInfinityOrNan).value();
    case OutputType::kFP16:
      return to<FP16>(value, Overflow::kToInfinityOrNan).value();
    case OutputType::kE4M3:
      return to<E4M3>(value, Overflow::kSaturate).value();
    case OutputType::kE5M2:
      return to<E5M2>(value, Overflow::kSaturate).value();
  }
  return std::isnan(value) ? kCanonicalNan : value;
}

std::uint32_t output_bits(float value, OutputType type) {
  switch (type) {
    case OutputType::kFP32:
      break;
    case OutputType::kBF16:
      return to<BF16>(value, Overflow::kToInfinityOrNan).bits();
    case OutputType::kFP16:
      return to<FP16>(value, Overflow::kToInfinityOrNan).bits();
    case OutputType::kE4M3:
      return to<E4M3>(value, Overflow::kSaturate).bits();
    case OutputType::kE5M2:
      return to<E5M2>(value, Overflow::kSaturate).bits();
  }
  return std::bit_cast<std::uint32_t>(std::isnan(value) ? kCanonicalNan : value);
}

}  // namespace samebits::reference
