#include "kernels/device/check.h"

namespace samebits::kernels {

void check_cuda(cudaError_t code, const char* call, const char* file, int line) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw CudaError(code, std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                            cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")");
}

}  // namespace samebits::kernels
