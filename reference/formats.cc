#include "reference/formats.h"

// The tables of the specifications, held against the template while it compiles.
namespace samebits::reference {

// OFP8 rev 1.0, table 1. max = (1 + 6/8) * 2^(15-7) = 448; S.1111.111 is NaN, there is no infinity.
static_assert(E4M3::kBias == 7);
static_assert(E4M3::max().bits() == 0b0'1111'110 && E4M3::max().value() == 448);
static_assert(E4M3::min_normal().bits() == 0b0'0001'000 && E4M3::min_normal().value() == 0x1p-6f);
static_assert(E4M3::min_subnormal().value() == 0x1p-9f);
static_assert(E4M3::from_bits(0b1'1111'111).is_nan() && E4M3::nan().bits() == 0b0'1111'111);

// Same table. max = (1 + 3/4) * 2^(30-15) = 57344; S.11111.00 is Inf, S.11111.{01, 10, 11} are NaN.
static_assert(E5M2::kBias == 15);
static_assert(E5M2::max().bits() == 0b0'11110'11 && E5M2::max().value() == 57344);
static_assert(E5M2::min_normal().bits() == 0b0'00001'00 && E5M2::min_normal().value() == 0x1p-14f);
static_assert(E5M2::min_subnormal().value() == 0x1p-16f);
static_assert(E5M2::infinity().bits() == 0b0'11111'00);
static_assert(E5M2::from_bits(0b1'11111'01).is_nan() && E5M2::nan().bits() == 0b0'11111'11);

// IEEE 754-2019, table 3.5: p = 11, emax = 15.
static_assert(FP16::max().bits() == 0x7bff && FP16::max().value() == 65504);
static_assert(FP16::min_normal().value() == 0x1p-14f && FP16::min_subnormal().value() == 0x1p-24f);
static_assert(FP16::infinity().bits() == 0x7c00 && FP16::nan().bits() == 0x7fff);

// binary32 cut to p = 8.
static_assert(BF16::max().bits() == 0x7f7f && BF16::max().value() == 0x1.fep127f);
static_assert(BF16::min_normal().value() == 0x1p-126f);
static_assert(BF16::min_subnormal().value() == 0x1p-133f);
static_assert(BF16::infinity().bits() == 0x7f80 && BF16::nan().bits() == 0x7fff);

// MX rev 1.0, section 5.4.1.
static_assert(E8M0::from_bits(0).value() == 0x1p-127f);
static_assert(E8M0::from_bits(134).value() == 128);
static_assert(E8M0::from_bits(254).value() == 0x1p127f && E8M0::from_bits(255).is_nan());

}  // namespace samebits::reference
