#include "kernels/gemm_problem.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

namespace samebits::kernels {
namespace {

const GemmProblem kPlain{.m = 64, .n = 32, .k = 144};

// The reason of the refusal, or nothing.
std::string refusal(const std::function<void()>& check) {
  try {
    check();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

struct Refused {
  const char* reason;
  std::function<void(GemmProblem&)> change;
};

TEST(GemmProblem, IsRefusedWithTheReasonAndItself) {
  const Refused cases[] = {
      {"m is not a positive multiple of 16", [](auto& p) { p.m = 24; }},
      {"n is not a positive multiple of 16", [](auto& p) { p.n = 1; }},
      {"k is not a positive multiple of 16", [](auto& p) { p.k = 136; }},
      {"k is not a positive multiple of 16", [](auto& p) { p.k = 0; }},
      {"m is not a positive multiple of 16", [](auto& p) { p.m = -16; }},
      {"n is 2^31 or more", [](auto& p) { p.n = std::int64_t{1} << 31; }},
      {"an operand is not FP8", [](auto& p) { p.a = Format::kBF16; }},
      {"an operand is not FP8", [](auto& p) { p.b = Format::kE8M0; }},
      {"no GEMM of E5M2 with E5M2", [](auto& p) { p.a = p.b = Format::kE5M2; }},
      {"no GEMM with 1x32 scales", [](auto& p) { p.scale_a = p.scale_b = ScaleMode::k1x32; }},
      {"no GEMM of 128x128 with 128x128",
       [](auto& p) { p.scale_a = p.scale_b = ScaleMode::k128x128; }},
      {"this pair of scale modes", [](auto& p) { p.scale_a = ScaleMode::kRow; }},
      {"this pair of scale modes", [](auto& p) { p.scale_b = ScaleMode::k128x128; }},
      {"no fast accumulation with block scales",
       [](auto& p) {
         p.scale_a = p.scale_b = ScaleMode::k1x128;
         p.fast_accumulation = true;
       }},
      {"E8M0 is no output", [](auto& p) { p.output = Format::kE8M0; }},
      {"E5M2 output needs an E5M2 operand", [](auto& p) { p.output = Format::kE5M2; }},
      {"FP8 output needs tensorwise scales",
       [](auto& p) {
         p.output = Format::kE4M3;
         p.scale_a = p.scale_b = ScaleMode::kRow;
       }},
      {"FP8 output takes no C",
       [](auto& p) {
         p.output = Format::kE4M3;
         p.beta = 1;
       }},
      {"a D scale needs FP8 output", [](auto& p) { p.scale_d = true; }},
      {"only a BF16 or FP16 bias", [](auto& p) { p.bias = Format::kFP32; }},
      {"BF16 output takes a BF16 bias", [](auto& p) { p.bias = Format::kFP16; }},
      {"FP32 output takes a BF16 bias",
       [](auto& p) {
         p.output = Format::kFP32;
         p.bias = Format::kFP16;
       }},
      {"FP16 output takes a FP16 bias",
       [](auto& p) {
         p.output = Format::kFP16;
         p.bias = Format::kBF16;
       }},
  };
  for (const Refused& refused : cases) {
    GemmProblem problem = kPlain;
    refused.change(problem);
    const std::string reason = refusal([&] { check_problem(problem); });
    EXPECT_NE(reason.find(refused.reason), reason.npos) << refused.reason << ": " << reason;
    EXPECT_NE(reason.find(describe(problem)), reason.npos) << reason;
  }
}

TEST(GemmProblem, IsAcceptedInEveryModeOfTheChip) {
  using enum ScaleMode;
  const std::pair<ScaleMode, ScaleMode> modes[] = {
      {kTensor, kTensor}, {kRow, kRow}, {k1x128, k1x128}, {k128x128, k1x128}, {k1x128, k128x128}};
  for (const auto& [scale_a, scale_b] : modes) {
    GemmProblem problem = kPlain;
    problem.scale_a = scale_a;
    problem.scale_b = scale_b;
    EXPECT_NO_THROW(check_problem(problem)) << describe(problem);
    problem.fast_accumulation = !is_block_scaled(problem);
    problem.b = Format::kE5M2;
    EXPECT_NO_THROW(check_problem(problem)) << describe(problem);
  }
}

TEST(GemmProblem, IsDescribedInOneLine) {
  const GemmProblem problem{.m = 64,
                            .n = 32,
                            .k = 144,
                            .b = Format::kE5M2,
                            .output = Format::kE4M3,
                            .fast_accumulation = true,
                            .alpha = 0.5f,
                            .beta = 0,
                            .in_place = true,
                            .bias = Format::kFP16,
                            .scale_d = true};
  EXPECT_EQ(describe(problem),
            "GEMM m=64 n=32 k=144 E4M3/tensor x E5M2/tensor -> E4M3 fast alpha=0.5 in place "
            "bias=FP16 scaled D");
}

// Addresses that are only looked at.
alignas(256) char memory[1024];

GemmOperands operands() {
  return {.a = memory,
          .b = memory + 256,
          .scale_a = reinterpret_cast<const float*>(memory + 768),
          .scale_b = reinterpret_cast<const float*>(memory + 784),
          .d = memory + 512};
}

struct RefusedOperands {
  const char* reason;
  std::function<void(GemmProblem&, GemmOperands&)> change;
};

TEST(GemmOperands, AreRefusedWithTheReason) {
  const RefusedOperands cases[] = {
      {"A is missing", [](auto&, auto& o) { o.a = nullptr; }},
      {"A is not aligned to 16 bytes", [](auto&, auto& o) { o.a = memory + 8; }},
      {"B is not aligned to 16 bytes", [](auto&, auto& o) { o.b = memory + 257; }},
      {"D is not aligned to 16 bytes", [](auto&, auto& o) { o.d = memory + 516; }},
      {"A's scale is missing", [](auto&, auto& o) { o.scale_a = nullptr; }},
      {"A's scale is not aligned to 16 bytes",
       [](auto&, auto& o) { o.scale_a = reinterpret_cast<const float*>(memory + 776); }},
      {"B's scale is not aligned to 16 bytes",
       [](auto& p, auto& o) {
         p.scale_a = p.scale_b = ScaleMode::kRow;
         o.scale_b = reinterpret_cast<const float*>(memory + 776);
       }},
      {"the bias is missing", [](auto& p, auto&) { p.bias = Format::kBF16; }},
      {"D's scale is missing",
       [](auto& p, auto&) {
         p.output = Format::kE4M3;
         p.scale_d = true;
       }},
      {"C is missing", [](auto& p, auto&) { p.beta = 2; }},
      {"C is not aligned to 16 bytes",
       [](auto& p, auto& o) {
         p.beta = 2;
         o.c = memory + 769;
       }},
      {"C is D's buffer",
       [](auto& p, auto& o) {
         p.beta = 1;
         o.c = o.d;
       }},
      {"C in place is not D's buffer",
       [](auto& p, auto& o) {
         p.beta = 1;
         p.in_place = true;
         o.c = memory;
       }},
  };
  for (const RefusedOperands& refused : cases) {
    GemmProblem problem = kPlain;
    GemmOperands changed = operands();
    refused.change(problem, changed);
    const std::string reason = refusal([&] { check_operands(problem, changed); });
    EXPECT_NE(reason.find(refused.reason), reason.npos) << refused.reason << ": " << reason;
  }
  EXPECT_EQ(refusal([] { check_operands(kPlain, operands()); }), "");
}

TEST(GemmOperands, StandForCAsTheLibraryWantsIt) {
  GemmOperands o = operands();
  GemmProblem p = kPlain;
  EXPECT_EQ(c_operand(p, o), o.d) << "not read";
  p.beta = 1;
  o.c = memory + 768;
  EXPECT_EQ(c_operand(p, o), o.c);
  p.in_place = true;
  o.c = nullptr;
  EXPECT_EQ(c_operand(p, o), o.d);
  EXPECT_EQ(c_format(p), Format::kBF16);
  p = {.output = Format::kE4M3, .bias = Format::kFP16};
  EXPECT_EQ(c_operand(p, o), nullptr);
  EXPECT_EQ(c_format(p), Format::kFP16);
}

}  // namespace
}  // namespace samebits::kernels
