// A HostGemm in guarded device memory.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/gemm_cublaslt.h"
#include "kernels/gpu_test.h"
#include "properties/host_gemm.h"

namespace samebits::properties {

using Bits = reference::MatrixOf<std::uint32_t>;

// A matrix that starts `offset` bytes beyond a multiple of 256 and ends where the guard begins.
class PlacedBytes {
 public:
  PlacedBytes(const std::vector<std::uint8_t>& bytes, std::int64_t offset, cudaStream_t stream);

  std::uint8_t* data() const { return buffer_.data() + offset_; }
  std::size_t size() const { return buffer_.size() - offset_; }
  const kernels::Buffer& buffer() const { return buffer_; }

 private:
  std::size_t offset_;
  kernels::Buffer buffer_;
};

// The same memory whatever runs: stale results of an earlier GEMM lie in it.
class GemmWorkspace {
 public:
  explicit GemmWorkspace(cudaStream_t stream) : buffer_(kernels::kWorkspaceBytes, stream) {}
  kernels::Workspace get() const { return {buffer_.data(), buffer_.size()}; }

 private:
  kernels::Buffer buffer_;
};

class DeviceGemm {
 public:
  DeviceGemm(const HostGemm& host, cudaStream_t stream);

  kernels::GemmOperands operands() const;

  // D's bits [n, m] after one run into poison, or into C where that is in place.
  Bits run(kernels::GemmPlan& plan, const kernels::Workspace& workspace);

  // Nothing was written beside any operand.
  void expect_whole_guards() const;

 private:
  cudaStream_t stream_;
  kernels::GemmProblem problem_;
  PlacedBytes a_, b_;
  kernels::Buffer scale_a_, scale_b_, bias_, scale_d_;
  std::vector<std::uint8_t> c_bytes_;
  PlacedBytes c_, d_;
};

}  // namespace samebits::properties
