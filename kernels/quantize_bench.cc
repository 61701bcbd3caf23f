// How fast the quantise kernels are, as a share of what a plain copy reaches in the same run.
//
// Every sample of a kernel is timed next to one of the copy; medians are printed. Samples walk over
// several sets of buffers, together larger than the L2 cache.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "kernels/bench_timer.h"
#include "kernels/compare.h"
#include "kernels/device/device_info.h"
#include "kernels/quantize_128x128.h"
#include "kernels/quantize_1x128.h"
#include "kernels/quantize_1x32.h"
#include "kernels/quantize_tensorwise.h"
#include "kernels/quantize_transpose.h"
#include "kernels/update.h"

namespace samebits::kernels {
namespace {

// All kernels on BF16 matrices of one shape.
class Bench {
 public:
  // Of the kernels whose name contains `only`.
  Bench(std::int64_t rows, std::int64_t cols, std::string only, std::size_t l2_bytes, Timer& timer,
        cudaStream_t stream)
      : only_(std::move(only)),
        rows_(rows),
        cols_(cols),
        count_(rows * cols),
        sets_(static_cast<int>(std::clamp<std::int64_t>(
            ceil_div(static_cast<std::int64_t>(4 * l2_bytes), 2 * count_), 2, 64))),
        timer_(timer),
        stream_(stream),
        x_(2 * count_, sets_, stream),
        gradient_(4 * count_, sets_, stream),
        updated_(2 * count_, sets_, stream),
        row_(count_, sets_, stream),
        col_(count_, sets_, stream),
        row_scale_(4 * row_scales(), sets_, stream),
        col_scale_(4 * col_scales(), sets_, stream),
        cells_(64, sets_, stream) {
    fill_with_numbers(x_, stream);
    fill_with_numbers(gradient_, stream);
    fill_with_numbers(cells_, stream);
  }

  std::vector<Measurement> run() {
    tensorwise();
    one_by_128();
    square_128();
    one_by_32();
    others();
    return std::move(results_);
  }

 private:
  std::int64_t row_scales() const {
    return std::max({scale_count_1x128(rows_, cols_), scale_count_128x128(rows_, cols_),
                     ceil_div(scale_count_1x32(rows_, cols_), 4)});
  }
  std::int64_t col_scales() const {
    return std::max({scale_count_1x128(cols_, rows_), scale_count_128x128(cols_, rows_),
                     ceil_div(scale_count_1x32(cols_, rows_), 4)});
  }

  // A sample moves about as many bytes as the copy, so that the events around it, which cost as
  // much as a small launch, weigh the same; 100 launches at most.
  void add(const std::string& kernel, double bytes_per_element,
           const std::function<void(int)>& launch) {
    if (kernel.find(only_) == std::string::npos) return;
    const auto repeats =
        static_cast<int>(std::clamp<std::int64_t>(2 * Timer::kCopyBytes / (4 * count_), 4, 100));
    results_.push_back(timer_.measure(kernel, rows_, cols_,
                                      bytes_per_element * static_cast<double>(count_), sets_,
                                      repeats, launch));
  }

  MatrixView x(int set) const { return {x_.at(set), Format::kBF16, rows_, cols_}; }
  float* scale(int set) const { return cells_.at<float>(set); }
  template <class Scale>
  Quantized<Scale> row(int set) const {
    return {row_.at(set), row_scale_.at<Scale>(set)};
  }
  template <class Scale>
  Quantized<Scale> col(int set) const {
    return {col_.at(set), col_scale_.at<Scale>(set)};
  }

  void tensorwise() {
    const auto cast = [this](int set, bool rowwise, bool columnwise) {
      cast_tensorwise(x(set), scale(set), nullptr,
                      {Format::kE4M3, rowwise ? row_.at(set) : nullptr,
                       columnwise ? col_.at(set) : nullptr, scale(set) + 1},
                      stream_);
    };
    add("amax", 2,
        [&](int set) { amax(x_.at(set), Format::kBF16, count_, scale(set) + 2, stream_); });
    add("tensor_scale", 0,
        [&](int set) { tensor_scale(scale(set), Format::kE4M3, {}, scale(set) + 3, stream_); });
    add("cast rowwise", 3, [&](int set) { cast(set, true, false); });
    add("cast both, fused", 4, [&](int set) { cast(set, true, true); });
    add("cast both, two kernels", 4, [&](int set) {
      cast(set, true, false);
      transpose(set);
    });
  }

  void one_by_128() {
    const auto launch = [this](const Quantized<float>& row, const Quantized<float>& col, int set) {
      quantize_1x128(x(set), Format::kE4M3, {true}, row, col, stream_);
    };
    add("1x128 rowwise", 3 + 4.0 / 128, [&](int set) { launch(row<float>(set), {}, set); });
    add("1x128 columnwise", 3 + 4.0 / 128, [&](int set) { launch({}, col<float>(set), set); });
    add("1x128 both, fused", 4 + 8.0 / 128,
        [&](int set) { launch(row<float>(set), col<float>(set), set); });
    add("1x128 both, two kernels", 4 + 8.0 / 128, [&](int set) {
      launch(row<float>(set), {}, set);
      launch({}, col<float>(set), set);
    });
  }

  void square_128() {
    const auto launch = [this](const Quantized<float>& col, int set) {
      quantize_128x128(x(set), Format::kE4M3, {true}, row<float>(set), col, stream_);
    };
    add("128x128 rowwise", 3, [&](int set) { launch({}, set); });
    add("128x128 both, fused", 4, [&](int set) { launch(col<float>(set), set); });
    add("128x128 both, two kernels", 4, [&](int set) {
      launch({}, set);
      transpose(set);
    });
  }

