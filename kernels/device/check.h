// CUDA's error codes as exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace samebits::kernels {

// what(): "kernels/device/buffer.cc:31: cudaMalloc(&base, bytes): out of memory
// (cudaErrorMemoryAllocation)"
class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

// Throws CudaError unless `code` is cudaSuccess, and clears the error where CUDA lets it, so that a
// later check does not report it again.
void check_cuda(cudaError_t code, const char* call, const char* file, int line);

}  // namespace samebits::kernels

#define SAMEBITS_CUDA_CHECK(call) ::samebits::kernels::check_cuda((call), #call, __FILE__, __LINE__)

// After every <<<...>>>: a launch that CUDA refused.
#define SAMEBITS_CUDA_CHECK_LAUNCH() \
  ::samebits::kernels::check_cuda(cudaGetLastError(), "kernel launch", __FILE__, __LINE__)
