// Whole training GEMMs through the library, every output of which the oracle recomputes: four
// layers, fprop, dgrad and wgrad, with our quantise kernels in both directions.
//
// oracle_full [--json FILE] [--tokens N]: a line a GEMM. Exit status 1 where an output differs, 2
// where there is no GPU or a file cannot be written.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/compare.h"
#include "kernels/device/device_info.h"
#include "kernels/device/stream.h"
#include "kernels/gemm_cublaslt.h"
#include "kernels/oracle.h"
#include "kernels/oracle_inputs.h"
#include "kernels/oracle_matrix.h"

namespace samebits::kernels {
namespace {

struct Recipe {
  const char* name;
  bool is_block;
  ScaleOptions options;
  Format gradient;
};
// FP32 scales tell the orders of the scales' products apart, which powers of two cannot.
constexpr Recipe kRecipes[] = {{"block", true, {true}, Format::kE4M3},
                               {"block-fp32", true, {false}, Format::kE4M3},
                               {"current", false, {false}, Format::kE5M2}};

struct Layer {
  std::int64_t in, out;
};
constexpr Layer kLayers[] = {{512, 512}, {512, 2048}, {2048, 512}, {512, 8192}};

struct Result {
  GemmProblem problem;
  AlgorithmRecord record;
  Comparison difference{};
  std::uint64_t nonzero = 0;
  float gemm_ms = 0, oracle_ms = 0;
};

class Judge {
 public:
  Judge() : workspace_(kWorkspaceBytes, stream_), cell_(sizeof(Comparison), stream_) {}

  cudaStream_t stream() const { return stream_; }

  // One GEMM by the library's first choice, and every output of it once more. With `main_grad` the
  // product is added in place to FP32 numbers that are there.
  Result run(const Matrix::Operand& a, const Matrix::Operand& b, bool fast, bool main_grad) {
    Result result;
    result.problem = {.m = a.rows,
                      .n = b.rows,
                      .k = a.k,
                      .a = a.format,
                      .b = b.format,
                      .output = main_grad ? Format::kFP32 : Format::kBF16,
                      .scale_a = a.mode,
                      .scale_b = b.mode,
                      .fast_accumulation = fast,
                      .beta = main_grad ? 1.0f : 0.0f,
                      .in_place = main_grad};
    const GemmProblem& p = result.problem;
    const std::int64_t outputs = p.m * p.n, size = outputs * size_of(p.output);
    const Buffer d = bytes(size, stream_);
    Buffer expected = bytes(size, stream_);
    const Buffer c = bytes(main_grad ? size : 0, stream_);
    if (main_grad) fill_fp32(c.as<float>(), outputs, /*seed=*/4, stream_);
    GemmOperands operands{
        .a = a.codes, .b = b.codes, .scale_a = a.scales, .scale_b = b.scales, .d = d.data()};

    GemmPlan plan(lt_, p, operands);
    result.record = plan.record();
    for (const bool is_warm : {false, true}) {  // the first call also loads the library's kernels
      if (main_grad) copy(d, c);
      const float ms = timed([&] {
        plan.run(operands, {workspace_.data(), workspace_.size()}, stream_);
      });
      if (is_warm) result.gemm_ms = ms;
    }

    operands.c = main_grad ? c.data() : nullptr;
    operands.d = expected.data();
    result.oracle_ms = timed([&] { oracle_gemm(p, result.record.split_k, operands, stream_); });
    result.difference = compared(d, expected, p);
    for (const Buffer* buffer : {&d, static_cast<const Buffer*>(&expected)}) {
      if (const auto damage = buffer->verify_guards(stream_)) {
        throw std::runtime_error(describe(*damage) + " by " + describe(p));
      }
    }
    expected.fill(0, stream_);
    result.nonzero = compared(d, expected, p).differing;
    return result;
  }

 private:
  Comparison compared(const Buffer& a, const Buffer& b, const GemmProblem& p) {
    compare(a.data(), b.data(), p.m * p.n, static_cast<int>(size_of(p.output)),
            cell_.as<Comparison>(), stream_);
    Comparison found{};
    SAMEBITS_CUDA_CHECK(
        cudaMemcpyAsync(&found, cell_.data(), sizeof found, cudaMemcpyDeviceToHost, stream_));
    stream_.synchronize();
    return found;
  }

  void copy(const Buffer& to, const Buffer& from) {
    SAMEBITS_CUDA_CHECK(
        cudaMemcpyAsync(to.data(), from.data(), from.size(), cudaMemcpyDeviceToDevice, stream_));
  }

  template <class Work>
  float timed(Work&& work) {
    Event start, stop;
    start.record(stream_);
    work();
    stop.record(stream_);
    return stop.milliseconds_since(start);
  }

