#include "reference/fast/cast.h"

#include "reference/fast/isa.h"
#include "reference/fast/kernels.h"

namespace samebits::reference::fast {

void cast(const float* x, std::int64_t count, float scale, Fp8 format, std::uint8_t* codes) {
  const Kernels& kernels = kernels_of(chosen());
  (format == Fp8::kE4M3 ? kernels.cast_e4m3 : kernels.cast_e5m2)(x, count, scale, codes);
}

}  // namespace samebits::reference::fast
