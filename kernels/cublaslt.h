// The library's handle and descriptors as owning types, and its errors.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace samebits::kernels {

// A call of the library that did not succeed; the message has the call, the status and the problem.
class CublasError : public std::runtime_error {
 public:
  CublasError(const std::string& call, cublasStatus_t status, const std::string& problem);
  cublasStatus_t status() const { return status_; }

 private:
  cublasStatus_t status_;
};

// The library offers no algorithm (of the kind asked for) for the problem.
class NoAlgorithm : public CublasError {
 public:
  using CublasError::CublasError;
};

// Throws CublasError unless the status is success. `problem` says what was asked for.
void check_cublas(cublasStatus_t status, const char* call, const std::string& problem);

namespace cublaslt {

// A failing clean-up has nowhere to go, and is ignored.
template <auto kDestroy>
struct Destroy {
  template <class T>
  void operator()(T* object) const noexcept {
    kDestroy(object);
  }
};
template <class Handle, auto kDestroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<kDestroy>>;

using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

}  // namespace cublaslt

// One per device and thread of use: belongs to the device that is current when it is made.
class CublasLt {
 public:
  // Throws CublasError; without a GPU the message says so.
  CublasLt();

  cublasLtHandle_t get() const { return handle_.get(); }

 private:
  cublaslt::Owned<cublasLtHandle_t, cublasLtDestroy> handle_;
};

// cublasLtGetVersion() of the library that runs: 130100 is 13.1.0. Needs no GPU.
std::int64_t cublaslt_version();

}  // namespace samebits::kernels
