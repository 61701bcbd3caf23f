namespace {
constexpr int kVectorBytes = 32;
constexpr int kVectors = 2;
constexpr int kRows = 4;
}  // namespace
#include "reference/fast/kernels_body.h"

namespace samebits::reference::fast {
const Kernels kAvx2Kernels = kThese;
}  // namespace samebits::reference::fast
