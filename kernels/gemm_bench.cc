// What the wrapper costs: GEMMs through GemmPlan against plain cublasLtMatmul calls, in one run.
//
// cublaslt_bench [--json FILE]: a line a GEMM, medians over interleaved groups of calls; FILE gets
// them as JSON lines. Exit status 2 where there is no GPU or FILE cannot be written.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/device/buffer.h"
#include "kernels/device/device_info.h"
#include "kernels/device/stream.h"
#include "kernels/gemm_cublaslt.h"

namespace samebits::kernels {
namespace {

constexpr int kGroups = 15;
constexpr int kCallsInGroup = 8;
constexpr double kGoal = 1.01;

// What cublasLtMatmul needs, made with the library alone and kept: the least a caller can spend.
// The descriptors are the wrapper's, which cost nothing once they are there.
class DirectCall {
 public:
  DirectCall(const CublasLt& lt, const GemmProblem& problem, const GemmOperands& operands,
             const Workspace& workspace)
      : lt_(lt),
        problem_(problem),
        operands_(operands),
        workspace_(workspace),
        descriptors_(problem, operands) {
    cublasLtMatmulPreference_t preference = nullptr;
    check_cublas(cublasLtMatmulPreferenceCreate(&preference), "preference", "bench");
    const cublaslt::Preference owner(preference);
    const std::uint64_t bytes = workspace.bytes;
    check_cublas(cublasLtMatmulPreferenceSetAttribute(
                     preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes)),
                 "preference", "bench");
    int found = 0;
    const auto& d = descriptors_;
    check_cublas(
        cublasLtMatmulAlgoGetHeuristic(lt.get(), d.operation.get(), d.a.get(), d.b.get(), d.c.get(),
                                       d.d.get(), preference, 1, &choice_, &found),
        "cublasLtMatmulAlgoGetHeuristic", describe(problem));
    if (found == 0) throw NoAlgorithm("bench", CUBLAS_STATUS_NOT_SUPPORTED, describe(problem));
  }

  void operator()(cudaStream_t stream) {
    const auto& d = descriptors_;
    check_cublas(
        cublasLtMatmul(lt_.get(), d.operation.get(), &problem_.alpha, operands_.a, d.a.get(),
                       operands_.b, d.b.get(), &problem_.beta, operands_.d, d.c.get(), operands_.d,
                       d.d.get(), &choice_.algo, workspace_.pointer, workspace_.bytes, stream),
        "cublasLtMatmul", "bench");
  }

 private:
  const CublasLt& lt_;
  GemmProblem problem_;
  GemmOperands operands_;
  Workspace workspace_;
  GemmDescriptors descriptors_;
  cublasLtMatmulHeuristicResult_t choice_{};
};

struct Layer {
  std::int64_t in, out, tokens;
};
constexpr Layer kLayers[] = {
    {512, 512, 131072}, {512, 2048, 131072}, {2048, 512, 131072}, {512, 8192, 131072}};

enum class Mode { kTensorwise, kFast, kBlock };
constexpr const char* kModeNames[] = {"tensorwise", "fast", "block"};
constexpr const char* kGemmNames[] = {"fprop", "dgrad", "wgrad"};

// As a training step has them: y and dx in BF16, dw in FP32; with block scales the weight's are
// 128x128. dw in one mode is the same GEMM as in another but for its scales.
GemmProblem problem_of(const Layer& layer, std::string_view gemm, Mode mode) {
  GemmProblem p;
  if (gemm == "fprop") p = {.m = layer.out, .n = layer.tokens, .k = layer.in};
  if (gemm == "dgrad") p = {.m = layer.in, .n = layer.tokens, .k = layer.out};
  if (gemm == "wgrad") {
    p = {.m = layer.in, .n = layer.out, .k = layer.tokens, .output = Format::kFP32};
  }
  p.fast_accumulation = mode == Mode::kFast;
  if (mode != Mode::kBlock) return p;
  p.scale_a = gemm == "wgrad" ? ScaleMode::k1x128 : ScaleMode::k128x128;
  p.scale_b = ScaleMode::k1x128;
  return p;
}

// Bytes that are finite in E4M3, of a fixed sequence: zeros would run faster than data does.
std::vector<std::uint8_t> some_codes(std::size_t count) {
  std::vector<std::uint8_t> codes(count);
  std::uint32_t state = 1;
  for (std::uint8_t& code : codes) {
    state = state * 1664525 + 1013904223;
    code = static_cast<std::uint8_t>(state >> 24);
    if ((code & 0x7f) == 0x7f) code = 0x38;
  }
  return codes;
}

void fill(const Buffer& buffer, const void* pattern, std::size_t bytes, cudaStream_t stream) {
  for (std::size_t at = 0; at < buffer.size(); at += bytes) {
    SAMEBITS_CUDA_CHECK(cudaMemcpyAsync(buffer.data() + at, pattern,
                                        std::min(bytes, buffer.size() - at), cudaMemcpyHostToDevice,
                                        stream));
  }
  SAMEBITS_CUDA_CHECK(cudaStreamSynchronize(stream));
}

// Memory for the largest GEMM of all, shared by them: codes and scales of one.
class Arena {
 public:
  explicit Arena(cudaStream_t stream)
      : a_(kMostElements, stream),
        b_(kMostElements, stream),
        scale_a_(kMostElements / 32, stream),  // a float each 128, and room for padding
        scale_b_(kMostElements / 32, stream),
        d_(2 * kMostElements, stream),
        workspace_(kWorkspaceBytes, stream) {
    const auto codes = some_codes(std::size_t{1} << 24);
    const std::vector<float> ones(std::size_t{1} << 20, 1.0f);
    for (const Buffer* codes_of : {&a_, &b_}) fill(*codes_of, codes.data(), codes.size(), stream);
    for (const Buffer* scales : {&scale_a_, &scale_b_}) {
      fill(*scales, ones.data(), ones.size() * sizeof(float), stream);
    }
  }

