#include "properties/random_gemm.h"

#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "properties/splitmix.h"
#include "reference/formats.h"

namespace samebits::properties {
namespace {

using Eigen::Index;
using kernels::Format;
using kernels::ScaleMode;
using reference::Fp8;

constexpr std::int64_t kMaxProducts = std::int64_t{1} << 27;

// Ordinary: 2^-8 to 2^8 in magnitude. Odd: one in eight is a zero, subnormal, Inf or NaN.
enum class Numbers { kOne, kPowers, kOrdinary, kOdd };
enum class CodeKind { kAny, kNarrow, kSparse, kSubnormal, kOne, kSpecial };

float ordinary(SplitMix& random, bool either_sign) {
  const std::uint64_t bits = random.next();
  const auto exponent = static_cast<std::uint32_t>(127 - 8 + (bits >> 32) % 16);
  const std::uint32_t sign = either_sign ? static_cast<std::uint32_t>(bits >> 63) << 31 : 0;
  return std::bit_cast<float>(sign | exponent << 23 |
                              (static_cast<std::uint32_t>(bits) & 0x7fffff));
}

float odd(SplitMix& random) {
  using Limits = std::numeric_limits<float>;
  return random.pick({0.0f, -0.0f, Limits::denorm_min(), 0x1.8p-130f, Limits::infinity(),
                      -Limits::infinity(), reference::kCanonicalNan, Limits::max(), 0x1p-100f});
}

float number(SplitMix& random, Numbers numbers, bool either_sign) {
  switch (numbers) {
    case Numbers::kOne:
      return 1;
    case Numbers::kPowers:
      return std::ldexp(1.0f, static_cast<int>(random.below(17)) - 8);
    case Numbers::kOrdinary:
      break;
    case Numbers::kOdd:
      if (random.one_in(8)) return odd(random);
  }
  return ordinary(random, either_sign);
}

bool is_finite(std::uint8_t code, Format format) {
  return format == Format::kE4M3 ? (code & 0x7f) != 0x7f : (code & 0x7c) != 0x7c;
}

std::uint8_t code(SplitMix& random, CodeKind kind, Format format) {
  const std::uint64_t bits = random.next();
  const int mantissa_bits = format == Format::kE4M3 ? 3 : 2;
  const auto any = static_cast<std::uint8_t>(bits);
  const std::uint8_t finite = is_finite(any, format) ? any : any & 0x80;
  const auto fraction = static_cast<std::uint8_t>(any & ((1 << mantissa_bits) - 1));
  const auto sign = static_cast<std::uint8_t>(any & 0x80);
  switch (kind) {
    case CodeKind::kAny:
      break;
    case CodeKind::kNarrow: {
      const int exponent = (format == Format::kE4M3 ? 4 : 12) + static_cast<int>((bits >> 8) % 6);
      return static_cast<std::uint8_t>(sign | exponent << mantissa_bits | fraction);
    }
    case CodeKind::kSparse:
      return (bits >> 8) % 16 == 0 ? finite : sign;
    case CodeKind::kSubnormal:
      return (bits >> 8) % 16 == 0 ? finite : static_cast<std::uint8_t>(sign | fraction);
    case CodeKind::kOne:
      return format == Format::kE4M3 ? 0b0'0111'000 : 0b0'01111'00;
    case CodeKind::kSpecial:
      // Few enough that most outputs stay finite.
      return (bits >> 8) % 50000 == 0 ? any | 0x78 : finite;
  }
  return finite;
}

reference::Quantized operand(SplitMix& random, Index rows, Index k, Format format, ScaleMode mode,
                             CodeKind codes, Numbers scales) {
  reference::Quantized q{granularity(mode),
                         format == Format::kE4M3 ? Fp8::kE4M3 : Fp8::kE5M2,
                         reference::Codes(rows, k),
                         {}};
  for (std::uint8_t& c : std::span(q.codes.data(), static_cast<std::size_t>(q.codes.size()))) {
    c = code(random, codes, format);
  }
  const auto grid = reference::block_grid(q.granularity, rows, k);
  q.scale_inv.resize(grid.rows, grid.cols);
  for (float& s : std::span(q.scale_inv.data(), static_cast<std::size_t>(q.scale_inv.size()))) {
    s = number(random, scales, scales == Numbers::kOdd);
  }
  return q;
}

// Half of the shapes are small in M and N and long in K: there the library splits K.
void set_shape(kernels::GemmProblem& p, SplitMix& random) {
  const bool is_long = random.one_in(2);
  const std::int64_t edge = is_long ? 8 : 32;  // of M and N, in 16
  p.m = 16 * (1 + random.below(edge));
  p.n = 16 * (1 + random.below(edge));
  const std::int64_t most =
      std::min<std::int64_t>(kMaxProducts / (p.m * p.n), is_long ? 32768 : 1024);
  const bool is_tail = random.one_in(4);
  p.k = is_tail ? random.pick<std::int64_t>({16, 48, 80, 112, 144, 160, 272, 400})
                : 16 * (1 + random.below(most / 16));
  if (random.one_in(4)) p.k = (p.k + 127) / 128 * 128;
}

void set_modes(kernels::GemmProblem& p, SplitMix& random) {
  using enum ScaleMode;
  const auto [a, b] = random.pick<std::pair<ScaleMode, ScaleMode>>({{kTensor, kTensor},
                                                                    {kTensor, kTensor},
                                                                    {kTensor, kTensor},
                                                                    {kRow, kRow},
                                                                    {k1x128, k1x128},
                                                                    {k128x128, k1x128},
                                                                    {k1x128, k128x128}});
  p.scale_a = a;
  p.scale_b = b;
  p.fast_accumulation = !is_block_scaled(p) && random.one_in(2);
}

void set_formats(kernels::GemmProblem& p, SplitMix& random) {
  const auto kind = random.below(4);
  if (kind == 2) p.a = Format::kE5M2;
  if (kind == 3) p.b = Format::kE5M2;
  p.output = random.pick({Format::kFP32, Format::kBF16, Format::kFP16});
  if (p.scale_a != ScaleMode::kTensor || !random.one_in(4)) return;
  p.output = kind >= 2 && random.one_in(2) ? Format::kE5M2 : Format::kE4M3;
}

void set_epilogue(kernels::GemmProblem& p, SplitMix& random) {
  const bool to_fp8 = size_of(p.output) == 1;
  if (random.one_in(3)) p.alpha = ordinary(random, true);
  if (!to_fp8 && random.one_in(2)) {
    p.beta = random.one_in(2) ? 1 : random.pick({0.5f, -1.0f, ordinary(random, true)});
  }
  p.in_place = random.one_in(2);
  p.scale_d = to_fp8 && random.one_in(2);
  if (!random.one_in(3)) return;
  const bool fp16 = to_fp8 ? random.one_in(2) : p.output == Format::kFP16;
  p.bias = fp16 ? Format::kFP16 : Format::kBF16;
}

float value_of(SplitMix& random, Numbers numbers, Format format) {
  return reference::cast(number(random, numbers, true), output_type(format));
}

void fill_epilogue(HostGemm& gemm, SplitMix& random, Numbers numbers) {
  const kernels::GemmProblem& p = gemm.problem;
  if (p.beta != 0) {
    gemm.c.resize(p.n, p.m);
    for (Index i = 0; i < gemm.c.size(); ++i) {
      gemm.c.data()[i] = value_of(random, numbers, p.output);
    }
  }
  if (p.bias) {
    gemm.bias.resize(p.m);
    for (float& value : gemm.bias) value = value_of(random, numbers, *p.bias);
  }
  if (p.scale_d) gemm.scale_d = ordinary(random, false);
}

std::int64_t offset(SplitMix& random) { return random.one_in(2) ? 0 : 16 * random.below(16); }

}  // namespace

HostGemm random_gemm(std::uint64_t seed, std::uint64_t index) {
  SplitMix random(SplitMix(SplitMix(seed).next() + index).next());
  HostGemm gemm;
  kernels::GemmProblem& p = gemm.problem;
  set_shape(p, random);
  set_modes(p, random);
  set_formats(p, random);
  set_epilogue(p, random);
  const auto codes = [&] {
    return random.pick({CodeKind::kAny, CodeKind::kNarrow, CodeKind::kNarrow, CodeKind::kSparse,
                        CodeKind::kSubnormal, CodeKind::kOne, CodeKind::kSpecial});
  };
  const auto numbers = [&] {
    return random.pick({Numbers::kOne, Numbers::kPowers, Numbers::kOrdinary, Numbers::kOrdinary,
                        Numbers::kOrdinary, Numbers::kOdd});
  };
  gemm.a = operand(random, p.m, p.k, p.a, p.scale_a, codes(), numbers());
  gemm.b = operand(random, p.n, p.k, p.b, p.scale_b, codes(), numbers());
  fill_epilogue(gemm, random, numbers());
  gemm.offset_a = offset(random);
  gemm.offset_b = offset(random);
  gemm.offset_c = offset(random);
  gemm.offset_d = offset(random);
  return gemm;
}

HostGemm weight_gradient(std::uint64_t seed, std::int64_t tokens, std::int64_t in, std::int64_t out,
                         ScaleMode mode, bool hybrid) {
  SplitMix random(seed);
  HostGemm gemm;
  kernels::GemmProblem& p = gemm.problem;
  p = {.m = in, .n = out, .k = tokens, .output = Format::kFP32, .scale_a = mode, .scale_b = mode};
  if (hybrid) p.b = Format::kE5M2;
  gemm.a = operand(random, in, tokens, p.a, mode, CodeKind::kNarrow, Numbers::kOrdinary);
  gemm.b = operand(random, out, tokens, p.b, mode, CodeKind::kNarrow, Numbers::kOrdinary);
  return gemm;
}

HostGemm all_ones(std::int64_t m, std::int64_t n, std::int64_t k) {
  SplitMix random(0);
  HostGemm gemm;
  gemm.problem = {.m = m, .n = n, .k = k, .output = Format::kFP32};
  const auto ones = [&](Index rows) {
    return operand(random, rows, k, Format::kE4M3, ScaleMode::kTensor, CodeKind::kOne,
                   Numbers::kOne);
  };
  gemm.a = ones(m);
  gemm.b = ones(n);
  return gemm;
}

}  // namespace samebits::properties
