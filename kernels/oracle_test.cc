// The oracle against the CPU reference and against the library, bit for bit, on a GPU.
//
// SAMEBITS_ORACLE_CASES (120) random GEMMs from SAMEBITS_SEED (0).
#include "kernels/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "kernels/compare.h"
#include "properties/device_gemm.h"
#include "properties/random_gemm.h"

namespace samebits::kernels {
namespace {

using properties::Bits;
using properties::DeviceGemm;
using properties::GemmWorkspace;
using properties::HostGemm;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::stoull(text) : otherwise;
}

std::string text_of(const Comparison& c) {
  return std::to_string(c.differing) + " differ, first " + std::to_string(c.first);
}

// A GEMM on the device with the oracle's own D and its copy of C.
class OracleGemm {
 public:
  OracleGemm(const HostGemm& host, const Stream& stream)
      : host_(host),
        stream_(stream),
        device_(host, stream),
        c_(upload(properties::packed_values(host.c.data(), host.c.size(), host.problem.output),
                  stream)),
        d_(static_cast<std::size_t>(outputs() * size_of(host.problem.output)), stream),
        result_(sizeof(Comparison), stream) {}

  DeviceGemm& device() { return device_; }
  std::int64_t outputs() const { return host_.problem.m * host_.problem.n; }

  void run(std::int64_t slices) {
    d_.fill(Buffer::kPoison, stream_);
    GemmOperands operands = device_.operands();
    operands.c = host_.problem.beta != 0 ? c_.data() : nullptr;
    operands.d = d_.data();
    oracle_gemm(host_.problem, slices, operands, stream_);
    const auto damage = d_.verify_guards(stream_);
    EXPECT_FALSE(damage) << describe(*damage);
  }

  // What the oracle has written, against bits of the reference.
  Comparison against(const Bits& expected) {
    const std::vector<std::uint8_t> bytes = download<std::uint8_t>(d_, stream_);
    const auto width = static_cast<std::size_t>(size_of(host_.problem.output));
    Comparison found{0, Comparison::kNone};
    for (std::size_t i = 0; i < static_cast<std::size_t>(expected.size()); ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, bytes.data() + i * width, width);
      if (bits == expected.data()[i]) continue;
      ++found.differing;
      found.first = std::min<std::uint64_t>(found.first, i);
    }
    return found;
  }

  // The same against what the library has left in D.
  Comparison against_library() {
    compare(d_.data(), device_.operands().d, outputs(),
            static_cast<int>(size_of(host_.problem.output)), result_.as<Comparison>(), stream_);
    return download<Comparison>(result_, stream_).at(0);
  }

 private:
  const HostGemm& host_;
  const Stream& stream_;
  DeviceGemm device_;
  Buffer c_, d_, result_;
};

TEST(Oracle, GivesTheReferencesBits) {
  SAMEBITS_NEEDS_GPU();
  constexpr std::int64_t kMostProducts = std::int64_t{1} << 25;  // the reference is slow
  const std::uint64_t seed = from_environment("SAMEBITS_SEED", 0);
  const std::uint64_t cases = from_environment("SAMEBITS_ORACLE_CASES", 120);
  const Stream stream;
  std::int64_t outputs = 0, runs = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    const HostGemm host = properties::random_gemm(seed, i);
    const GemmProblem& p = host.problem;
    if (p.m * p.n * p.k > kMostProducts) continue;
    OracleGemm oracle(host, stream);
    for (const int slices : {1, 2 + static_cast<int>(i % 7)}) {
      oracle.run(slices);
      const Comparison found = oracle.against(properties::expected_bits(host, slices));
      EXPECT_EQ(found.differing, 0u) << "case " << i << ", " << slices
                                     << " slices: " << text_of(found) << "\n  " << describe(p);
      outputs += oracle.outputs();
      ++runs;
    }
  }
  std::printf("%lld runs, %lld outputs against the reference\n", static_cast<long long>(runs),
              static_cast<long long>(outputs));
  EXPECT_GT(runs, static_cast<std::int64_t>(cases) / 2);
}

TEST(Oracle, GivesTheLibrarysBits) {
  SAMEBITS_NEEDS_GPU();
  const std::uint64_t seed = from_environment("SAMEBITS_SEED", 0) + 1;
  const std::uint64_t cases = 4 * from_environment("SAMEBITS_ORACLE_CASES", 120);
  const CublasLt lt;
  const Stream stream;
  const GemmWorkspace workspace(stream);
  std::int64_t outputs = 0, runs = 0, split = 0, without = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    const HostGemm host = properties::random_gemm(seed, i);
    OracleGemm oracle(host, stream);
    std::optional<GemmPlan> plan;
    try {
      plan.emplace(lt, host.problem, oracle.device().operands());
    } catch (const NoAlgorithm&) {
      ++without;
      continue;
    }
    oracle.device().run(*plan, workspace.get());
    oracle.run(plan->record().split_k);
    const Comparison found = oracle.against_library();
    EXPECT_EQ(found.differing, 0u) << "case " << i << ": " << text_of(found) << "\n  "
                                   << describe(host.problem) << "\n  " << to_text(plan->record());
    outputs += oracle.outputs();
    split += plan->record().split_k > 1;
    ++runs;
  }
  std::printf("%lld runs (%lld with split K, %lld without an algorithm), %lld outputs\n",
              static_cast<long long>(runs), static_cast<long long>(split),
              static_cast<long long>(without), static_cast<long long>(outputs));
  EXPECT_GT(runs, static_cast<std::int64_t>(cases) / 2);
}

