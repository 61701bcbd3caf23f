// Which GEMMs exist: the shapes, scale modes and types that the library has an algorithm for.
#pragma once

#include "reference/gemm.h"

namespace samebits::reference {

// Throws std::invalid_argument with the reason where gemm() has no answer.
void check_gemm(const GemmInputs& in, const GemmSpec& spec);

}  // namespace samebits::reference
