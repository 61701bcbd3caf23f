// The FP32 accumulation behind each output of a GEMM, before the epilogue, and how K is cut for it.
#pragma once

#include "reference/gemm.h"

namespace samebits::reference {

inline constexpr std::int64_t kScaleBlock = 128;  // elements of K that share a block scale

bool is_block_mode(Granularity granularity);

// Elements of K in a slice; the last may be shorter.
std::int64_t slice_length(std::int64_t k, int split_k, Granularity a, Granularity b);

// The scale of an element of 1x128 or 128x128 blocks.
float block_scale(const Quantized& q, Eigen::Index row, std::int64_t k);

// Of a checked GEMM.
Epilogue make_epilogue(const GemmInputs& in, const GemmSpec& spec);

// Keeps references to all three, which check_gemm() has passed.
class Accumulation {
 public:
  Accumulation(const Quantized& a, const Quantized& b, const GemmSpec& spec)
      : a_(a), b_(b), spec_(spec), decoded_a_(a), decoded_b_(b) {}

  // u of the epilogue.
  float operator()(Eigen::Index m, Eigen::Index n) const;

 private:
  float sum_of_slices(Eigen::Index m, Eigen::Index n) const;
  float slice(Eigen::Index m, Eigen::Index n, std::int64_t begin, std::int64_t end) const;
  float add_block(float scale_a, float scale_b, float p, float y) const;
  float exact_total(Eigen::Index m, Eigen::Index n) const;

  const Quantized& a_;
  const Quantized& b_;
  const GemmSpec& spec_;
  Operand decoded_a_;
  Operand decoded_b_;
};

}  // namespace samebits::reference
