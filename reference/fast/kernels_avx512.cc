namespace {
constexpr int kVectorBytes = 64;
constexpr int kVectors = 4;
constexpr int kRows = 4;
}  // namespace
#include "reference/fast/kernels_body.h"

namespace samebits::reference::fast {
const Kernels kAvx512Kernels = kThese;
}  // namespace samebits::reference::fast
