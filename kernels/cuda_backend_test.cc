// Whole training steps on the GPU against the reference, every tensor of every event in every bit.
#include "kernels/cuda_backend.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "harness/core/error.h"
#include "harness/core/values.h"
#include "harness/reference_backend.h"
#include "kernels/gpu_test.h"
#include "properties/random_step.h"

namespace samebits::kernels {
namespace {

std::unique_ptr<Backend> make_backend(const Arm& arm, int threads) {
  if (arm.backend == kReference) return make_reference_backend(threads);
  return make_cuda_backend(arm);
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::string first_difference(const CheckResult& result) {
  if (!result.first) return std::string(outcome_name(result.outcome)) + " " + result.reason;
  const FirstDifference& first = *result.first;
  const samebits::Event& event = result.a.events[first.event];
  const HostTensor& a = first.a[first.tensor];
  const HostTensor& b = first.b[first.tensor];
  return std::string(operation_name(event.key.operation)) + " " + event.tensors[first.tensor].name +
         " step " + std::to_string(event.key.step) + " microbatch " +
         std::to_string(event.key.microbatch) + ": " + std::to_string(first.elements.different) +
         " differ, first at " + shape_text(first.elements.index) + " " +
         bits_text(a, first.elements.first) + " and " + bits_text(b, first.elements.first) + ", " +
         std::string(cause_name(first.cause)) + (event.gemm ? ", " + event.gemm->algorithm : "");
}

struct Tally {
  std::int64_t cases = 0, tensors = 0, split = 0, most_split = 1, dropped = 0;
  std::uint64_t bits = 0;
};

void hold(CheckRequest request, std::uint64_t seed, Tally& tally) {
  request.a = {"cuda", seed % 2 == 1};
  request.b = {std::string(kReference), seed % 2 == 1};
  const CheckResult result = run_check(request, make_backend);
  ASSERT_EQ(result.outcome, Outcome::kSame)
      << "seed " << seed << ": " << properties::describe(request) << ": "
      << first_difference(result);
  ++tally.cases;
  tally.tensors += static_cast<std::int64_t>(result.a.tensor_count());
  tally.bits += result.a.bit_count();
  for (const samebits::Event& event : result.a.events) {
    if (!event.gemm) continue;
    tally.split += event.gemm->split_k > 1;
    tally.most_split = std::max<std::int64_t>(tally.most_split, event.gemm->split_k);
    tally.dropped += event.gemm->dropped_terms > 0;
  }
}

void print(const char* what, const Tally& tally) {
  std::printf(
      "%s: %lld cases, %lld tensors, %llu bits, %lld split GEMMs (at most %lld slices), "
      "%lld that drop terms, 0 different\n",
      what, static_cast<long long>(tally.cases), static_cast<long long>(tally.tensors),
      static_cast<unsigned long long>(tally.bits), static_cast<long long>(tally.split),
      static_cast<long long>(tally.most_split), static_cast<long long>(tally.dropped));
}

TEST(CudaBackend, RandomStepsEqualTheReferenceInEveryBit) {
  SAMEBITS_NEEDS_GPU();
  const std::uint64_t cases = from_environment("SAMEBITS_GPU_CASES", 200);
  const std::uint64_t seed = from_environment("SAMEBITS_SEED", 0);
  Tally tally;
  for (std::uint64_t i = 0; i < cases; ++i) {
    hold(properties::random_step(seed + i), seed + i, tally);
    if (HasFatalFailure()) return;
  }
  print("random steps", tally);
}

TEST(CudaBackend, WeightGradientsOverManyTokensEqualTheReferenceInEveryBit) {
  SAMEBITS_NEEDS_GPU();
  const std::uint64_t cases = from_environment("SAMEBITS_GPU_TALL_CASES", 1);
  Tally tally;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    hold(properties::tall_step(seed), seed, tally);
    if (HasFatalFailure()) return;
  }
  print("tall steps", tally);
}

TEST(CudaBackend, AHundredRepeatsOfOneStepAreIdentical) {
  SAMEBITS_NEEDS_GPU();
  CheckRequest request = properties::random_step(7);
  request.a = {"cuda", true};
  const auto first = trace_digest(run_arm(request, request.a, make_backend, {}));
  for (int i = 1; i < 100; ++i) {
    ASSERT_EQ(trace_digest(run_arm(request, request.a, make_backend, {})), first) << i;
  }
}

TEST(CudaBackend, ACachedCopyIsWrittenInPlace) {
  SAMEBITS_NEEDS_GPU();
  const auto backend = make_cuda_backend({});
  const CheckRequest request = properties::random_step(3);
  const Tensor weight = backend->upload(request.layers.front().layer.weight);
  QuantizeSpec spec;
  spec.parameters = Recipe::defaults(RecipeKind::kBlock).quantize(Role::kWeight);
  spec.columnwise = true;
  QuantizedTensor copy;
  backend->quantize(weight, spec, copy);
  const QuantizedTensor handles = copy;
  backend->quantize(backend->zeros(weight.dtype, weight.shape), spec, copy);
  const HostTensor bytes = backend->download(handles.columnwise.codes);
  for (std::int64_t i = 0; i < element_count(bytes.shape); ++i) ASSERT_EQ(bits_at(bytes, i), 0U);
}

TEST(CudaBackend, TheColumnwiseHalfOfABlockCopyIsItsTranspose) {
  SAMEBITS_NEEDS_GPU();
  const auto backend = make_cuda_backend({});
  const CheckRequest request = properties::random_step(5);
  QuantizeSpec spec;
  spec.parameters = Recipe::defaults(RecipeKind::kBlock).quantize(Role::kWeight);
  spec.columnwise = true;
  QuantizedTensor both;
  backend->quantize(backend->upload(request.layers.front().layer.weight), spec, both);
  const QuantizedOperand transposed = backend->transpose(both.rowwise);
  EXPECT_EQ(compare_elements(backend->download(transposed.codes),
                             backend->download(both.columnwise.codes))
                .different,
            0);
  EXPECT_EQ(compare_elements(backend->download(transposed.scale_inv),
                             backend->download(both.columnwise.scale_inv))
                .different,
            0);
}

TEST(CudaBackend, WithoutAUsableGpuItIsRefusedWithTheReason) {
  if (!why_unusable()) GTEST_SKIP() << "there is a GPU";
  try {
    make_cuda_backend({});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).rfind("backend cuda: ", 0), 0U) << error.what();
  }
}

}  // namespace
}  // namespace samebits::kernels