  GemmOperands operands() const {
    return {.a = a_.data(),
            .b = b_.data(),
            .scale_a = scale_a_.as<float>(),
            .scale_b = scale_b_.as<float>(),
            .d = d_.data()};
  }
  Workspace workspace() const { return {workspace_.data(), workspace_.size()}; }

 private:
  static constexpr std::size_t kMostElements = std::size_t{131072} * 8192;

  Buffer a_, b_, scale_a_, scale_b_, d_, workspace_;
};

template <class Call>
double milliseconds_a_call(Call&& call, cudaStream_t stream) {
  Event start, stop;
  start.record(stream);
  for (int i = 0; i < kCallsInGroup; ++i) call(stream);
  stop.record(stream);
  return stop.milliseconds_since(start) / double{kCallsInGroup};
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Times {
  double direct, wrapper;  // ms
};

Times measure(DirectCall& direct, GemmPlan& plan, const GemmOperands& operands,
              const Workspace& workspace, cudaStream_t stream) {
  const auto wrapped = [&](cudaStream_t s) { plan.run(operands, workspace, s); };
  milliseconds_a_call(direct, stream);  // warm up
  milliseconds_a_call(wrapped, stream);
  std::vector<double> of_direct, of_wrapper;
  for (int group = 0; group < kGroups; ++group) {
    const bool wrapper_first = group % 2 == 0;
    if (wrapper_first) of_wrapper.push_back(milliseconds_a_call(wrapped, stream));
    of_direct.push_back(milliseconds_a_call(direct, stream));
    if (!wrapper_first) of_wrapper.push_back(milliseconds_a_call(wrapped, stream));
  }
  return {median(of_direct), median(of_wrapper)};
}

std::string json_line(const GemmProblem& p, const Layer& layer, const char* gemm, const char* mode,
                      const Times& t, const AlgorithmRecord& record) {
  const auto text = [](const std::string& key, const std::string& value) {
    return "\"" + key + "\": \"" + value + "\", ";
  };
  const auto number = [](const std::string& key, const std::string& value) {
    return "\"" + key + "\": " + value + ", ";
  };
  return "{" + text("gpu", device_info().name) + text("driver", device_info().driver) +
         text("gemm", gemm) + text("mode", mode) + number("in", std::to_string(layer.in)) +
         number("out", std::to_string(layer.out)) + number("tokens", std::to_string(layer.tokens)) +
         number("m", std::to_string(p.m)) + number("n", std::to_string(p.n)) +
         number("k", std::to_string(p.k)) + number("direct_ms", std::to_string(t.direct)) +
         number("wrapper_ms", std::to_string(t.wrapper)) +
         number("ratio", std::to_string(t.wrapper / t.direct)) + "\"algorithm\": \"" +
         to_text(record) + "\"}\n";
}

void bench(std::ofstream* json) {
  const CublasLt lt;
  const Stream stream;
  const Arena arena(stream);
  const GemmOperands operands = arena.operands();
  int missed = 0, measured = 0;
  for (const Layer& layer : kLayers) {
    for (const Mode mode : {Mode::kTensorwise, Mode::kFast, Mode::kBlock}) {
      for (const char* gemm : kGemmNames) {
        const char* mode_name = kModeNames[static_cast<int>(mode)];
        const GemmProblem problem = problem_of(layer, gemm, mode);
        GemmPlan plan(lt, problem, operands);
        DirectCall direct(lt, problem, operands, arena.workspace());
        const Times t = measure(direct, plan, operands, arena.workspace(), stream);
        const double ratio = t.wrapper / t.direct;
        const double rate = 2e-9 * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                            static_cast<double>(problem.k) / t.wrapper;
        std::printf(
            "%5lld -> %5lld  %-6s %-10s %.4f ms  direct %.4f ms  ratio %.4f%s  %.0f Tflop/s"
            "  splitk=%lld\n",
            static_cast<long long>(layer.in), static_cast<long long>(layer.out), gemm, mode_name,
            t.wrapper, t.direct, ratio, ratio <= kGoal ? "" : " MISSED", rate,
            static_cast<long long>(plan.record().split_k));
        if (json) *json << json_line(problem, layer, gemm, mode_name, t, plan.record());
        missed += !(ratio <= kGoal);
        ++measured;
      }
    }
  }
  std::printf("%d of %d above %.2f x a direct call\n", missed, measured, kGoal);
}

int run(int argc, char** argv) {
  std::ofstream json;
  const bool wants_json = argc == 3 && std::string_view(argv[1]) == "--json";
  if (argc != 1 && !wants_json) {
    std::fputs("usage: cublaslt_bench [--json FILE]\n", stderr);
    return 2;
  }
  if (const auto reason = why_unusable()) {
    std::fprintf(stderr, "cublaslt_bench: %s\n", reason->c_str());
    return 2;
  }
  if (wants_json) json.open(argv[2], std::ios::binary);
  if (wants_json && !json) {
    std::fprintf(stderr, "cublaslt_bench: cannot write %s\n", argv[2]);
    return 2;
  }
  bench(wants_json ? &json : nullptr);
  if (!wants_json || json.flush()) return 0;
  std::fprintf(stderr, "cublaslt_bench: writing %s failed\n", argv[2]);
  return 2;
}

}  // namespace
}  // namespace samebits::kernels

int main(int argc, char** argv) {
  try {
    return samebits::kernels::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cublaslt_bench: %s\n", error.what());
    return 2;
  }
}
