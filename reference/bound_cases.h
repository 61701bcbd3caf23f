// Random GEMMs of every model, mode and output, and what their errors are, for the test of bound.h.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>
#include <random>
#include <utility>

#include "reference/bound.h"
#include "reference/test_operands.h"

namespace samebits::reference {

// 113 bits: sums of a few thousand terms of 80 bits and fewer.
__extension__ using Real = __float128;

struct Case {
  Quantized a, b;
  Matrix c;
  Eigen::VectorXf bias;
  bool has_bias = false;
  float scale_d = 1;
  GemmSpec spec;

  GemmInputs inputs() const {
    return {.a = &a, .b = &b, .c = &c, .bias = has_bias ? &bias : nullptr};
  }
  Matrix run() const { return gemm(inputs(), spec); }
};

inline float scale_at(const Quantized& q, Eigen::Index row, Eigen::Index k) {
  const BlockGrid grid = block_grid(q.granularity, q.codes.rows(), q.codes.cols());
  return q.scale_inv(row / grid.block_rows, k / grid.block_cols);
}

// The exact result, up to 2^-112 of the sum of magnitudes; that sum is in `magnitude`.
inline Real exact_result(const Case& x, Eigen::Index m, Eigen::Index n, Real& magnitude) {
  Real sum = 0;
  magnitude = 0;
  for (Eigen::Index k = 0; k < x.a.codes.cols(); ++k) {
    const Real product = Real(fp8_value(x.a.codes(m, k), x.a.format)) *
                         fp8_value(x.b.codes(n, k), x.b.format) * scale_at(x.a, m, k) *
                         scale_at(x.b, n, k);
    sum += product;
    magnitude += product < 0 ? -product : product;
  }
  const auto absolute = [](Real v) { return v < 0 ? -v : v; };
  const Real c = x.spec.beta != 0 ? Real(x.spec.beta) * x.c(n, m) : 0;
  const Real bias = x.has_bias ? x.bias(m) : 0;
  magnitude = (magnitude * absolute(x.spec.alpha) + absolute(c) + absolute(bias)) *
              absolute(Real(x.scale_d));
  return (sum * x.spec.alpha + c + bias) * x.scale_d;
}

// |D - exact| / bound for every output, the largest; above 1 refutes the bound.
struct Judged {
  double worst_ratio = 0;  // error / bound
  double largest_error = 0;
  double largest_bound = 0;
  int bounded = 0, outputs = 0;

