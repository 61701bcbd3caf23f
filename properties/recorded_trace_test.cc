// The reference follows training steps that were recorded on an H200, and gives the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "harness/checkpoint/linear_layers.h"
#include "harness/core/check.h"
#include "harness/evidence/digest.h"
#include "harness/evidence/trace_reader.h"
#include "harness/reference_backend.h"

namespace samebits {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpora = SAMEBITS_CORPORA;

CheckRequest digits(const Program& program) {
  const fs::path stem = kCorpora / "checkpoints";
  const auto source = checkpoint::open_checkpoint(stem / "digits.safetensors");
  const auto captured = checkpoint::open_checkpoint(stem / "digits.inputs.safetensors");
  CheckRequest request;
  request.program = program;
  request.layers = checkpoint::with_inputs(checkpoint::select_linear_layers(*source, {}).layers,
                                           captured.get(), {});
  return request;
}

class Recorded : public testing::TestWithParam<std::string> {};

TEST_P(Recorded, StepsOfAnH200AreTheReferencesInEveryBit) {
  const evidence::LoadedTrace recorded =
      evidence::read_trace(kCorpora / "golden/traces" / GetParam());
  ASSERT_EQ(recorded.environment.at("gpu"), "NVIDIA H200");
  const GemmRecords records(recorded.trace);
  const bool cached = recorded.trace.arm == "cuda/cached";
  ASSERT_TRUE(cached || recorded.trace.arm == "cuda/uncached") << recorded.trace.arm;
  const Trace mine =
      run_arm(digits(recorded.program), {std::string(kReference), cached},
              [](const Arm&, int threads) { return make_reference_backend(threads); }, {&records});

  const Comparison comparison = compare(recorded.trace, mine);
  ASSERT_FALSE(comparison.mismatch) << *comparison.mismatch;
  for (const auto& [event, tensor] : comparison.differences) {
    const Event& at = mine.events[event];
    ADD_FAILURE() << at.key.layer << " step " << at.key.step << " microbatch " << at.key.microbatch
                  << " " << operation_name(at.key.operation) << " " << at.tensors[tensor].name;
    break;
  }
  EXPECT_GT(mine.tensor_count(), 0U);
  std::printf("%s: %s, driver %s, cuBLASLt %s: %zu tensors compared, %zu different\n",
              GetParam().c_str(), recorded.environment.at("gpu").c_str(),
              recorded.environment.at("driver").c_str(),
              recorded.environment.at("cublaslt").c_str(), mine.tensor_count(),
              comparison.differences.size());
}

// The bytes of step 0 microbatch 0: each is what its name, the digest, says, and none is missing.
TEST_P(Recorded, PayloadHoldsTheFirstMicrobatch) {
  const fs::path directory = kCorpora / "golden/traces" / GetParam();
  if (!fs::exists(directory / "payload-000.safetensors")) GTEST_SKIP() << "digests alone";
  const auto payload = checkpoint::open_checkpoint(directory / "payload-000.safetensors");
  std::set<std::string> names;
  for (const auto& entry : payload->entries()) {
    names.insert(entry.name);
    EXPECT_EQ(evidence::hex(evidence::tensor_digest(payload->read(entry.name))), entry.name);
  }
  for (const Event& event : evidence::read_trace(directory).trace.events) {
    if (event.key.step != 0 || event.key.microbatch != 0) continue;
    for (const EventTensor& tensor : event.tensors) {
      EXPECT_TRUE(names.contains(evidence::hex(tensor.digest))) << tensor.name;
    }
  }
}

std::vector<std::string> recordings() {
  std::vector<std::string> names;
  for (const auto& recipe : fs::directory_iterator(kCorpora / "golden/traces")) {
    for (const auto& arm : fs::directory_iterator(recipe.path())) {
      names.push_back((recipe.path().filename() / arm.path().filename()).string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(H200, Recorded, testing::ValuesIn(recordings()));

}  // namespace
}  // namespace samebits