  Stream stream_;
  CublasLt lt_;
  Buffer workspace_, cell_;
};

struct Total {
  std::uint64_t gemms = 0, outputs = 0, different = 0;
  double products = 0, oracle_ms = 0;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
};

void report(Total& total, const Layer& layer, const char* pass, const Recipe& recipe,
            const Result& r) {
  const GemmProblem& p = r.problem;
  const auto outputs = static_cast<std::uint64_t>(p.m * p.n);
  // Zeros that agree show nothing.
  if (r.nonzero < outputs / 2) throw std::runtime_error("most outputs are zero: " + describe(p));
  ++total.gemms;
  total.outputs += outputs;
  total.different += r.difference.differing;
  total.products += static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  total.oracle_ms += r.oracle_ms;
  const std::string shape = std::to_string(layer.in) + " -> " + std::to_string(layer.out);
  std::printf(
      "%-12s %-6s %-11s %6lld %6lld %6lld %6lld  id=%lld tile=%lld %11llu %9llu %8.3f %9.2f\n",
      shape.c_str(), pass, recipe.name, static_cast<long long>(p.m), static_cast<long long>(p.n),
      static_cast<long long>(p.k), static_cast<long long>(r.record.split_k),
      static_cast<long long>(r.record.id), static_cast<long long>(r.record.tile),
      static_cast<unsigned long long>(outputs),
      static_cast<unsigned long long>(r.difference.differing), r.gemm_ms, r.oracle_ms);
  if (r.difference.differing != 0) {
    const auto m = static_cast<std::uint64_t>(p.m);
    std::printf("  DIFFERENT, first at [%llu, %llu]\n  %s\n  %s\n",
                static_cast<unsigned long long>(r.difference.first / m),
                static_cast<unsigned long long>(r.difference.first % m), describe(p).c_str(),
                to_text(r.record).c_str());
  }
  total.rows.push_back(
      {{"in", layer.in},
       {"out", layer.out},
       {"pass", pass},
       {"recipe", recipe.name},
       {"gemm", describe(p)},
       {"m", p.m},
       {"n", p.n},
       {"k", p.k},
       {"split_k", r.record.split_k},
       {"algorithm", to_text(r.record)},
       {"outputs", outputs},
       {"nonzero", r.nonzero},
       {"different", r.difference.differing},
       {"first", r.difference.differing != 0 ? nlohmann::ordered_json(r.difference.first)
                                             : nlohmann::ordered_json(nullptr)},
       {"gemm_ms", r.gemm_ms},
       {"oracle_ms", r.oracle_ms}});
}

Total judge_all(std::int64_t tokens) {
  Judge judge;
  Total total;
  std::printf("%-12s %-6s %-11s %6s %6s %6s %6s  %-13s %11s %9s %8s %9s\n", "layer", "pass",
              "recipe", "M", "N", "K", "splitk", "algorithm", "outputs", "different", "GEMM ms",
              "oracle ms");
  for (const Layer& layer : kLayers) {
    Matrix x(tokens, layer.in, 1, judge.stream()), w(layer.out, layer.in, 2, judge.stream()),
        dy(tokens, layer.out, 3, judge.stream());
    for (const Recipe& recipe : kRecipes) {
      const bool fast = !recipe.is_block;  // in fprop
      const ScaleMode mode = recipe.is_block ? ScaleMode::k1x128 : ScaleMode::kTensor;
      x.quantize(mode, Format::kE4M3, recipe.options);
      w.quantize(recipe.is_block ? ScaleMode::k128x128 : mode, Format::kE4M3, recipe.options);
      dy.quantize(mode, recipe.gradient, recipe.options);
      report(total, layer, "fprop", recipe, judge.run(w.rowwise(), x.rowwise(), fast, false));
      report(total, layer, "dgrad", recipe, judge.run(w.columnwise(), dy.rowwise(), false, false));
      report(total, layer, "wgrad", recipe,
             judge.run(x.columnwise(), dy.columnwise(), false, true));
    }
  }
  return total;
}

int run(const std::string& json_path, std::int64_t tokens) {
  if (const auto reason = why_unusable()) throw std::runtime_error(*reason);
  std::ofstream json;
  if (!json_path.empty()) json.open(json_path, std::ios::binary);
  if (!json_path.empty() && !json) throw std::runtime_error("cannot write " + json_path);

  const auto start = std::chrono::steady_clock::now();
  const DeviceInfo info = device_info();
  std::printf("%s, driver %s, cuBLASLt %lld, %lld tokens\n", info.name.c_str(), info.driver.c_str(),
              static_cast<long long>(cublaslt_version()), static_cast<long long>(tokens));
  const Total total = judge_all(tokens);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf(
      "%llu GEMMs, %llu outputs, %llu different; %.3g products, %.3g a second in the oracle; %.1f "
      "s\n",
      static_cast<unsigned long long>(total.gemms), static_cast<unsigned long long>(total.outputs),
      static_cast<unsigned long long>(total.different), total.products,
      1e3 * total.products / total.oracle_ms, seconds.count());

  const nlohmann::ordered_json document = {{"environment",
                                            {{"gpu", info.name},
                                             {"driver", info.driver},
                                             {"cuda runtime", info.runtime},
                                             {"cublaslt", std::to_string(cublaslt_version())}}},
                                           {"tokens", tokens},
                                           {"outputs", total.outputs},
                                           {"different", total.different},
                                           {"products", total.products},
                                           {"oracle_seconds", total.oracle_ms / 1e3},
                                           {"seconds", seconds.count()},
                                           {"gemms", total.rows}};
  if (json.is_open() && !(json << document.dump(1) << '\n').flush()) {
    throw std::runtime_error("writing " + json_path + " failed");
  }
  return total.different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace samebits::kernels

int main(int argc, char** argv) {
  CLI::App app("Recomputes every output of full-size FP8 GEMMs and compares them in every bit");
  std::string json;
  std::int64_t tokens = 131072;
  app.add_option("--json", json, "Also write the table to this file");
  app.add_option("--tokens", tokens, "Rows of x and dy, a multiple of 16")
      ->check(CLI::Range(std::int64_t{16}, std::int64_t{1} << 20));
  CLI11_PARSE(app, argc, argv);
  try {
    return samebits::kernels::run(json, tokens);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "oracle_full: %s\n", error.what());
    return 2;
  }
}
