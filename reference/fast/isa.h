// The instruction sets that the fast forms are compiled for, and which one runs.
#pragma once

#include <string_view>
#include <vector>

namespace samebits::reference::fast {

// kAvx512: F, BW, VL and DQ; kAvx2: with FMA; kPortable: what the compiler's default target has.
// AVX512-FP16 would add nothing: the accumulator needs more than its 11 bits.
enum class Isa { kPortable, kAvx2, kAvx512 };

// "portable", "avx2", "avx512".
std::string_view name(Isa isa);

// What this build has and this CPU runs, the fastest first. Never empty.
const std::vector<Isa>& available();

// available()'s first, or what the environment variable SAMEBITS_ISA names. Throws
// std::invalid_argument where that is not available.
Isa chosen();

}  // namespace samebits::reference::fast
