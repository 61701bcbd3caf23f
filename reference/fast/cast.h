// The saturating cast of FP32 to FP8, vectorised: the bytes of Minifloat::saturate.
#pragma once

#include <cstdint>

#include "reference/scale.h"

namespace samebits::reference::fast {

// codes[i] = the saturating cast of RN(x[i] * scale), to nearest even; NaN is 0x7f.
void cast(const float* x, std::int64_t count, float scale, Fp8 format, std::uint8_t* codes);

}  // namespace samebits::reference::fast
