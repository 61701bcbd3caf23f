#include "reference/fast/gemm.h"

#include <algorithm>
#include <cfenv>
#include <vector>

#include "reference/accumulation.h"
#include "reference/fast/isa.h"
#include "reference/fast/panel.h"
#include "reference/fast/store.h"
#include "reference/gemm_check.h"
#include "reference/mutants.h"
#include "reference/parallel.h"

namespace samebits::reference::fast {
namespace {

using Eigen::Index;

// Packing costs as much as using a packed element a hundred times.
constexpr Index kTileM = 512, kLeastTileN = 64, kMostTileN = 1024;
constexpr std::int64_t kProductsPerThread = 1 << 20, kOutputsPerThread = 1 << 16;

// The kernels that cut need it, and no other code may run in it.
class RoundingDownward {
 public:
  RoundingDownward() {
    std::fesetround(mutant("fast: rounds to nearest") ? FE_TONEAREST : FE_DOWNWARD);
  }
  ~RoundingDownward() { std::fesetround(FE_TONEAREST); }
  RoundingDownward(const RoundingDownward&) = delete;
  RoundingDownward& operator=(const RoundingDownward&) = delete;
};

Index blocks(Index count, Index size) { return (count + size - 1) / size; }

// Rows of A, a kernel's lanes at a time, against rows of B: their accumulations over all of K.
class Tile {
 public:
  Tile(const Quantized& a, const Quantized& b, const GemmSpec& spec, const Kernels& kernels)
      : a_(a), b_(b), spec_(spec), kernels_(kernels), scale_m_(lanes()) {}

  // u of the epilogue into `d` [n, m], for `rows_a` rows of A from `m` on and `rows_b` rows of B
  // from `n` on.
  void run(Index m, Index rows_a, Index n, Index rows_b, Matrix& d) {
    m_ = m;
    n_ = n;
    rows_a_ = rows_a;
    rows_b_ = rows_b;
    const int group = spec_.model.products_per_sum;
    panels_a_.resize(static_cast<std::size_t>(blocks(rows_a, kernels_.lanes)),
                     Panel(kernels_, kernels_.lanes, group));
    panels_b_.resize(static_cast<std::size_t>(blocks(rows_b, kernels_.rows)),
                     Panel(kernels_, kernels_.rows, group));
    const std::size_t size = panels_a_.size() * panels_b_.size() * block_size();
    const std::int64_t k = a_.codes.cols();
    const auto length = slice_length(k, spec_.split_k, a_.granularity, b_.granularity);
    total_.assign(size, 0);
    slice(0, std::min(k, length), total_);
    for (int j = 1; j < spec_.split_k && j * length < k; ++j) {
      slice_total_.assign(size, 0);
      slice(j * length, std::min(k, (j + 1) * length), slice_total_);
      kernels_.add(slice_total_.data(), total_.data(), static_cast<std::int64_t>(size));
    }
    store(d);
  }

 private:
  std::size_t lanes() const { return static_cast<std::size_t>(kernels_.lanes); }
  std::size_t block_size() const { return lanes() * static_cast<std::size_t>(kernels_.rows); }
  // Where the values of a row of B against a panel of A lie.
  std::size_t at(std::size_t panel_a, Index row_b) const {
    return panel_a * panels_b_.size() * block_size() + static_cast<std::size_t>(row_b) * lanes();
  }

  void slice(std::int64_t begin, std::int64_t end, std::vector<float>& total) {
    const std::int64_t interval = spec_.model.promotion_interval;
    const std::int64_t step = interval == 0 ? std::max<std::int64_t>(1, end - begin) : interval;
    for (std::int64_t k = begin; k < end; k += step) {
      c_.assign(total.size(), 0);
      for (std::int64_t at = k; at < std::min(end, k + step); at += Panel::kLength) {
        chain(at, static_cast<int>(std::min({Panel::kLength + at, end, k + step}) - at));
      }
      promote(k, total);
    }
  }

  // Goes on with the chains of c_ over [begin, begin + length).
  void chain(std::int64_t begin, int length) {
    for (std::size_t i = 0; i < panels_a_.size(); ++i) {
      panels_a_[i].pack(a_, m_ + static_cast<Index>(i * lanes()), begin, length);
    }
    for (std::size_t i = 0; i < panels_b_.size(); ++i) {
      panels_b_[i].pack(b_, n_ + static_cast<Index>(i) * kernels_.rows, begin, length);
    }
    const int group = spec_.model.products_per_sum;
    const int kept = spec_.model.result_fraction_bits + (mutant("fast: keeps a bit more") ? 1 : 0);
    const std::uint32_t mask = ~0U << (23 - kept);
    const RoundingDownward guard;
    float* c = c_.data();
    for (const Panel& panel_a : panels_a_) {
      for (int k = 0; k < length; k += group) {
        const PanelGroup lanes = panel_a.group(k);
        float* block = c;
        for (const Panel& panel_b : panels_b_) {
          kernels_.fused_sums(panel_b.group(k), lanes,
                              mutant("fast: stale tail of K") ? group : std::min(group, length - k),
                              spec_.model.aligned_fraction_bits, mask, block);
          block += block_size();
        }
      }
      c += panels_b_.size() * block_size();
    }
  }

