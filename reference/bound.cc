#include "reference/bound.h"

#include <algorithm>
#include <cmath>

#include "reference/accumulation.h"
#include "reference/bound_steps.h"
#include "reference/formats.h"
#include "reference/gemm_check.h"

namespace samebits::reference {
namespace {

using Eigen::Index;

// The operands of one output.
class Rows : public ProductSource {
 public:
  Rows(const AccumulationModel& model, const Quantized& a, const Quantized& b, OperandRow row_a,
       OperandRow row_b, Index m, Index n)
      : model_(model), a_(a), b_(b), row_a_(row_a), row_b_(row_b), m_(m), n_(n) {}

  Group group(std::int64_t begin, std::int64_t end) const override {
    Group group;
    for (std::int64_t k = begin; k < end; ++k) {
      const double product = row_a_.value(k) * row_b_.value(k);  // exact
      if (product == 0) continue;
      group.sum = group.sum + exactly(product);
      group.largest = std::max(group.largest, std::ldexp(1, exponent_of(k, product)));
      ++group.terms;
    }
    return group;
  }
  Approximate scale_a(std::int64_t k) const override { return scale(a_, m_, k); }
  Approximate scale_b(std::int64_t k) const override { return scale(b_, n_, k); }

 private:
  int exponent_of(std::int64_t k, double product) const {
    if (model_.normalise_products) return std::ilogb(product);
    int exponent = row_a_.exponents[k] + row_b_.exponents[k];
    if (row_a_.block_exponents == nullptr) return exponent;
    return exponent + row_a_.block_exponents[k / kBlockOf32] +
           row_b_.block_exponents[k / kBlockOf32];
  }
  static Approximate scale(const Quantized& q, Index row, std::int64_t k) {
    if (is_block_mode(q.granularity)) return exactly(block_scale(q, row, k));
    return exactly(q.scale_inv(q.granularity == Granularity::kRow ? row : 0));
  }

  const AccumulationModel& model_;
  const Quantized& a_;
  const Quantized& b_;
  OperandRow row_a_, row_b_;
  Index m_, n_;
};

const GemmInputs& checked(const GemmInputs& in, const GemmSpec& spec) {
  check_gemm(in, spec);
  return in;
}

// Any operands within norms.
class Norms : public ProductSource {
 public:
  explicit Norms(const GemmNorms& norms) : norms_(norms) {
    const double scales = in_products(norms.a) * in_products(norms.b);
    product_ = norms.a.largest * norms.b.largest * scales;
    largest_ = largest_exponent(norms.a) * largest_exponent(norms.b) * scales;
  }

  Group group(std::int64_t begin, std::int64_t end) const override {
    if (product_ == 0) return {};
    return {at_most(product_ * static_cast<double>(end - begin)), largest_, end - begin};
  }
  Approximate scale_a(std::int64_t) const override { return at_most(norms_.a.largest_scale); }
  Approximate scale_b(std::int64_t) const override { return at_most(norms_.b.largest_scale); }
  double limit() const override {
    return norms_.sum_abs * in_products(norms_.a) * in_products(norms_.b);
  }

 private:
  static double in_products(const OperandNorms& norms) {
    return norms.granularity == Granularity::k1x32 ? norms.largest_scale : 1;
  }
  // >= 2^exponent of each code that is not zero.
  static double largest_exponent(const OperandNorms& norms) {
    const int least = norms.format == Fp8::kE4M3 ? E4M3::kMinExponent : E5M2::kMinExponent;
    return norms.largest == 0 ? 0 : std::max(norms.largest, std::ldexp(1, least));
  }

  const GemmNorms& norms_;
  double product_, largest_;
};

}  // namespace

ErrorBound::ErrorBound(const GemmInputs& in, const GemmSpec& spec)
    : in_(checked(in, spec)), spec_(spec), a_(*in.a), b_(*in.b) {}

double ErrorBound::operator()(Index m, Index n) const {
  const Quantized &a = *in_.a, &b = *in_.b;
  const Rows rows(spec_.model, a, b, a_.row(m), b_.row(n), m, n);
  const Approximate c = exactly(spec_.beta != 0 ? (*in_.c)(n, m) : 0);
  const Approximate bias = exactly(in_.bias != nullptr ? (*in_.bias)(m) : 0);
  const GemmShape shape{a.codes.cols(), a.granularity, b.granularity};
  return outward(follow_gemm(rows, shape, spec_, c, in_.bias != nullptr ? &bias : nullptr).error);
}

double error_bound(const GemmNorms& norms, const GemmSpec& spec) {
  check(spec.model);
  const Norms source(norms);
  const GemmShape shape{norms.k, norms.a.granularity, norms.b.granularity};
  const Approximate c = at_most(norms.largest_c), bias = at_most(norms.largest_bias);
  return outward(
      follow_gemm(source, shape, spec, c, norms.largest_bias > 0 ? &bias : nullptr).error);
}

}  // namespace samebits::reference
