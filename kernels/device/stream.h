// Owning streams and events. Nothing runs on the default stream: every launcher takes its stream.
#pragma once

#include <utility>

#include "kernels/device/check.h"

namespace samebits::kernels {

class Stream {
 public:
  Stream() { SAMEBITS_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Stream() {
    if (stream_) static_cast<void>(cudaStreamDestroy(stream_));
  }

  operator cudaStream_t() const { return stream_; }
  void synchronize() const { SAMEBITS_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { SAMEBITS_CUDA_CHECK(cudaEventCreate(&event_)); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event() {
    if (event_) static_cast<void>(cudaEventDestroy(event_));
  }

  void record(cudaStream_t stream) { SAMEBITS_CUDA_CHECK(cudaEventRecord(event_, stream)); }
  // From `start`, which was recorded before; waits for this one.
  float milliseconds_since(const Event& start) const {
    float milliseconds = 0;
    SAMEBITS_CUDA_CHECK(cudaEventSynchronize(event_));
    SAMEBITS_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace samebits::kernels
