// What the lack of a GPU looks like.
#include "kernels/cublaslt.h"

#include <gtest/gtest.h>

#include "kernels/device/device_info.h"

namespace samebits::kernels {
namespace {

TEST(CublasLtHandle, SaysThatThereIsNoGpu) {
  if (!why_unusable()) GTEST_SKIP() << "there is a GPU";
  try {
    const CublasLt lt;
    GTEST_SKIP() << "the library starts all the same: the GPU is of another kind";
  } catch (const CublasError& error) {
    EXPECT_NE(std::string(error.what()).find("no usable GPU"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("cublasLtCreate"), std::string::npos) << error.what();
  }
}

TEST(CublasLtVersion, IsKnownWithoutAGpu) { EXPECT_GE(cublaslt_version(), 130000); }

TEST(CublasError, NamesTheCallTheStatusAndTheProblem) {
  try {
    check_cublas(CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmul", "GEMM m=1");
    ADD_FAILURE() << "accepted";
  } catch (const CublasError& error) {
    EXPECT_EQ(error.status(), CUBLAS_STATUS_NOT_SUPPORTED);
    const std::string text = error.what();
    for (const char* part : {"cublasLtMatmul", "CUBLAS_STATUS_NOT_SUPPORTED", "GEMM m=1"}) {
      EXPECT_NE(text.find(part), text.npos) << text;
    }
  }
}

}  // namespace
}  // namespace samebits::kernels
