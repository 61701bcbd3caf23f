#include "properties/small_gemm.h"

#include <bit>
#include <span>

#include "properties/splitmix.h"

namespace samebits::properties {
namespace {

using Eigen::Index;
using reference::AccumulationModel;
using reference::Fp8;
using reference::Granularity;
using reference::OutputType;

// Any code; finite ones; a few exponents; mostly zeros; subnormals and the least normals; one
// value, of either sign.
enum class Codes { kAny, kFinite, kNarrow, kSparse, kTiny, kConstant };

std::uint8_t code(SplitMix& random, Codes kind, Fp8 format, std::uint8_t constant) {
  const std::uint64_t bits = random.next();
  const auto any = static_cast<std::uint8_t>(bits);
  const auto sign = static_cast<std::uint8_t>(any & 0x80);
  const int least_special = format == Fp8::kE4M3 ? 0x7f : 0x7c;
  switch (kind) {
    case Codes::kAny:
      return any;
    case Codes::kFinite:
      break;
    case Codes::kNarrow:
      return static_cast<std::uint8_t>(sign | (0x30 + (any & 0x0f)));
    case Codes::kSparse:
      if ((bits >> 8) % 8 != 0) return sign;
      break;
    case Codes::kTiny:
      return static_cast<std::uint8_t>(sign | (any & 0x0f));
    case Codes::kConstant:
      return static_cast<std::uint8_t>(sign | constant);
  }
  return (any & 0x7f) >= least_special ? sign : any;
}

float ordinary(SplitMix& random) {
  const std::uint64_t bits = random.next();
  const auto exponent = static_cast<std::uint32_t>(127 - 6 + (bits >> 32) % 12);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0x807fffff) | exponent << 23);
}

// Any FP32 pattern now and then, else an ordinary number.
float number(SplitMix& random, bool any) {
  const auto bits = static_cast<std::uint32_t>(random.next());
  return any && random.one_in(4) ? std::bit_cast<float>(bits) : ordinary(random);
}

reference::Quantized operand(SplitMix& random, Index rows, Index k, Fp8 format, Granularity mode) {
  reference::Quantized q{mode, format, reference::Codes(rows, k), {}};
  const Codes kind = random.pick({Codes::kAny, Codes::kFinite, Codes::kFinite, Codes::kNarrow,
                                  Codes::kNarrow, Codes::kSparse, Codes::kTiny, Codes::kConstant});
  const auto constant = static_cast<std::uint8_t>(random.below(0x7c));
  for (std::uint8_t& c : std::span(q.codes.data(), static_cast<std::size_t>(q.codes.size()))) {
    c = code(random, kind, format, constant);
  }
  // NaN and Inf in half of the rows at most, so that most outputs are the fast form's own.
  if (kind == Codes::kAny) {
    for (Index row = 0; row < rows; row += 2) {
      for (Index i = 0; i < k; ++i) q.codes(row, i) = code(random, Codes::kFinite, format, 0);
    }
  }
  const auto grid = reference::block_grid(mode, rows, k);
  q.scale_inv.resize(grid.rows, grid.cols);
  const bool any = random.one_in(8);
  for (Index i = 0; i < q.scale_inv.size(); ++i) q.scale_inv.data()[i] = number(random, any);
  return q;
}

AccumulationModel model(SplitMix& random, bool blocks) {
  if (random.one_in(2)) return reference::hopper(!blocks && random.one_in(2));
  AccumulationModel model = reference::ada(false);
  model.products_per_sum = random.pick({1, 2, 4, 8, 16, 32, 24, 31});
  model.aligned_fraction_bits = static_cast<int>(random.below(17));
  model.result_fraction_bits = static_cast<int>(random.below(24));
  if (!blocks) model.promotion_interval = random.pick({0, 32, 64, 128, 256, 100});
  return model;
}

void set_epilogue(SmallGemm& gemm, SplitMix& random, Index m, Index n, bool has_e5m2) {
  reference::GemmSpec& spec = gemm.spec;
  spec.output = random.pick({OutputType::kFP32, OutputType::kBF16, OutputType::kFP16,
                             OutputType::kE4M3, OutputType::kE5M2});
  if (spec.output == OutputType::kE5M2 && !has_e5m2) spec.output = OutputType::kBF16;
  const bool to_fp8 = spec.output == OutputType::kE4M3 || spec.output == OutputType::kE5M2;
  const bool any = random.one_in(8);
  if (random.one_in(2)) spec.alpha = random.one_in(8) ? -0.0F : number(random, any);
  if (!to_fp8 && random.one_in(2)) {
    spec.beta = random.one_in(2) ? 1 : number(random, any);
    gemm.c.resize(n, m);
    for (Index i = 0; i < gemm.c.size(); ++i) {
      gemm.c.data()[i] = reference::cast(number(random, any), spec.output);
    }
  }
  spec.in_place = random.one_in(2);
  if (to_fp8) gemm.scale_d = number(random, any);
  if (!random.one_in(3)) return;
  gemm.bias.emplace(m);
  const OutputType type = spec.output == OutputType::kFP16 ? OutputType::kFP16 : OutputType::kBF16;
  for (float& value : *gemm.bias) value = reference::cast(number(random, any), type);
}

}  // namespace

SmallGemm small_gemm(std::uint64_t seed, std::uint64_t index) {
  SplitMix random(SplitMix(SplitMix(seed).next() + index).next());
  const Index k = random.one_in(16) ? 300 + random.below(401) : random.below(200);
  const Index most = random.one_in(8) ? 80 : 8;  // beyond the lanes of a kernel now and then
  const Index m = random.below(most + 1), n = most == 80 ? random.below(4) : random.below(13);

  using enum Granularity;
  const auto [mode_a, mode_b] = random.pick<std::pair<Granularity, Granularity>>(
      {{kTensor, kTensor}, {kRow, kRow}, {k1x128, k1x128}, {k128x128, k1x128}, {k1x128, k128x128}});
  const auto formats = random.below(4);
  SmallGemm gemm;
  gemm.a = operand(random, m, k, formats == 2 ? Fp8::kE5M2 : Fp8::kE4M3, mode_a);
  gemm.b = operand(random, n, k, formats == 3 ? Fp8::kE5M2 : Fp8::kE4M3, mode_b);
  gemm.spec.model = model(random, mode_a != kTensor && mode_a != kRow);
  if (k > 0 && random.one_in(4)) {
    gemm.spec.split_k = static_cast<int>(1 + random.below(std::min<Index>(k, 6)));
  }
  set_epilogue(gemm, random, m, n, formats >= 2);
  return gemm;
}

}  // namespace samebits::properties
