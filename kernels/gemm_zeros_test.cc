// The sign of a zero that a GEMM stores, by every algorithm that the library offers, on a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "properties/device_gemm.h"
#include "properties/host_gemm.h"

namespace samebits::kernels {
namespace {

using properties::Bits;
using properties::DeviceGemm;
using properties::GemmWorkspace;
using properties::HostGemm;

constexpr float kTiny = 0x1p-149f;

// The kinds of rows of A, by turns: one code that is not zero, and the row's scale where each row
// has its own. B is ones with scales of one.
struct Kind {
  std::uint8_t code;
  float scale;
};
constexpr Kind kKinds[] = {
    {0x38, -0.0f},     // T = 1, u = -0 by the scale
    {0, -1},           // T = +0, u = -0
    {0x81, kTiny},     // T = -2^-9, u underflows to -0
    {0xb8, 0x1p-60f},  // T = -1, u = -2^-60, which only a small alpha makes a zero
    {0, 1},            // T = +0, u = +0
};
constexpr Eigen::Index kKindCount = std::size(kKinds);

using Modes = std::pair<ScaleMode, ScaleMode>;

reference::Quantized operand(Eigen::Index rows, std::int64_t k, ScaleMode mode) {
  const auto grid = reference::block_grid(properties::granularity(mode), rows, k);
  reference::Quantized result{
      properties::granularity(mode), reference::Fp8::kE4M3, reference::Codes::Zero(rows, k), {}};
  result.scale_inv.setOnes(grid.rows, grid.cols);
  return result;
}

HostGemm zeros(const Modes& modes, std::int64_t k, float alpha, Format output) {
  HostGemm host;
  host.problem = {.m = 64,
                  .n = 16,
                  .k = k,
                  .output = output,
                  .scale_a = modes.first,
                  .scale_b = modes.second,
                  .alpha = alpha};
  host.a = operand(host.problem.m, k, modes.first);
  host.b = operand(host.problem.n, k, modes.second);
  host.b.codes.setConstant(0x38);
  // One scale for all rows: it is part of the factor, or makes the -2^-9 underflow.
  if (modes.first == ScaleMode::kTensor) host.a.scale_inv.setConstant(0x1p-49f);
  if (modes.first == ScaleMode::k128x128) host.a.scale_inv.setConstant(kTiny);
  for (Eigen::Index m = 0; m < host.a.codes.rows(); ++m) {
    const Kind& kind = kKinds[m % kKindCount];
    host.a.codes(m, 0) = kind.code;
    if (host.a.scale_inv.rows() == host.a.codes.rows()) {
      host.a.scale_inv.row(m).setConstant(kind.scale);
    }
  }
  return host;
}

// A letter a kind: + and - for zeros, x for what is none, ? where the outputs differ among them.
std::string signs(const Bits& d, Format output) {
  const std::uint32_t minus = size_of(output) == 4 ? 0x80000000 : 0x8000;
  std::string letters(kKindCount, ' ');
  for (Eigen::Index i = 0; i < d.size(); ++i) {
    const std::uint32_t bits = d.data()[i];
    const char letter = bits == 0 ? '+' : bits == minus ? '-' : 'x';
    char& place = letters[static_cast<std::size_t>(i % d.cols() % kKindCount)];
    if (place == ' ') place = letter;
    if (place != letter) place = '?';
  }
  return letters;
}

// Whether recordings of the hardware have such zeros.
bool is_pinned(const GemmProblem& p) {
  if (p.scale_a == ScaleMode::kRow) return p.alpha == 1;
  return p.scale_a == ScaleMode::kTensor && std::abs(p.alpha) >= 1;
}

// Runs all algorithms with D aligned to 256 bytes and to 16, and prints what they store. Returns
// how many runs differ from the reference, which fails the test only where recordings pin it.
int differing_runs(HostGemm host, const CublasLt& lt, const Stream& stream,
                   const Workspace& workspace) {
  const GemmProblem& problem = host.problem;
  std::map<int, std::string> expected;  // by slices
  std::map<std::string, int> seen;      // runs
  int differing = 0;
  for (const std::int64_t offset : {0, 16}) {
    host.offset_d = offset;
    DeviceGemm device(host, stream);
    for (const AlgorithmRecord& record : offered_algorithms(lt, problem, device.operands())) {
      GemmPlan plan(lt, problem, device.operands(), record);
      const int slices = static_cast<int>(record.split_k);
      std::string& wanted = expected[slices];
      if (wanted.empty()) wanted = signs(properties::expected_bits(host, slices), problem.output);
      const std::string got = signs(device.run(plan, workspace), problem.output);
      differing += got != wanted;
      ++seen[got + (got == wanted ? " as the reference" : ", reference " + wanted) +
             (slices > 1 ? ", split K" : "")];
      EXPECT_TRUE(got == wanted || !is_pinned(problem))
          << got << ", reference " << wanted << "; " << describe(problem) << "; "
          << to_text(record);
    }
  }
  for (const auto& [what, runs] : seen) {
    std::printf("%s: %s: %d runs\n", describe(problem).c_str(), what.c_str(), runs);
  }
  return differing;
}

TEST(SignsOfZero, AreTheReferences) {
  SAMEBITS_NEEDS_GPU();
  using enum ScaleMode;
  constexpr Modes kModes[] = {
      {kTensor, kTensor}, {kRow, kRow}, {k1x128, k1x128}, {k128x128, k1x128}, {k1x128, k128x128}};
  const CublasLt lt;
  const Stream stream;
  const GemmWorkspace workspace(stream);
  int differing = 0;
  for (const Modes& modes : kModes) {
    for (const std::int64_t k : {128, 16384}) {
      for (const float alpha : {1.0f, 28.715666f, -28.715666f, 0x1p-100f}) {
        for (const Format output : {Format::kFP32, Format::kBF16}) {
          differing += differing_runs(zeros(modes, k, alpha, output), lt, stream, workspace.get());
        }
      }
    }
  }
  std::printf("runs with other signs than the reference's: %d\n", differing);
  RecordProperty("differing", std::to_string(differing));
}

}  // namespace
}  // namespace samebits::kernels
