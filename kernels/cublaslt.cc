#include "kernels/cublaslt.h"

namespace samebits::kernels {
namespace {

std::string message(const std::string& call, cublasStatus_t status, const std::string& problem) {
  return call + ": " + cublasLtGetStatusName(status) + " (" + cublasLtGetStatusString(status) +
         "): " + problem;
}

}  // namespace

CublasError::CublasError(const std::string& call, cublasStatus_t status, const std::string& problem)
    : std::runtime_error(message(call, status, problem)), status_(status) {}

void check_cublas(cublasStatus_t status, const char* call, const std::string& problem) {
  if (status != CUBLAS_STATUS_SUCCESS) throw CublasError(call, status, problem);
}

CublasLt::CublasLt() {
  cublasLtHandle_t handle = nullptr;
  const cublasStatus_t status = cublasLtCreate(&handle);
  // What the library says where there is no device or no driver.
  const bool no_gpu = status == CUBLAS_STATUS_NOT_INITIALIZED;
  check_cublas(status, "cublasLtCreate", no_gpu ? "no usable GPU" : "the library did not start");
  handle_.reset(handle);
}

std::int64_t cublaslt_version() { return static_cast<std::int64_t>(cublasLtGetVersion()); }

}  // namespace samebits::kernels
