// Random small GEMMs over every field that decides bits, made from bit patterns; for holding two
// implementations of reference::gemm against each other by the million.
#pragma once

#include <cstdint>
#include <optional>

#include "reference/gemm.h"

namespace samebits::properties {

struct SmallGemm {
  reference::Quantized a, b;
  reference::Matrix c;  // empty where beta is 0
  std::optional<Eigen::VectorXf> bias;
  float scale_d = 1;
  reference::GemmSpec spec;  // its scale_d is set by run()

  // Calls one of the implementations.
  template <class Gemm>
  reference::Matrix run(const Gemm& gemm) const {
    reference::GemmSpec with_scale = spec;
    const bool to_fp8 =
        spec.output == reference::OutputType::kE4M3 || spec.output == reference::OutputType::kE5M2;
    if (to_fp8) with_scale.scale_d = &scale_d;
    return gemm(
        {.a = &a, .b = &b, .c = spec.beta != 0 ? &c : nullptr, .bias = bias ? &*bias : nullptr},
        with_scale);
  }
};

// The case `index` of the sequence that `seed` names: about 4,000 products on average, K from 0 to
// 700. Half of the models are Hopper's; the others have any fields that a fused sum can have.
SmallGemm small_gemm(std::uint64_t seed, std::uint64_t index);

}  // namespace samebits::properties
