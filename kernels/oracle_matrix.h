// A matrix of a training step on the device, quantised both ways.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/device/buffer.h"
#include "kernels/gemm_problem.h"
#include "kernels/oracle_inputs.h"
#include "kernels/quantize_128x128.h"
#include "kernels/quantize_1x128.h"
#include "kernels/quantize_tensorwise.h"

namespace samebits::kernels {

inline Buffer bytes(std::int64_t count, cudaStream_t stream) {
  return Buffer(static_cast<std::size_t>(count), stream);
}

// A BF16 matrix [rows, cols] of a fixed sequence, and its two quantised copies.
class Matrix {
 public:
  Matrix(std::int64_t rows, std::int64_t cols, std::uint64_t seed, cudaStream_t stream)
      : rows_(rows),
        cols_(cols),
        stream_(stream),
        source_(bytes(2 * rows * cols, stream)),
        row_(bytes(rows * cols, stream)),
        col_(bytes(rows * cols, stream)),
        row_scale_(bytes(4 * scale_count(rows, cols), stream)),
        col_scale_(bytes(4 * scale_count(cols, rows), stream)),
        cells_(bytes(2 * sizeof(float), stream)) {
    fill_bf16(source_.as<std::uint16_t>(), rows * cols, seed, stream);
  }

  // Both copies; mode is kTensor, k1x128 or k128x128.
  void quantize(ScaleMode mode, Format format, const ScaleOptions& options) {
    const MatrixView x{source_.data(), Format::kBF16, rows_, cols_};
    const Quantized<float> row{row_.data(), row_scale_.as<float>()},
        col{col_.data(), col_scale_.as<float>()};
    mode_ = mode;
    format_ = format;
    if (mode == ScaleMode::k1x128) return quantize_1x128(x, format, options, row, col, stream_);
    if (mode == ScaleMode::k128x128) return quantize_128x128(x, format, options, row, col, stream_);
    const TensorwiseCodes codes{format, row.codes, col.codes, row.scale_inv};
    quantize_tensorwise(x, options, cells_.as<float>(), cells_.as<float>() + 1, codes, stream_);
  }

  struct Operand {
    const std::uint8_t* codes;
    const float* scales;
    ScaleMode mode;
    Format format;
    std::int64_t rows, k;
  };
  Operand rowwise() const {
    return {row_.data(), row_scale_.as<float>(), mode_, format_, rows_, cols_};
  }
  Operand columnwise() const {  // one scale a tensor serves both directions
    const Buffer& scale = mode_ == ScaleMode::kTensor ? row_scale_ : col_scale_;
    return {col_.data(), scale.as<float>(), mode_, format_, cols_, rows_};
  }

 private:
  static std::int64_t scale_count(std::int64_t rows, std::int64_t k) {
    return std::max(scale_count_1x128(rows, k), scale_count_128x128(rows, k));
  }

  std::int64_t rows_, cols_;
  cudaStream_t stream_;
  Buffer source_, row_, col_, row_scale_, col_scale_, cells_;
  ScaleMode mode_ = ScaleMode::kTensor;
  Format format_ = Format::kE4M3;
};

}  // namespace samebits::kernels
