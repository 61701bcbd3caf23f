// For GPU tests, which include GoogleTest before this: the visible skip, and moving data.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "kernels/device/buffer.h"
#include "kernels/device/device_info.h"
#include "kernels/device/stream.h"

// First in a test's body, outside any property. Where there is no usable GPU the test is skipped
// and says why; with SAMEBITS_REQUIRE_GPU=1 in the environment it fails.
#define SAMEBITS_NEEDS_GPU()                                                                 \
  if (const auto why_not = ::samebits::kernels::why_unusable()) {                            \
    if (::samebits::kernels::gpu_is_required()) FAIL() << "a GPU is required: " << *why_not; \
    GTEST_SKIP() << *why_not;                                                                \
  }                                                                                          \
  static_assert(true)

namespace samebits::kernels {

inline bool gpu_is_required() {
  const char* value = std::getenv("SAMEBITS_REQUIRE_GPU");
  return value && std::string(value) == "1";
}

// Waits: host memory is pageable.
template <class T>
void copy_to_device(T* to, const std::vector<T>& from, cudaStream_t stream) {
  if (from.empty()) return;
  SAMEBITS_CUDA_CHECK(
      cudaMemcpyAsync(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, stream));
  SAMEBITS_CUDA_CHECK(cudaStreamSynchronize(stream));
}

template <class T>
std::vector<T> copy_to_host(const T* from, std::size_t count, cudaStream_t stream) {
  std::vector<T> to(count);
  if (count == 0) return to;
  SAMEBITS_CUDA_CHECK(
      cudaMemcpyAsync(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
  SAMEBITS_CUDA_CHECK(cudaStreamSynchronize(stream));
  return to;
}

// A guarded buffer of exactly these values.
template <class T>
Buffer upload(const std::vector<T>& values, cudaStream_t stream) {
  Buffer buffer(values.size() * sizeof(T), stream);
  copy_to_device(buffer.as<T>(), values, stream);
  return buffer;
}

template <class T>
std::vector<T> download(const Buffer& buffer, cudaStream_t stream) {
  return copy_to_host(buffer.as<const T>(), buffer.size() / sizeof(T), stream);
}

}  // namespace samebits::kernels
