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

#include "kernels/compare.h"
#include "kernels/device/buffer.h"
#include "kernels/device/device_info.h"
#include "kernels/device/stream.h"
#include "kernels/quantize_128x128.h"
#include "kernels/quantize_1x128.h"
#include "kernels/quantize_1x32.h"
#include "kernels/quantize_tensorwise.h"
#include "kernels/quantize_transpose.h"
#include "kernels/update.h"

namespace samebits::kernels {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// As many slices of the same size as there are sets, each aligned like an allocation.
class Slices {
 public:
  Slices(std::int64_t bytes, int sets, cudaStream_t stream)
      : stride_(round_up(bytes, 256)), buffer_(static_cast<std::size_t>(stride_ * sets), stream) {}
  template <class T = std::uint8_t>
  T* at(int set) const {
    return reinterpret_cast<T*>(buffer_.data() + set * stride_);
  }
  std::size_t size() const { return buffer_.size(); }

 private:
  std::int64_t stride_;
  Buffer buffer_;
};

// Ordinary BF16 or FP32 patterns over all of it: upper half-words of magnitudes 2^-7 to 2^8.
void fill_with_numbers(const Slices& slices, cudaStream_t stream) {
  std::vector<std::uint16_t> values(1 << 20);
  std::uint32_t state = 1;
  for (auto& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<std::uint16_t>((state >> 16 & 0x807f) | (120 + (state >> 10 & 15)) << 7);
  }
  const std::size_t block = values.size() * sizeof(values[0]);
  for (std::size_t done = 0; done < slices.size(); done += block) {
    SAMEBITS_CUDA_CHECK(cudaMemcpyAsync(slices.at(0) + done, values.data(),
                                        std::min(block, slices.size() - done),
                                        cudaMemcpyHostToDevice, stream));
  }
  SAMEBITS_CUDA_CHECK(cudaStreamSynchronize(stream));
}

struct Measurement {
  std::string kernel;
  std::int64_t rows, cols;
  double microseconds, bytes, copy_bytes_per_second;

  double bytes_per_second() const { return bytes / microseconds * 1e6; }
  double ratio() const { return bytes_per_second() / copy_bytes_per_second; }
};

class Timer {
 public:
  Timer(int samples, cudaStream_t stream)
      : samples_(samples),
        stream_(stream),
        from_(kCopyBytes, 1, stream),
        to_(kCopyBytes, 1, stream) {}

  // `launch(set)` works on one of the sets; `repeats` launches make a sample.
  Measurement measure(std::string kernel, std::int64_t rows, std::int64_t cols, double bytes,
                      int sets, int repeats, const std::function<void(int)>& launch) {
    int set = 0;
    const auto run = [&] {
      for (int i = 0; i < repeats; ++i) launch(set++ % sets);
    };
    const auto copy = [&] {
      SAMEBITS_CUDA_CHECK(
          cudaMemcpyAsync(to_.at(0), from_.at(0), kCopyBytes, cudaMemcpyDeviceToDevice, stream_));
    };
    run();
    copy();
    std::vector<double> times, copy_rates;
    for (int i = 0; i < samples_; ++i) {
      times.push_back(microseconds(run) / repeats);
      copy_rates.push_back(2.0 * kCopyBytes / microseconds(copy) * 1e6);
    }
    return {std::move(kernel), rows, cols, median(times), bytes, median(copy_rates)};
  }

 private:
  static constexpr std::int64_t kCopyBytes = std::int64_t{1} << 30;

  double microseconds(const std::function<void()>& work) {
    start_.record(stream_);
    work();
    stop_.record(stream_);
    return 1000.0 * stop_.milliseconds_since(start_);
  }

  int samples_;
  cudaStream_t stream_;
  Slices from_, to_;
  Event start_, stop_;
};

// All kernels on BF16 matrices of one shape.
class Bench {
 public:
  Bench(std::int64_t rows, std::int64_t cols, std::size_t l2_bytes, Timer& timer,
        cudaStream_t stream)
      : rows_(rows),
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

  // Small launches are timed by the hundred: an event costs as much as one of them.
  void add(const char* kernel, double bytes_per_element, const std::function<void(int)>& launch) {
    const int repeats = count_ < (1 << 22) ? 100 : 4;
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

int run(const std::string& json, int samples) {
  if (const auto reason = why_unusable()) {
    std::fprintf(stderr, "quantize_bench: %s\n", reason->c_str());
    return 2;
  }
  const DeviceInfo info = device_info();
  std::printf("%s, driver %s, CUDA %s, medians of %d\n", info.name.c_str(), info.driver.c_str(),
              info.runtime.c_str(), samples);
  const Stream stream;
  Timer timer(samples, stream);
  std::ofstream file;
  if (!json.empty()) {
    file.open(json);
    if (!file) throw std::runtime_error("cannot write " + json);
    file << fmt::format(R"({{"gpu": "{}", "driver": "{}", "cuda": "{}", "samples": {}}})",
                        info.name, info.driver, info.runtime, samples)
         << '\n';
  }
  constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {
      {512, 512}, {8192, 4096}, {131072, 512}, {131072, 2048}};
  for (const auto& [rows, cols] : kShapes) {
    const auto results = Bench(rows, cols, info.l2_bytes, timer, stream).run();
    print(results);
    if (file.is_open()) append_json(file, results);
  }
  return 0;
}

}  // namespace
}  // namespace samebits::kernels

int main(int argc, char** argv) {
  CLI::App app("Times the quantise kernels of samebits beside a plain copy");
  std::string json;
  int samples = 21;
  app.add_option("--json", json, "Also write a JSON object a line to this file");
  app.add_option("--samples", samples, "Samples a kernel")->check(CLI::Range(1, 10000));
  CLI11_PARSE(app, argc, argv);
  try {
    return samebits::kernels::run(json, samples);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quantize_bench: %s\n", error.what());
    return 2;
  }
}
