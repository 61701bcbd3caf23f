// The GEMM of reference/gemm.h, vectorised: the same result in every bit, on every input.
#pragma once

#include "reference/gemm.h"

namespace samebits::reference::fast {

// As reference::gemm, also in what it throws; and std::invalid_argument where SAMEBITS_ISA names
// what this CPU lacks. Outputs of rows that hold a NaN or an infinity, and models that `covers`
// refuses, are left to the plain form.
Matrix gemm(const GemmInputs& in, const GemmSpec& spec);

// Whether the fast form has this model: cuts toward zero, at most 14 aligned bits, a sum of 2^i
// products, no block exponents. Hopper's and Ada's are.
bool covers(const AccumulationModel& model);

}  // namespace samebits::reference::fast
