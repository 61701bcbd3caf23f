// The number formats of FP8 training, as classes over their bit patterns.
//
// E4M3, E5M2: OCP 8-bit Floating Point Specification (OFP8), revision 1.0.  E8M0: OCP Microscaling Formats (MX),
// revision 1.0.  FP16: IEEE 754 binary16.  BF16: the upper half of IEEE 754 binary32.
#pragma once

#include <cstdint>

namespace samebits::reference {

enum class Rounding { kNearestEven, kTowardZero };

// What a finite value beyond the largest finite code, or an infinity, becomes. Saturating: the largest finite code with
// the value's sign. Not saturating: IEEE 754 overflow by the rounding mode; E4M3 has no infinity and gives NaN.
enum class Overflow { kSaturate, kToInfinityOrNan };

// Common to the four signed formats F below:
//   F::from_bits(b), bits()      the code, every pattern allowed
//   F::round(v, rounding, ovf)   one correct rounding of a double (so of any FP32) to the format; -0 is kept; NaN gives
//                                the canonical NaN, sign dropped (E4M3 and E5M2 0x7f, BF16 and FP16 0x7fff, as an H200)
//   value()                      exact, as float; NaN is 0x7fffffff
//   is_nan(), is_inf(), max(), min_normal(), min_subnormal()
}
