#include "harness/cli/backends.h"
#include "harness/core/error.h"
#include "harness/reference_backend.h"

namespace samebits::cli {

std::unique_ptr<Backend> make_backend(const Arm& arm, int threads) {
  if (arm.backend == kReference) return make_reference_backend(threads);
  if (arm.backend == "cuda") throw Error("backend cuda: this samebits was built without CUDA");
  throw Error("unknown backend \"" + arm.backend + "\": reference and cuda are known");
}

std::string best_backend() { return std::string(kReference); }

std::vector<std::pair<std::string, std::string>> backend_environment() { return {}; }

}  // namespace samebits::cli
