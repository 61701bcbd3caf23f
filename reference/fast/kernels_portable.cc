namespace {
constexpr int kVectorBytes = 16;
constexpr int kVectors = 2;
constexpr int kRows = 4;
}  // namespace
#include "reference/fast/kernels_body.h"

namespace samebits::reference::fast {
const Kernels kPortableKernels = kThese;
}  // namespace samebits::reference::fast
