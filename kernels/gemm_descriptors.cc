#include "kernels/gemm_descriptors.h"

namespace samebits::kernels {
namespace {

cublasLtMatmulMatrixScale_t library_mode(ScaleMode mode) {
  switch (mode) {
    case ScaleMode::kTensor:
      return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
    case ScaleMode::kRow:
      return CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    case ScaleMode::k1x128:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    case ScaleMode::k128x128:
      return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    case ScaleMode::k1x32:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
  }
  throw std::invalid_argument("unknown scale mode");
}

// A row-major [rows][cols] matrix: cols x rows to the library.
cublaslt::Layout layout(Format format, std::int64_t rows, std::int64_t cols,
                        const std::string& problem) {
  cublasLtMatrixLayout_t result = nullptr;
  check_cublas(
      cublasLtMatrixLayoutCreate(&result, cuda_type(format), static_cast<std::uint64_t>(cols),
                                 static_cast<std::uint64_t>(rows), cols),
      "cublasLtMatrixLayoutCreate", problem);
  return cublaslt::Layout(result);
}

cublaslt::Operation new_operation(const std::string& problem) {
  cublasLtMatmulDesc_t result = nullptr;
  check_cublas(cublasLtMatmulDescCreate(&result, kComputeType, kScaleType),
               "cublasLtMatmulDescCreate", problem);
  return cublaslt::Operation(result);
}

// T must have the attribute's size: the library checks it.
template <class T>
void set(const cublaslt::Operation& operation, cublasLtMatmulDescAttributes_t attribute, T value,
         const GemmProblem& problem) {
  const cublasStatus_t status =
      cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof(value));
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw CublasError("cublasLtMatmulDescSetAttribute(" + std::to_string(attribute) + ")", status,
                      describe(problem));
  }
}

}  // namespace

cudaDataType_t cuda_type(Format format) {
  switch (format) {
    case Format::kFP32:
      return CUDA_R_32F;
    case Format::kBF16:
      return CUDA_R_16BF;
    case Format::kFP16:
      return CUDA_R_16F;
    case Format::kE4M3:
      return CUDA_R_8F_E4M3;
    case Format::kE5M2:
      return CUDA_R_8F_E5M2;
    case Format::kE8M0:
      return CUDA_R_8F_UE8M0;
  }
  throw std::invalid_argument("unknown format");
}

GemmDescriptors::GemmDescriptors(const GemmProblem& problem, const GemmOperands& operands)
    : operation(new_operation(describe(problem))),
      a(layout(problem.a, problem.m, problem.k, describe(problem))),
      b(layout(problem.b, problem.n, problem.k, describe(problem))),
      c(layout(c_format(problem), problem.n, problem.m, describe(problem))),
      d(layout(problem.output, problem.n, problem.m, describe(problem))) {
  set<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T, problem);
  set<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N, problem);
  set<std::int8_t>(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, problem.fast_accumulation, problem);
  set<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, library_mode(problem.scale_a),
                    problem);
  set<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, library_mode(problem.scale_b),
                    problem);
  if (problem.bias) {
    set<std::uint32_t>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS, problem);
    set<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(*problem.bias),
                      problem);
  }
  point_at(problem, operands);
}

void GemmDescriptors::point_at(const GemmProblem& problem, const GemmOperands& operands) {
  set(operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.scale_a, problem);
  set(operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.scale_b, problem);
  if (problem.bias) set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias, problem);
  if (problem.scale_d) {
    set(operation, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, operands.scale_d, problem);
  }
}

}  // namespace samebits::kernels