  bool holds() const { return worst_ratio <= 1; }
};

template <class Bound>
Judged judge(const Case& x, const Matrix& d, const Bound& bound_of) {
  Judged judged;
  for (Eigen::Index n = 0; n < d.rows(); ++n) {
    for (Eigen::Index m = 0; m < d.cols(); ++m) {
      const double bound = bound_of(m, n);
      ++judged.outputs;
      if (std::isinf(bound)) continue;
      ++judged.bounded;
      Real magnitude = 0;
      Real error = d(n, m) - exact_result(x, m, n, magnitude);
      if (error < 0) error = -error;
      error -= magnitude * Real(0x1p-95);  // this computation's own
      const double found = error > 0 ? static_cast<double>(error) : 0;
      judged.largest_error = std::max(judged.largest_error, found);
      judged.largest_bound = std::max(judged.largest_bound, bound);
      const double ratio = found == 0 ? 0 : found / bound;
      // NaN is a refutation too.
      if (!(ratio <= judged.worst_ratio)) judged.worst_ratio = ratio;
    }
  }
  return judged;
}
inline Judged judge(const Case& x) { return judge(x, x.run(), ErrorBound(x.inputs(), x.spec)); }

inline OperandNorms norms_of(const Quantized& q) {
  OperandNorms norms{q.granularity, q.format, 0, 0};
  for (const std::uint8_t code : q.codes.reshaped()) {
    norms.largest = std::max<double>(norms.largest, std::abs(fp8_value(code, q.format)));
  }
  for (const float scale : q.scale_inv.reshaped()) {
    norms.largest_scale = std::max<double>(norms.largest_scale, std::abs(scale));
  }
  return norms;
}
inline GemmNorms norms_of(const Case& x) {
  GemmNorms norms{.k = x.a.codes.cols(), .a = norms_of(x.a), .b = norms_of(x.b)};
  norms.sum_abs = 0;
  for (Eigen::Index m = 0; m < x.a.codes.rows(); ++m) {
    for (Eigen::Index n = 0; n < x.b.codes.rows(); ++n) {
      double sum = 0;
      for (Eigen::Index k = 0; k < x.a.codes.cols(); ++k) {
        sum += std::abs(static_cast<double>(fp8_value(x.a.codes(m, k), x.a.format)) *
                        fp8_value(x.b.codes(n, k), x.b.format));
      }
      norms.sum_abs = std::max(norms.sum_abs, sum);
    }
  }
  norms.sum_abs *= 1 + 0x1p-30;
  if (x.c.size() > 0) norms.largest_c = x.c.cwiseAbs().maxCoeff();
  if (x.has_bias) norms.largest_bias = x.bias.cwiseAbs().maxCoeff();
  return norms;
}
template <class T>
T one_of(std::mt19937& random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

inline AccumulationModel random_model(std::mt19937& random, bool blocks, bool mx) {
  const bool fast = !blocks && random() % 2 == 0;
  if (mx && random() % 2 == 0) return blackwell();
  if (random() % 6 == 0) return exact();
  AccumulationModel model = one_of(random, {hopper(fast), ada(fast)});
  model.block_exponents = mx;
  if (random() % 3 == 0) return model;
  model.products_per_sum =
      mx ? one_of(random, {1, 4, 16, 32}) : 1 + static_cast<int>(random() % 32);
  model.aligned_fraction_bits = static_cast<int>(random() % 33);
  model.result_fraction_bits = static_cast<int>(random() % 24);
  if (!blocks) model.promotion_interval = one_of(random, {0, 32, 64, 128, 256});
  model.normalise_products = random() % 2 == 0;
  model.aligned_cut = one_of(random, {Cut::kTowardZero, Cut::kFloor, Cut::kNearestEven});
  model.result_cut = one_of(random, {Cut::kTowardZero, Cut::kFloor, Cut::kNearestEven});
  return model;
}

// Any codes; small ones; one large product and small ones below it, where cuts are worst; sparse.
inline Codes random_row_kinds(std::mt19937& random, Eigen::Index rows, Eigen::Index k, Fp8 format) {
  Codes codes = random_codes(random, rows, k, format);
  for (Eigen::Index row = 0; row < rows; ++row) {
    const auto kind = random() % 5;
    const std::uint8_t mask = one_of<std::uint8_t>(random, {0x87, 0x8f, 0x9f, 0xbf});
    const auto place = static_cast<Eigen::Index>(random() % static_cast<std::uint64_t>(k));
    for (Eigen::Index i = 0; i < k; ++i) {
      std::uint8_t& code = codes(row, i);
      if (kind == 1) code &= mask;
      if (kind == 2) code = i == place ? 0x60 : (code & 0x07) + (mask & 0x38);
      if (kind == 3 && random() % 8 != 0) code = 0;
      if (kind == 4) code &= 0x7f;
    }
  }
  return codes;
}

inline Quantized random_operand(std::mt19937& random, Eigen::Index rows, Eigen::Index k,
                                Granularity granularity, Fp8 format) {
  Quantized q = with_unit_scales(random_row_kinds(random, rows, k, format), granularity, format);
  const int spread = one_of(random, {0, 4, 30});
  q.scale_inv = q.scale_inv.unaryExpr([&](float) {
    const int exponent = static_cast<int>(random() % (2 * spread + 1)) - spread;
    const bool power = granularity == Granularity::k1x32 || random() % 2 == 0;
    const float sign = granularity == Granularity::k1x32 || random() % 8 != 0 ? 1 : -1;
    return sign * std::ldexp(power ? 1 : 1 + static_cast<float>(random() % 4096) / 4096, exponent);
  });
  return q;
}

inline float bf16(float value) { return cast(value, OutputType::kBF16); }
inline float any_value(std::mt19937& random) {
  return std::ldexp(static_cast<float>(random() % 65536) - 32768,
                    -8 - static_cast<int>(random() % 16));
}

inline Case random_case(std::uint32_t seed) {
  std::mt19937 random(seed);
  Case x;
  const auto k = 1 + static_cast<Eigen::Index>(random() % 700);
  const auto [mode_a, mode_b] = one_of<std::pair<Granularity, Granularity>>(
      random, {{Granularity::kTensor, Granularity::kTensor},
               {Granularity::kRow, Granularity::kRow},
               {Granularity::k1x128, Granularity::k1x128},
               {Granularity::k128x128, Granularity::k1x128},
               {Granularity::k1x128, Granularity::k128x128},
               {Granularity::k1x32, Granularity::k1x32}});
  const Fp8 format_a = random() % 3 == 0 ? Fp8::kE5M2 : Fp8::kE4M3;
  const Fp8 format_b = format_a == Fp8::kE4M3 && random() % 2 == 0 ? Fp8::kE5M2 : Fp8::kE4M3;
  x.a = random_operand(random, 3, k, mode_a, format_a);
  x.b = random_operand(random, 2, k, mode_b, format_b);
  x.spec.model =
      random_model(random, mode_a == Granularity::k1x128 || mode_a == Granularity::k128x128,
                   mode_a == Granularity::k1x32);
  x.spec.output = one_of(random, {OutputType::kFP32, OutputType::kFP32, OutputType::kBF16,
                                  OutputType::kFP16, OutputType::kE4M3});
  if (random() % 2 == 0) x.spec.alpha = any_value(random);
  if (x.spec.output != OutputType::kE4M3) {
    x.spec.beta = one_of<float>(random, {0, 0, 1, 0.3f});
    x.spec.in_place = random() % 2 == 0;
  } else if (random() % 2 == 0) {
    x.scale_d = any_value(random);
  }
  if (random() % 3 == 0)
    x.spec.split_k = 1 + static_cast<int>(random() % std::min<Eigen::Index>(k, 9));
  x.c = Matrix(2, 3).unaryExpr([&](float) { return cast(any_value(random), x.spec.output); });
  x.has_bias = random() % 3 == 0;
  x.bias = Eigen::VectorXf(3).unaryExpr([&](float) {
    return x.spec.output == OutputType::kFP16 ? cast(any_value(random), x.spec.output)
                                              : bf16(any_value(random));
  });
  return x;
}

// With the D scale in place: it is pointed to.
inline void aim(Case& x) {
  if (x.spec.output == OutputType::kE4M3) x.spec.scale_d = &x.scale_d;
}

}  // namespace samebits::reference
