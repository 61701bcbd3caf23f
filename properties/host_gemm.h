// One GEMM of the CUDA path with its inputs on the host, and what the reference makes of it.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/gemm_problem.h"
#include "reference/gemm.h"

namespace samebits::properties {

struct HostGemm {
  kernels::GemmProblem problem;
  reference::Quantized a;  // [m, k]
  reference::Quantized b;  // [n, k]
  reference::Matrix c;     // [n, m], values of the output type; empty where beta is 0
  Eigen::VectorXf bias;    // [m], values of its type; empty without one
  float scale_d = 1;
  // Where the matrices start, in bytes beyond a multiple of 256: multiples of 16.
  std::int64_t offset_a = 0, offset_b = 0, offset_c = 0, offset_d = 0;
};

reference::Granularity granularity(kernels::ScaleMode mode);
reference::OutputType output_type(kernels::Format format);

// The bits of D by the reference, in `slices` slices of K. All cores.
reference::MatrixOf<std::uint32_t> expected_bits(const HostGemm& gemm, int slices);

// As the library wants them in memory; the padding of scales is NaN.
std::vector<float> packed_scales(const reference::Quantized& q);
std::vector<std::uint8_t> packed_values(const float* values, std::int64_t count,
                                        kernels::Format format);

}  // namespace samebits::properties
