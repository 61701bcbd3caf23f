// Laws of the library's GEMMs, and of the policies, on a GPU.
#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <optional>
#include <utility>

#include "properties/device_gemm.h"
#include "properties/random_gemm.h"

namespace samebits::kernels {
namespace {

using properties::Bits;
using properties::DeviceGemm;
using properties::GemmWorkspace;
using properties::HostGemm;

// The library drops terms: with ones each output says how many it has summed. Returns how many of
// the terms the record says are dropped.
std::int64_t check_count_of_ones(GemmPlan& plan, DeviceGemm& device, const Workspace& workspace) {
  const std::int64_t k = plan.problem().k;
  const std::int64_t dropped = dropped_terms(k, plan.record(), false);
  const Bits got = device.run(plan, workspace);
  const auto expected = std::bit_cast<std::uint32_t>(static_cast<float>(k - dropped));
  EXPECT_TRUE((got.array() == expected).all())
      << to_text(plan.record()) << " should drop " << dropped << ", the first output is "
      << std::bit_cast<float>(got(0, 0));
  return dropped;
}

TEST(LostTail, OfTheFirstChoiceIsWhatTheRecordSays) {
  SAMEBITS_NEEDS_GPU();
  const CublasLt lt;
  const Stream stream;
  const GemmWorkspace workspace(stream);
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{64, 96784}, {128, 295696}, {64, 96768}};
  for (const auto& [m, k] : shapes) {
    const HostGemm host = properties::all_ones(m, 64, k);
    DeviceGemm device(host, stream);
    GemmPlan plan(lt, host.problem, device.operands(), Heuristic{});
    const std::int64_t dropped = check_count_of_ones(plan, device, workspace.get());
    std::printf("%s: %s%lld of %lld; %s\n", describe(host.problem).c_str(),
                dropped > 0 ? "library drops terms: " : "dropped ", static_cast<long long>(dropped),
                static_cast<long long>(k), to_text(plan.record()).c_str());
    RecordProperty("dropped_at_" + std::to_string(k), std::to_string(dropped));
  }
}

TEST(LostTail, OfEveryAlgorithmIsWhatItsRecordSays) {
  SAMEBITS_NEEDS_GPU();
  const CublasLt lt;
  const Stream stream;
  const GemmWorkspace workspace(stream);
  const HostGemm host = properties::all_ones(64, 64, 96784);
  DeviceGemm device(host, stream);
  const auto records = offered_algorithms(lt, host.problem, device.operands());
  int dropping = 0;
  for (const AlgorithmRecord& record : records) {
    GemmPlan plan(lt, host.problem, device.operands(), record);
    dropping += check_count_of_ones(plan, device, workspace.get()) > 0;
  }
  std::printf("%s: %d of %zu algorithms drop terms\n", describe(host.problem).c_str(), dropping,
              records.size());
  RecordProperty("algorithms", std::to_string(records.size()));
  RecordProperty("dropping", std::to_string(dropping));
}

// No-split where the library has that, else the first choice: that is reported, no failure.
GemmPlan whole_if_possible(const CublasLt& lt, const GemmProblem& problem,
                           const GemmOperands& operands) {
  try {
    return {lt, problem, operands, NoSplit{}};
  } catch (const NoAlgorithm& error) {
    std::printf("%s\n", error.what());
    return {lt, problem, operands, Heuristic{}};
  }
}

TEST(Repeats, AreIdentical) {
  SAMEBITS_NEEDS_GPU();
  constexpr int kRepeats = 100;
  const CublasLt lt;
  const Stream stream;
  const GemmWorkspace workspace(stream);
  bool any_split = false, any_whole = false;
  for (const std::int64_t k : {512, 2048, 65536}) {
    const HostGemm host = properties::weight_gradient(1, k, 128, 128, ScaleMode::kTensor, true);
    DeviceGemm device(host, stream);
    const auto expect_identical = [&](GemmPlan plan) {
      (plan.record().split_k > 1 ? any_split : any_whole) = true;
      const Bits once = device.run(plan, workspace.get());
      int different = 0;
      for (int i = 1; i < kRepeats; ++i) different += device.run(plan, workspace.get()) != once;
      EXPECT_EQ(different, 0) << "of " << kRepeats << ": " << to_text(plan.record());
    };
    expect_identical({lt, host.problem, device.operands(), Heuristic{}});
    expect_identical(whole_if_possible(lt, host.problem, device.operands()));
  }
  EXPECT_TRUE(any_split && any_whole);
}

// That its bits do not change is reported, not asserted: another number of tokens may have another
// split of K, and so other bits.
TEST(RowZero, IsWhatTheReferenceSaysWhateverTheOtherRows) {
  SAMEBITS_NEEDS_GPU();
  const CublasLt lt;
  const Stream stream;
  const GemmWorkspace workspace(stream);
  for (const std::int64_t k : {512, 4096, 32768}) {
    const HostGemm all = properties::weight_gradient(2, k, 256, 1024, ScaleMode::kTensor, false);
    std::optional<Bits> first;
    for (const std::int64_t tokens : {16, 32, 48, 128, 256, 1024}) {
      HostGemm host = all;
      host.problem.n = tokens;
      host.b.codes = all.b.codes.topRows(tokens);
      DeviceGemm device(host, stream);
      GemmPlan plan(lt, host.problem, device.operands(), Heuristic{});
      const Bits row = device.run(plan, workspace.get()).topRows(1);
      HostGemm alone = host;
      alone.b.codes = all.b.codes.topRows(1);
      const int slices = static_cast<int>(plan.record().split_k);
      EXPECT_TRUE(row == properties::expected_bits(alone, slices)) << to_text(plan.record());
      if (!first) first = row;
      std::printf("K = %5lld, %4lld rows: %3lld of %lld outputs of row 0 other than with 16; %s\n",
                  static_cast<long long>(k), static_cast<long long>(tokens),
                  static_cast<long long>((row.array() != first->array()).count()),
                  static_cast<long long>(row.size()), to_text(plan.record()).c_str());
    }
  }
}

TEST(Pinned, IsTheAlgorithmOfTheRecord) {
  SAMEBITS_NEEDS_GPU();
  const CublasLt lt;
  const Stream stream;
  const HostGemm host = properties::weight_gradient(4, 16384, 64, 64, ScaleMode::kTensor, true);
  const DeviceGemm device(host, stream);
  int other_workspace = 0;
  for (const AlgorithmRecord& record : offered_algorithms(lt, host.problem, device.operands())) {
    const GemmPlan plan(lt, host.problem, device.operands(), parse_algorithm(to_text(record)));
    AlgorithmRecord pinned = plan.record();
    // The check of a pinned algorithm says anew how much it needs.
    other_workspace += pinned.workspace != record.workspace;
    pinned.workspace = record.workspace;
    EXPECT_EQ(to_text(pinned), to_text(record));
  }
  std::printf("pinned algorithms that state another workspace: %d\n", other_workspace);
}

TEST(Refusals, ComeBeforeTheLibraryWhereItCouldGoWrong) {
  SAMEBITS_NEEDS_GPU();
  const CublasLt lt;
  const Stream stream;
  const GemmWorkspace workspace(stream);
  const HostGemm host = properties::weight_gradient(5, 16384, 64, 64, ScaleMode::kTensor, false);
  DeviceGemm device(host, stream);
  const GemmOperands operands = device.operands();
  const auto plan_of = [&](const AlgorithmRecord& record, std::size_t bytes = kWorkspaceBytes) {
    return GemmPlan(lt, host.problem, operands, record, bytes);
  };
  GemmPlan plan(lt, host.problem, operands);
  const AlgorithmRecord record = plan.record();

  AlgorithmRecord other = record;
  other.version += 1;
  EXPECT_THROW(plan_of(other), std::invalid_argument);
  other = record;
  other.id = 1 << 20;
  EXPECT_THROW(plan_of(other), CublasError);
  if (record.workspace > 0) {
    EXPECT_THROW(plan_of(record, 0), CublasError);
  }

  GemmOperands shifted = operands;
  shifted.a = static_cast<const std::uint8_t*>(operands.a) + 16;  // less aligned than planned
  EXPECT_THROW(plan.run(shifted, workspace.get(), stream), std::invalid_argument);
  EXPECT_THROW(GemmPlan(lt, host.problem, shifted, record), std::invalid_argument);
  shifted.a = static_cast<const std::uint8_t*>(operands.a) + 8;
  EXPECT_THROW(GemmPlan(lt, host.problem, shifted), std::invalid_argument);
  Workspace odd = workspace.get();
  odd.pointer = static_cast<std::uint8_t*>(odd.pointer) + 16;
  EXPECT_THROW(plan.run(operands, odd, stream), std::invalid_argument);
  if (record.workspace > 0) {
    EXPECT_THROW(plan.run(operands, {}, stream), std::invalid_argument);
  }
}

}  // namespace
}  // namespace samebits::kernels