  // Adds the chains from `k` on to the total, scaled where scales come in blocks of K.
  void promote(std::int64_t k, std::vector<float>& total) {
    if (!is_block_mode(a_.granularity)) {
      kernels_.add(c_.data(), total.data(), static_cast<std::int64_t>(c_.size()));
      return;
    }
    const bool both_1x128 =
        a_.granularity == Granularity::k1x128 && b_.granularity == Granularity::k1x128;
    const auto add_block = both_1x128 ? kernels_.add_1x128 : kernels_.add_128x128;
    for (std::size_t i = 0; i < panels_a_.size(); ++i) {
      const Index m =
          m_ + static_cast<Index>(mutant("fast: scales of the first panel") ? 0 : i * lanes());
      for (Index lane = 0; lane < lanes_of(i); ++lane) {
        scale_m_[static_cast<std::size_t>(lane)] = block_scale(a_, m + lane, k);
      }
      for (Index row = 0; row < rows_b_; ++row) {
        add_block(&c_[at(i, row)], scale_m_.data(), block_scale(b_, n_ + row, k),
                  &total[at(i, row)]);
      }
    }
  }

  void store(Matrix& d) const {
    const bool rowwise = a_.granularity == Granularity::kRow;
    for (std::size_t i = 0; i < panels_a_.size(); ++i) {
      const Index m = m_ + static_cast<Index>(i * lanes());
      for (Index row = 0; row < rows_b_; ++row) {
        const float* total = &total_[at(i, row)];
        float* u = &d(n_ + row, m);
        for (Index lane = 0; lane < lanes_of(i); ++lane) {
          u[lane] = total[lane];
          if (rowwise) u[lane] = u[lane] * a_.scale_inv(m + lane) * b_.scale_inv(n_ + row);
        }
      }
    }
  }

  // Lanes of a panel that are rows of A.
  Index lanes_of(std::size_t panel) const {
    return std::min<Index>(kernels_.lanes, rows_a_ - static_cast<Index>(panel * lanes()));
  }

  const Quantized& a_;
  const Quantized& b_;
  const GemmSpec& spec_;
  const Kernels& kernels_;
  std::vector<Panel> panels_a_, panels_b_;
  std::vector<float> scale_m_;                  // [lanes]
  std::vector<float> c_, slice_total_, total_;  // [panels of A][rows of B][lanes]
  Index m_ = 0, n_ = 0, rows_a_ = 0, rows_b_ = 0;
};

// The kernels count NaN and Inf as zeros.
void redo_what_is_not_finite(const GemmInputs& in, const GemmSpec& spec, Matrix& d) {
  const std::vector<char> in_a = rows_not_finite(*in.a), in_b = rows_not_finite(*in.b);
  const auto any = [](const std::vector<char>& rows) {
    return std::ranges::find(rows, 1) != rows.end();
  };
  if ((!any(in_a) && !any(in_b)) || mutant("fast: NaN counts as zero")) return;
  const Accumulation accumulation(*in.a, *in.b, spec);
  parallel_for(spec.threads, d.rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (Index n = begin; n < end; ++n) {
      for (Index m = 0; m < d.cols(); ++m) {
        if (in_a[static_cast<std::size_t>(m)] != 0 || in_b[static_cast<std::size_t>(n)] != 0) {
          d(n, m) = accumulation(m, n);
        }
      }
    }
  });
}

}  // namespace

bool covers(const AccumulationModel& model) {
  const int products = model.products_per_sum;
  return !model.exact && !model.normalise_products && !model.block_exponents &&
         model.aligned_cut == Cut::kTowardZero && model.result_cut == Cut::kTowardZero &&
         model.aligned_fraction_bits <= kMostAlignedBits && Panel::kLength % products == 0 &&
         model.promotion_interval % products == 0;
}

Matrix gemm(const GemmInputs& in, const GemmSpec& spec) {
  check_gemm(in, spec);
  if (!covers(spec.model)) return reference::gemm(in, spec);
  const Kernels& kernels = kernels_of(chosen());
  const Index m_count = in.a->codes.rows(), n_count = in.b->codes.rows();
  const std::int64_t k = std::max<Index>(1, in.a->codes.cols());

  const int threads = thread_count(spec.threads);
  const Index tiles_m = blocks(m_count, kTileM);
  const Index tile_n = std::clamp(blocks(n_count * tiles_m, threads * kLeastTileN) * kLeastTileN,
                                  kLeastTileN, kMostTileN);
  const Index tiles_n = blocks(n_count, tile_n);
  Matrix d(n_count, m_count);
  const std::int64_t grain = kProductsPerThread / (k * kTileM * tile_n) + 1;
  parallel_for(threads, tiles_m * tiles_n, grain, [&](std::int64_t begin, std::int64_t end) {
    Tile tile(*in.a, *in.b, spec, kernels);
    for (std::int64_t i = begin; i < end; ++i) {
      const Index m = i / tiles_n * kTileM, n = i % tiles_n * tile_n;
      tile.run(m, std::min(kTileM, m_count - m), n, std::min(tile_n, n_count - n), d);
    }
  });
  redo_what_is_not_finite(in, spec, d);

  const Epilogue epilogue = make_epilogue(in, spec);
  parallel_for(spec.threads, n_count, kOutputsPerThread / std::max<Index>(1, m_count) + 1,
               [&](std::int64_t begin, std::int64_t end) {
                 for (Index n = begin; n < end; ++n) {
                   store_row(epilogue, spec.beta != 0 ? in.c->row(n).data() : nullptr,
                             in.bias != nullptr ? in.bias->data() : nullptr, m_count,
                             d.row(n).data());
                 }
               });
  return d;
}

}  // namespace samebits::reference::fast
