#include "reference/fast/store.h"

#include <bit>

#include "reference/mutants.h"

namespace samebits::reference::fast {
namespace {

constexpr std::uint32_t kNan = 0x7fffffff;

// Rounds to BF16, to nearest even: half of the last place and the last bit are added, and a carry
// runs into the exponent, up to Inf.
std::uint32_t to_bf16(std::uint32_t bits) {
  const std::uint32_t odd = mutant("fast: BF16 ties up") ? 1 : (bits >> 16) & 1;
  const std::uint32_t rounded = (bits + 0x7fff + odd) & 0xffff0000;
  return (bits & 0x7fffffff) > 0x7f800000 ? kNan : rounded;
}

std::uint32_t to_fp32(std::uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000 ? kNan : bits; }

template <OutputType kOutput>
float rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>(kOutput == OutputType::kBF16 ? to_bf16(bits) : to_fp32(bits));
}

// What is added to w = f * u: nothing, or what D held, w rounded to the output first unless K was
// split.
enum class Addend { kNothing, kToRounded, kToProduct };

template <OutputType kOutput, Addend kAddend>
void store(const Epilogue& e, const float* c, const float* bias, std::int64_t count, float* d) {
  for (std::int64_t i = 0; i < count; ++i) {
    float value = e.factor * d[i];
    if (!e.split_k && e.factor != 1) {
      // fma(f, u, +0): an exact zero is +0, what underflows keeps its sign.
      const bool exact_zero = d[i] == 0 || e.factor == 0;
      value = exact_zero && !mutant("fast: no +0 joins the product") ? value + 0.0F : value;
    }
    if constexpr (kAddend == Addend::kToProduct) value = c[i] + value;
    if (e.has_bias) value += bias[i];
    value = rounded<kOutput>(value);
    if constexpr (kAddend == Addend::kToRounded) value = rounded<kOutput>(c[i] + value);
    d[i] = value;
  }
}

template <OutputType kOutput>
bool store_as(const Epilogue& e, const float* c, const float* bias, std::int64_t count, float* d) {
  if (e.beta == 0) {
    store<kOutput, Addend::kNothing>(e, c, bias, count, d);
  } else if (e.beta == 1 && e.split_k) {
    store<kOutput, Addend::kToProduct>(e, c, bias, count, d);
  } else if (e.beta == 1 && e.in_place) {
    store<kOutput, Addend::kToRounded>(e, c, bias, count, d);
  } else {
    return false;
  }
  return true;
}

}  // namespace

void store_row(const Epilogue& epilogue, const float* c, const float* bias, std::int64_t count,
               float* d) {
  if (epilogue.output == OutputType::kBF16 &&
      store_as<OutputType::kBF16>(epilogue, c, bias, count, d)) {
    return;
  }
  if (epilogue.output == OutputType::kFP32 &&
      store_as<OutputType::kFP32>(epilogue, c, bias, count, d)) {
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    d[i] = epilogue(d[i], c != nullptr ? c[i] : 0, bias != nullptr ? bias[i] : 0);
  }
}

}  // namespace samebits::reference::fast
