// How kernels are timed: beside a copy in the same run, over buffers that the L2 cache cannot hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device/buffer.h"
#include "kernels/device/check.h"
#include "kernels/device/stream.h"
#include "kernels/quantize_arguments.h"

namespace samebits::kernels {

inline double median(std::vector<double> values) {
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
inline void fill_with_numbers(const Slices& slices, cudaStream_t stream) {
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
  static constexpr std::int64_t kCopyBytes = std::int64_t{1} << 30;

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

}  // namespace samebits::kernels
