#include "kernels/quantize_1x32.h"
#include "kernels/quantize_1xn.cuh"

namespace samebits::kernels {
namespace {

struct Block1x32 {
  static constexpr int kLength = 32;
  using Scale = std::uint8_t;

  template <class Source, class Target>
  static __device__ BlockScale<std::uint8_t> scale(float amax, const ScaleOptions&) {
    const std::uint32_t exponent = mx_exponent<Target>(amax);
    return {power_of_two(254 - exponent), static_cast<std::uint8_t>(exponent)};
  }
  static __device__ std::int64_t index(std::int64_t row, std::int64_t block, std::int64_t,
                                       std::int64_t cols) {
    return row * ((cols + kLength - 1) / kLength) + block;
  }
};

}  // namespace

void quantize_1x32(const MatrixView& x, Format target, const Quantized<std::uint8_t>& rowwise,
                   const Quantized<std::uint8_t>& columnwise, cudaStream_t stream) {
  const Blocks1xN<Block1x32> to{x.rows, x.cols, {}, rowwise, columnwise};
  quantize_1xn("quantize_1x32", x, target, to, stream);
}

}  // namespace samebits::kernels
