// The epilogue over a row of outputs, for the cases that training steps are made of.
#pragma once

#include <cstdint>

#include "reference/epilogue.h"

namespace samebits::reference::fast {

// d[i] = epilogue(d[i], c[i], bias[i]) for i below `count`, with the signs of zero and NaN as
// there. c and bias may be null where the epilogue does not read them.
void store_row(const Epilogue& epilogue, const float* c, const float* bias, std::int64_t count,
               float* d);

}  // namespace samebits::reference::fast
