#include "reference/bound_steps.h"

#include <algorithm>
#include <cmath>

#include "reference/accumulation.h"
#include "reference/formats.h"
#include "reference/operand.h"

namespace samebits::reference {
namespace {

constexpr double kLeastNormal = 0x1p-126;
constexpr double kBeyondFp32 = 0x1p128;

double share(Cut how) { return how == Cut::kNearestEven ? 0.5 : 1; }

// A source with a limit gives numbers that are all spread.
Approximate limited(Approximate x, double limit) {
  x.spread = std::min(x.spread, limit);
  return x;
}

// The steps of gemm.cc and tensor_core.cc on approximate numbers.
class Follower {
 public:
  Follower(const ProductSource& source, const GemmShape& shape, const AccumulationModel& model,
           int split_k)
      : source_(source), shape_(shape), model_(model), split_k_(split_k) {}

  // u of the epilogue.
  Approximate total() const {
    const Approximate sum = model_.exact ? rounded(exact_sum(0, shape_.k)) : sum_of_slices();
    if (shape_.a != Granularity::kRow) return sum;
    return rounded(rounded(sum * source_.scale_a(0)) * source_.scale_b(0));
  }

 private:
  Approximate sum_of_slices() const {
    const std::int64_t k = shape_.k;
    const std::int64_t length = slice_length(k, split_k_, shape_.a, shape_.b);
    Approximate total = slice(0, std::min(k, length));
    std::int64_t done = std::min(k, length);
    for (int j = 1; j < split_k_ && done < k; ++j) {
      const std::int64_t end = std::min(k, done + length);
      total = rounded(total + slice(done, end));
      done = end;
    }
    const Approximate lost = exact_sum(done, k);
    total = total + Approximate{lost.value, lost.spread, lost.exact_magnitude()};
    return limited(total, limit());
  }

  Approximate slice(std::int64_t begin, std::int64_t end) const {
    const bool blocks = is_block_mode(shape_.a);
    const std::int64_t interval = blocks ? kScaleBlock : model_.promotion_interval;
    if (interval == 0) return chain(begin, end);
    Approximate total;
    for (std::int64_t k = begin; k < end; k += interval) {
      const Approximate p = chain(k, std::min(end, k + interval));
      if (blocks) {
        total = rounded(total + scaled(p, k));
      } else {
        total = k == begin ? p : rounded(total + p);
      }
      total = limited(total, limit());
    }
    return total;
  }

  // Of one block; the sum that follows is part of the same fma.
  Approximate scaled(const Approximate& p, std::int64_t k) const {
    const Approximate a = source_.scale_a(k), b = source_.scale_b(k);
    const bool rows = shape_.a == Granularity::k1x128 && shape_.b == Granularity::k1x128;
    return rows ? a * rounded(b * p) : rounded(a * b) * p;
  }

  Approximate chain(std::int64_t begin, std::int64_t end) const {
    Approximate c;
    for (std::int64_t k = begin; k < end; k += model_.products_per_sum) {
      c = fused_sum(c, source_.group(k, std::min<std::int64_t>(end, k + model_.products_per_sum)));
    }
    return c;
  }

  Approximate fused_sum(const Approximate& c, const Group& group) const {
    const bool has_c = c.magnitude() > 0;
    if (!has_c && group.terms == 0) return c;
    const double largest_c = has_c ? std::max(c.magnitude(), kLeastNormal) : 0;
    const double unit =
        std::ldexp(std::max(group.largest, largest_c), -model_.aligned_fraction_bits);

    Approximate sum = limited(c + group.sum, source_.limit());
    sum.error += share(model_.aligned_cut) * unit * static_cast<double>(group.terms + has_c);
    const double last_bit =
        std::ldexp(std::max(sum.magnitude(), kLeastNormal), -model_.result_fraction_bits);
    sum.error += share(model_.result_cut) * last_bit;
    if (!(sum.magnitude() < kBeyondFp32)) sum.error = std::numeric_limits<double>::infinity();
    return sum;
  }

  // Of the products and, in block modes, their scales.
  Approximate exact_sum(std::int64_t begin, std::int64_t end) const {
    const bool blocks = is_block_mode(shape_.a);
    Approximate sum;
    for (std::int64_t k = begin, next = 0; k < end; k = next) {
      next = std::min(end, (k / kBlockOf32 + 1) * kBlockOf32);
      const Approximate products = source_.group(k, next).sum;
      sum = sum + (blocks ? source_.scale_a(k) * source_.scale_b(k) * products : products);
    }
    return limited(sum, limit());
  }

  double limit() const {
    if (!is_block_mode(shape_.a)) return source_.limit();
    const double scales =
        source_.scale_a(0).exact_magnitude() * source_.scale_b(0).exact_magnitude();
    return std::isfinite(source_.limit()) ? source_.limit() * scales : source_.limit();
  }

  const ProductSource& source_;
  const GemmShape& shape_;
  const AccumulationModel& model_;
  int split_k_;
};

Precision precision(OutputType type) {
  switch (type) {
    case OutputType::kFP32:
      break;
    case OutputType::kBF16:
      return {0x1p-8, 0x1p-134, BF16::max().value()};
    case OutputType::kFP16:
      return {0x1p-11, 0x1p-25, FP16::max().value()};
    case OutputType::kE4M3:
      return {0x1p-4, 0x1p-10, E4M3::max().value(), true};
    case OutputType::kE5M2:
      return {0x1p-3, 0x1p-17, E5M2::max().value(), true};
  }
  return kFp32Precision;
}

// Of epilogue.cc.
struct Tail {
  const GemmSpec& spec;
  const Approximate &factor, &c;
  const Approximate* bias;

  Approximate operator()(const Approximate& u) const {
    const Approximate beta = exactly(spec.beta);
    if (spec.split_k > 1) {
      const Approximate product = scaled(u);
      return store(plus_bias(spec.beta != 0 ? rounded(product + beta * c) : product));
    }
    const bool accumulates_in_place = spec.beta == 1 && spec.in_place;
    if (spec.beta != 0 && !accumulates_in_place) {
      return store(plus_bias(rounded(factor * u + rounded(beta * c))));
    }
    const Approximate value = plus_bias(scaled(u));
    return accumulates_in_place ? store(rounded(c + store(value))) : store(value);
  }

 private:
  // A factor of 1 rounds nothing.
  Approximate scaled(const Approximate& u) const {
    return factor.is_known() && factor.value == 1 ? u : rounded(factor * u);
  }
  Approximate plus_bias(const Approximate& x) const {
    return bias != nullptr ? rounded(x + *bias) : x;
  }
  Approximate store(const Approximate& x) const {
    if (spec.output == OutputType::kFP32) return x;
    const bool scales = spec.scale_d != nullptr;
    return rounded(scales ? rounded(x * exactly(*spec.scale_d)) : x, precision(spec.output));
  }
};

}  // namespace

Approximate follow_gemm(const ProductSource& source, const GemmShape& shape, const GemmSpec& spec,
                        const Approximate& c, const Approximate* bias) {
  Approximate factor = exactly(spec.alpha);
  if (shape.a == Granularity::kTensor) {
    factor = rounded(rounded(factor * source.scale_a(0)) * source.scale_b(0));
  }
  const Follower follower(source, shape, spec.model, spec.split_k);
  return Tail{spec, factor, c, bias}(follower.total());
}

}  // namespace samebits::reference
