// The backend that computes with reference/: the embedded default, and the oracle of every other.
#pragma once

#include <memory>

#include "harness/core/backend.h"

namespace samebits {

// `threads` 0: all cores. Results do not depend on it.
std::unique_ptr<Backend> make_reference_backend(int threads);

}  // namespace samebits
