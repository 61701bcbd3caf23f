#include "kernels/quantize_1x128.h"
#include "kernels/quantize_1xn.cuh"

namespace samebits::kernels {
namespace {

struct Block1x128 {
  static constexpr int kLength = 128;
  using Scale = float;

  template <class Source, class Target>
  static __device__ BlockScale<float> scale(float amax, const ScaleOptions& options) {
    const ScalePair pair = scale_from_amax<Target>(amax, options, Source::kLargest);
    return {pair.scale, pair.inverse};
  }
  static __device__ std::int64_t index(std::int64_t row, std::int64_t block, std::int64_t rows,
                                       std::int64_t) {
    return block * ((rows + 3) / 4 * 4) + row;
  }
};

}  // namespace

void quantize_1x128(const MatrixView& x, Format target, const ScaleOptions& options,
                    const Quantized<float>& rowwise, const Quantized<float>& columnwise,
                    cudaStream_t stream) {
  const Blocks1xN<Block1x128> to{x.rows, x.cols, options, rowwise, columnwise};
  quantize_1xn("quantize_1x128", x, target, to, stream);
}

}  // namespace samebits::kernels
