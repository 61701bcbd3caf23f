// The subject under test as a backend of the harness: the one bridge between the two.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/arm.h"
#include "harness/core/backend.h"

namespace samebits::kernels {

// Tensors live on the current device, between guards that every download looks at. Throws Error,
// with the reason, where there is no GPU that can be used.
std::unique_ptr<Backend> make_cuda_backend(const Arm& arm);

// GPU, driver, runtime and library, for reports; empty where there is no GPU.
std::vector<std::pair<std::string, std::string>> cuda_environment();

}  // namespace samebits::kernels
