// The backends that this build has. CMake picks the registration file: with or without CUDA.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/arm.h"
#include "harness/core/backend.h"

namespace samebits::cli {

// The backend of this arm, "reference" or "cuda". Throws Error, with the reason, where it is not
// to be had.
std::unique_ptr<Backend> make_backend(const Arm& arm, int threads);

// What results of the backends beside the reference could depend on: GPU, driver, library.
std::vector<std::pair<std::string, std::string>> backend_environment();

// The backend that `--backend auto` takes.
std::string best_backend();

}  // namespace samebits::cli
