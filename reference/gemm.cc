#include "reference/gemm.h"

#include <algorithm>

#include "reference/accumulation.h"
#include "reference/gemm_check.h"
#include "reference/parallel.h"

namespace samebits::reference {
namespace {

constexpr std::int64_t kProductsPerThread = 1 << 18;

}  // namespace

Matrix gemm(const GemmInputs& in, const GemmSpec& spec) {
  check_gemm(in, spec);
  const Accumulation accumulation(*in.a, *in.b, spec);
  const Epilogue epilogue = make_epilogue(in, spec);
  const Eigen::Index m_count = in.a->codes.rows(), n_count = in.b->codes.rows();

  Matrix d(n_count, m_count);
  const std::int64_t grain = kProductsPerThread / std::max<Eigen::Index>(1, in.a->codes.cols());
  parallel_for(spec.threads, n_count * m_count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Eigen::Index n = i / m_count, m = i % m_count;
      const float c = spec.beta != 0 ? (*in.c)(n, m) : 0;
      const float bias = in.bias != nullptr ? (*in.bias)(m) : 0;
      d(n, m) = epilogue(accumulation(m, n), c, bias);
    }
  });
  return d;
}

std::int64_t summed_k(std::int64_t k, int split_k, Granularity a, Granularity b) {
  return std::min(k, split_k * slice_length(k, split_k, a, b));
}

}  // namespace samebits::reference
