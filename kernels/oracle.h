// Every output of a GEMM, recomputed on the device in plain integers by the measured model of
// Hopper's accumulation (oracle_arithmetic.h) and compared in every bit: no sample, the whole
// matrix. It shares nothing with the library that it judges, nor with the CPU reference.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/gemm_problem.h"

namespace samebits::kernels {

// Writes to operands.d what the library has to write there when it takes `split_k` slices of K: a
// lost tail is lost here too. operands.c is what C held before the GEMM, and is read where beta is
// not 0; where the problem is in place it is a copy, as d may not be C. Enqueues and returns.
// Throws std::invalid_argument where the problem or a pointer is refused (gemm_problem.h) or
// split_k is below 1; CudaError.
void oracle_gemm(const GemmProblem& problem, std::int64_t split_k, const GemmOperands& operands,
                 cudaStream_t stream);

}  // namespace samebits::kernels
