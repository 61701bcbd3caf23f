// The steps of a GEMM on approximate numbers, for bound.h: where each takes its numbers from, and
// what it adds to the error.
#pragma once

#include <limits>

#include "reference/approximate.h"
#include "reference/gemm.h"

namespace samebits::reference {

// Some of the products of one output, and what their fused sum looks at.
struct Group {
  Approximate sum;         // exact
  double largest = 0;      // >= 2^exponent of each product that is not zero; 0: all are zero
  std::int64_t terms = 0;  // that are not zero
};

// Where the numbers come from. Scales of 1x32 are part of the products, others are not.
class ProductSource {
 public:
  virtual ~ProductSource() = default;
  virtual Group group(std::int64_t begin, std::int64_t end) const = 0;
  virtual Approximate scale_a(std::int64_t k) const = 0;  // that element's
  virtual Approximate scale_b(std::int64_t k) const = 0;
  // >= the magnitude of any sum of products.
  virtual double limit() const { return std::numeric_limits<double>::infinity(); }
};

struct GemmShape {
  std::int64_t k;
  Granularity a, b;
};

// D, with all errors of the accumulation and the epilogue; null: no bias, a C that is not read.
Approximate follow_gemm(const ProductSource& source, const GemmShape& shape, const GemmSpec& spec,
                        const Approximate& c, const Approximate* bias);

}  // namespace samebits::reference