  void one_by_32() {
    using Byte = std::uint8_t;
    const auto launch = [this](const Quantized<Byte>& row, const Quantized<Byte>& col, int set) {
      quantize_1x32(x(set), Format::kE4M3, row, col, stream_);
    };
    add("1x32 rowwise", 3 + 1.0 / 32, [&](int set) { launch(row<Byte>(set), {}, set); });
    add("1x32 both, fused", 4 + 2.0 / 32,
        [&](int set) { launch(row<Byte>(set), col<Byte>(set), set); });
    add("1x32 both, two kernels", 4 + 2.0 / 32, [&](int set) {
      launch(row<Byte>(set), {}, set);
      launch({}, col<Byte>(set), set);
    });
  }

  void others() {
    add("transpose of codes", 2, [&](int set) { transpose(set); });
    add("update", 8, [&](int set) {
      update(x_.at(set), Format::kBF16, gradient_.at<float>(set), count_, 0.01F,
             updated_.at<std::uint16_t>(set), stream_);
    });
    // Equal sides, the case that has to be fast.
    SAMEBITS_CUDA_CHECK(
        cudaMemcpyAsync(updated_.at(0), x_.at(0), x_.size(), cudaMemcpyDeviceToDevice, stream_));
    add("compare", 4, [&](int set) {
      compare(x_.at(set), updated_.at(set), count_, 2, cells_.at<Comparison>(set), stream_);
    });
  }

  void transpose(int set) { transpose_codes(row_.at(set), rows_, cols_, col_.at(set), stream_); }

  std::string only_;
  std::int64_t rows_, cols_, count_;
  int sets_;
  Timer& timer_;
  cudaStream_t stream_;
  Slices x_, gradient_, updated_, row_, col_, row_scale_, col_scale_, cells_;
  std::vector<Measurement> results_;
};

void print(const std::vector<Measurement>& results) {
  std::printf("%-26s %16s %10s %9s %9s %6s\n", "kernel", "shape", "us", "GB/s", "copy", "ratio");
  for (const Measurement& m : results) {
    std::printf("%-26s %16s %10.2f %9.0f %9.0f %6.3f\n", m.kernel.c_str(),
                fmt::format("{} x {}", m.rows, m.cols).c_str(), m.microseconds,
                m.bytes_per_second() / 1e9, m.copy_bytes_per_second / 1e9, m.ratio());
  }
  const std::string fused = ", fused", plain = ", two kernels";
  for (const Measurement& m : results) {
    if (!m.kernel.ends_with(fused)) continue;
    const std::string name = m.kernel.substr(0, m.kernel.size() - fused.size());
    const auto other = std::ranges::find(results, name + plain, &Measurement::kernel);
    if (other == results.end()) continue;
    std::printf("%-26s %16s fused is %.2f times as fast as two kernels\n", name.c_str(), "",
                other->microseconds / m.microseconds);
  }
}

void append_json(std::ostream& file, const std::vector<Measurement>& results) {
  for (const Measurement& m : results) {
    file
        << fmt::format(
               R"({{"kernel": "{}", "rows": {}, "cols": {}, "microseconds": {:.3f}, "gb_per_second": {:.1f}, )"
               R"("copy_gb_per_second": {:.1f}, "ratio": {:.4f}}})",
               m.kernel, m.rows, m.cols, m.microseconds, m.bytes_per_second() / 1e9,
               m.copy_bytes_per_second / 1e9, m.ratio())
        << '\n';
  }
}

struct Options {
  std::string json, only;
  std::vector<std::string> shapes{"512x512", "8192x4096", "131072x512", "131072x2048"};
  int samples = 21;
};

int run(const Options& options) {
  if (const auto reason = why_unusable()) {
    std::fprintf(stderr, "quantize_bench: %s\n", reason->c_str());
    return 2;
  }
  const DeviceInfo info = device_info();
  std::printf("%s, driver %s, CUDA %s, medians of %d\n", info.name.c_str(), info.driver.c_str(),
              info.runtime.c_str(), options.samples);
  const Stream stream;
  Timer timer(options.samples, stream);
  std::ofstream file;
  if (!options.json.empty()) {
    file.open(options.json);
    if (!file) throw std::runtime_error("cannot write " + options.json);
    file << fmt::format(R"({{"gpu": "{}", "driver": "{}", "cuda": "{}", "samples": {}}})",
                        info.name, info.driver, info.runtime, options.samples)
         << '\n';
  }
  for (const std::string& shape : options.shapes) {
    int rows = 0, cols = 0;
    if (std::sscanf(shape.c_str(), "%dx%d", &rows, &cols) != 2 || rows < 1 || cols < 1) {
      throw std::runtime_error("a shape is ROWSxCOLS, not " + shape);
    }
    const auto results = Bench(rows, cols, options.only, info.l2_bytes, timer, stream).run();
    print(results);
    if (file.is_open()) append_json(file, results);
  }
  return 0;
}

}  // namespace
}  // namespace samebits::kernels

int main(int argc, char** argv) {
  CLI::App app("Times the quantise kernels of samebits beside a plain copy");
  samebits::kernels::Options options;
  app.add_option("--json", options.json, "Also write a JSON object a line to this file");
  app.add_option("--only", options.only, "Kernels whose name contains this");
  app.add_option("--shape", options.shapes, "ROWSxCOLS, one or more")->capture_default_str();
  app.add_option("--samples", options.samples, "Samples a kernel")->check(CLI::Range(1, 10000));
  CLI11_PARSE(app, argc, argv);
  try {
    return samebits::kernels::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quantize_bench: %s\n", error.what());
    return 2;
  }
}
