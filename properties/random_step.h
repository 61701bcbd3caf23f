// Random training steps of one layer: any recipe, formats, input type and kind of number.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/check.h"

namespace samebits::properties {

// The check that `seed` stands for: one or two steps of one to three microbatches, sizes that are
// multiples of 16 up to 272. Its arms are left to the caller.
CheckRequest random_step(std::uint64_t seed);

// One microbatch with many tokens and few features: what makes a library split K in wgrad.
CheckRequest tall_step(std::uint64_t seed);

std::string describe(const CheckRequest& request);

}  // namespace samebits::properties
