#include "harness/cli/backends.h"
#include "harness/core/error.h"
#include "harness/reference_backend.h"

namespace samebits::cli {

std::unique_ptr<Backend> make_backend(const std::string& name, int threads) {
  if (name == "reference") return make_reference_backend(threads);
  if (name == "cuda") throw Error("backend cuda: this samebits was built without CUDA");
  throw Error("unknown backend \"" + name + "\": reference and cuda are known");
}

std::string best_backend() { return "reference"; }

}  // namespace samebits::cli