// The library loses the end of K, and so does the oracle that is told of its slices.
TEST(Oracle, LosesTheTailThatSplitKLoses) {
  SAMEBITS_NEEDS_GPU();
  constexpr std::int64_t kK = 96784, kSlices = 36, kSummed = 96768;
  const Stream stream;
  const HostGemm host = properties::all_ones(64, 64, kK);
  OracleGemm oracle(host, stream);
  for (const auto& [slices, summed] : {std::pair{kSlices, kSummed}, {std::int64_t{1}, kK}}) {
    oracle.run(slices);
    const float sum = static_cast<float>(summed);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &sum, sizeof bits);
    EXPECT_EQ(oracle.against(Bits::Constant(64, 64, bits)).differing, 0u) << slices << " slices";
  }
}

// Faults put in by hand, each of which must be seen, and seen at its place: in what lies on the
// device after a library's run that the oracle agrees with.
class Mutants {
 public:
  Mutants(const HostGemm& host, const Stream& stream) : stream_(stream), oracle_(host, stream) {
    const CublasLt lt;
    const GemmWorkspace workspace(stream);
    GemmPlan plan(lt, host.problem, operands());
    oracle_.device().run(plan, workspace.get());
    slices_ = plan.record().split_k;
    EXPECT_EQ(judge().differing, 0u);
  }

  GemmOperands operands() { return oracle_.device().operands(); }

  Comparison judge() {
    oracle_.run(slices_);
    return oracle_.against_library();
  }

  // With one bit flipped, which is put back afterwards.
  Comparison judge_flipped(const void* at, std::int64_t byte, int bit) {
    auto* target = static_cast<std::uint8_t*>(const_cast<void*>(at)) + byte;
    const std::vector<std::uint8_t> value = copy_to_host(target, 1, stream_);
    const auto flipped = static_cast<std::uint8_t>(value[0] ^ 1 << bit);
    copy_to_device(target, std::vector<std::uint8_t>{flipped}, stream_);
    const Comparison found = judge();
    copy_to_device(target, value, stream_);
    return found;
  }

 private:
  const Stream& stream_;
  OracleGemm oracle_;
  std::int64_t slices_ = 1;
};

TEST(OracleMutants, AFlippedBitOfAnOutputIsFoundWithItsIndex) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  HostGemm host = properties::weight_gradient(7, 512, 208, 336, ScaleMode::kTensor, true);
  host.problem.output = Format::kBF16;
  Mutants mutants(host, stream);
  for (std::int64_t i = 0; i < host.problem.m * host.problem.n; i += 997) {
    const Comparison found =
        mutants.judge_flipped(mutants.operands().d, 2 * i + i % 2, static_cast<int>(i % 8));
    EXPECT_EQ(found.differing, 1u) << i;
    EXPECT_EQ(found.first, static_cast<std::uint64_t>(i));
  }
}

TEST(OracleMutants, AFlippedSignOfAnInputShowsInItsColumnAlone) {
  SAMEBITS_NEEDS_GPU();
  constexpr std::int64_t kColumns = 208, kRows = 336;
  const Stream stream;
  const HostGemm host =
      properties::weight_gradient(8, 512, kColumns, kRows, ScaleMode::k1x128, false);
  Mutants mutants(host, stream);
  for (const std::int64_t column : {0, 63, 64, 207}) {
    const Comparison found =
        mutants.judge_flipped(mutants.operands().a, column * host.problem.k + column, 7);
    EXPECT_GT(found.differing, 100u) << column;
    EXPECT_LE(found.differing, static_cast<std::uint64_t>(kRows)) << column;
    EXPECT_EQ(found.first % kColumns, static_cast<std::uint64_t>(column));
  }
}

TEST(Oracle, RefusesWhatItCannotJudge) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  HostGemm host = properties::all_ones(64, 64, 64);
  const DeviceGemm device(host, stream);
  GemmOperands operands = device.operands();
  EXPECT_THROW(oracle_gemm(host.problem, 0, operands, stream), std::invalid_argument);
  host.problem.beta = 1;
  host.problem.in_place = true;
  EXPECT_THROW(oracle_gemm(host.problem, 1, operands, stream), std::invalid_argument);
  operands.c = operands.d;
  EXPECT_THROW(oracle_gemm(host.problem, 1, operands, stream), std::invalid_argument);
  host.problem = {.m = 8, .n = 64, .k = 64};
  EXPECT_THROW(oracle_gemm(host.problem, 1, operands, stream), std::invalid_argument);
}

}  // namespace
}  // namespace samebits::kernels
