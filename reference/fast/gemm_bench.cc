// How fast the fast GEMM is: beside the plain form and beside Eigen's FP32 product, in one run on
// one core, gaussian E4M3 operands; and from one core to two. Samples are interleaved, the least
// time counts. The last line is for machines.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "reference/fast/cast.h"
#include "reference/fast/eigen_product.h"
#include "reference/fast/gemm.h"
#include "reference/fast/isa.h"
#include "reference/formats.h"

namespace samebits::reference {
namespace {

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Contender {
  std::string name;
  double units;  // of work, in 1e9
  int rounds;    // it takes part in
  std::function<void()> work;
  double least = std::numeric_limits<double>::infinity();

  double rate() const { return units / least; }
};

void race(std::vector<Contender>& contenders) {
  int rounds = 0;
  for (const Contender& c : contenders) rounds = std::max(rounds, c.rounds);
  for (int round = 0; round < rounds; ++round) {
    for (Contender& c : contenders) {
      if (round < c.rounds) c.least = std::min(c.least, seconds(c.work));
    }
  }
}

Matrix gaussian(Eigen::Index rows, Eigen::Index cols, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Matrix matrix(rows, cols);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = normal(generator);
  return matrix;
}

// All 2^32 FP32 patterns through `cast`, block by block; the time of the casts alone.
double cast_all(const std::function<void(const float*, std::int64_t, std::uint8_t*)>& cast) {
  constexpr std::int64_t kBlock = 1 << 16;
  std::vector<float> values(kBlock);
  std::vector<std::uint8_t> codes(kBlock);
  double total = 0;
  for (std::int64_t first = 0; first < std::int64_t{1} << 32; first += kBlock) {
    for (std::int64_t i = 0; i < kBlock; ++i) {
      const auto bits = static_cast<std::uint32_t>(first + i);
      std::memcpy(&values[static_cast<std::size_t>(i)], &bits, sizeof bits);
    }
    total += seconds([&] { cast(values.data(), kBlock, codes.data()); });
  }
  return total;
}

void bench_casts() {
  const double plain = cast_all([](const float* x, std::int64_t count, std::uint8_t* codes) {
    for (std::int64_t i = 0; i < count; ++i) codes[i] = E4M3::saturate(x[i]).bits();
  });
  const double quick = cast_all([](const float* x, std::int64_t count, std::uint8_t* codes) {
    fast::cast(x, count, 1, Fp8::kE4M3, codes);
  });
  std::printf("all 2^32 FP32 to E4M3, one core: fast %.2f s, plain %.2f s\n", quick, plain);
}

void bench_gemm(Eigen::Index size) {
  const QuantizeSpec rule{.granularity = Granularity::k1x128};
  const Matrix x = gaussian(size, size, 1), y = gaussian(size, size, 2);
  const Quantized a = quantize(x, rule), b = quantize(y, rule);
  const GemmInputs in{.a = &a, .b = &b};
  const auto spec = [](int threads) {
    GemmSpec result;
    result.threads = threads;
    return result;
  };
  // The plain form on 64 rows of B: its rate does not depend on the count.
  const Quantized few = quantize(y.topRows(64), rule);
  const GemmInputs few_in{.a = &a, .b = &few};

  const double n = static_cast<double>(size), products = n * n * n / 1e9;
  Matrix eigen(size, size);
  std::vector<Contender> contenders{
      {"fast, one core", products, 15, [&] { fast::gemm(in, spec(1)); }},
      {"Eigen float", products, 15, [&] { eigen_product(y, x, eigen); }},
      {"fast, two cores", products, 15, [&] { fast::gemm(in, spec(2)); }},
      {"plain", products * 64 / n, 7, [&] { gemm(few_in, spec(1)); }},
  };
  race(contenders);
  std::printf("%d^3 gaussian E4M3, 1x128 scales, %s\n", static_cast<int>(size),
              std::string(fast::name(fast::chosen())).c_str());
  for (const Contender& c : contenders) {
    std::printf("  %-16s %7.2f G products a second\n", c.name.c_str(), c.rate());
  }
  std::printf("over_plain=%.1f over_eigen=%.3f two_cores=%.2f\n",
              contenders[0].rate() / contenders[3].rate(),
              contenders[0].rate() / contenders[1].rate(),
              contenders[2].rate() / contenders[0].rate());
}

}  // namespace
}  // namespace samebits::reference

int main(int argc, char** argv) {
  const std::string option = argc == 2 ? argv[1] : "";
  if (argc > 2 || (argc == 2 && option != "--summary")) {
    std::fprintf(stderr, "usage: gemm_bench [--summary]\n");
    return 2;
  }
  if (option.empty()) samebits::reference::bench_casts();
  samebits::reference::bench_gemm(1024);
}
