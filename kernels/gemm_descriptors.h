// A GemmProblem in the library's terms.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cublaslt.h"
#include "kernels/gemm_problem.h"

namespace samebits::kernels {

inline constexpr cublasComputeType_t kComputeType = CUBLAS_COMPUTE_32F;
inline constexpr cudaDataType_t kScaleType = CUDA_R_32F;  // of alpha, beta and every scale

cudaDataType_t cuda_type(Format format);

// The operation and the layouts of A, B, C and D. The operation holds the pointers of scales and
// bias; those of the matrices come with the call.
struct GemmDescriptors {
  // Both must have been checked. Throws CublasError.
  GemmDescriptors(const GemmProblem& problem, const GemmOperands& operands);

  // Takes the scales and the bias from `operands`.
  void point_at(const GemmProblem& problem, const GemmOperands& operands);

  cublaslt::Operation operation;
  cublaslt::Layout a, b, c, d;
};

}  // namespace samebits::kernels
