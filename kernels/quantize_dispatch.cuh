// From the formats of a call to the types of a template.
#pragma once

#include <type_traits>

#include "kernels/quantize_arguments.h"
#include "kernels/quantize_chunk.cuh"

namespace samebits::kernels {

// Calls body(Source{}). The format has passed check_source.
template <class Body>
void with_source(Format format, const Body& body) {
  if (format == Format::kFP32) return body(Fp32{});
  if (format == Format::kBF16) return body(Bf16{});
  body(Fp16{});
}

// Calls body(Source{}, Target{}, kVector as a type). The formats have been checked.
template <class Body>
void with_types(Format source, Format target, bool vector, const Body& body) {
  with_source(source, [&](auto s) {
    if (target == Format::kE4M3) {
      vector ? body(s, E4m3{}, std::true_type{}) : body(s, E4m3{}, std::false_type{});
    } else {
      vector ? body(s, E5m2{}, std::true_type{}) : body(s, E5m2{}, std::false_type{});
    }
  });
}

}  // namespace samebits::kernels
