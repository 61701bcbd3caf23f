#include "harness/cli/backends.h"
#include "harness/core/error.h"
#include "harness/reference_backend.h"
#include "kernels/cuda_backend.h"
#include "kernels/device/device_info.h"

namespace samebits::cli {

std::unique_ptr<Backend> make_backend(const Arm& arm, int threads) {
  if (arm.backend == kReference) return make_reference_backend(threads);
  if (arm.backend == "cuda") return kernels::make_cuda_backend(arm);
  throw Error("unknown backend \"" + arm.backend + "\": reference and cuda are known");
}

std::string best_backend() { return kernels::why_unusable() ? std::string(kReference) : "cuda"; }

std::vector<std::pair<std::string, std::string>> backend_environment() {
  return kernels::cuda_environment();
}

}  // namespace samebits::cli
