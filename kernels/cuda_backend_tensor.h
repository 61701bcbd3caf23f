// What a Tensor of the CUDA backend is, and the harness's names in the kernels' terms.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/error.h"
#include "harness/core/recipe.h"
#include "harness/core/tensor.h"
#include "kernels/device/pool.h"
#include "kernels/quantize_arguments.h"
#include "kernels/scale_layout.h"

namespace samebits::kernels {

inline Format format_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return Format::kFP32;
    case DType::kBF16:
      return Format::kBF16;
    case DType::kF16:
      return Format::kFP16;
    case DType::kF8E4M3:
      return Format::kE4M3;
    case DType::kF8E5M2:
      return Format::kE5M2;
    case DType::kF8E8M0:
      return Format::kE8M0;
    default:
      throw Error("the CUDA backend has no " + std::string(dtype_name(dtype)));
  }
}

inline ScaleMode mode_of(samebits::ScaleMode mode) {
  switch (mode) {
    case samebits::ScaleMode::kRow:
      return ScaleMode::kRow;
    case samebits::ScaleMode::k1x128:
      return ScaleMode::k1x128;
    case samebits::ScaleMode::k128x128:
      return ScaleMode::k128x128;
    case samebits::ScaleMode::k1x32:
      return ScaleMode::k1x32;
    case samebits::ScaleMode::kTensor:
      break;
  }
  return ScaleMode::kTensor;
}

// What a Tensor of this backend is. Scales lie as the GEMM library wants them.
struct DeviceStorage : Storage {
  Pool::Handle buffer;
  ScaleLayout layout = ScaleLayout::kPlain;
};

inline DeviceStorage& storage_of(const Tensor& tensor) {
  return static_cast<DeviceStorage&>(*tensor.storage);
}

template <class T = std::uint8_t>
T* pointer(const Tensor& tensor) {
  return tensor ? storage_of(tensor).buffer->as<T>() : nullptr;
}

inline std::size_t bytes_of(DType dtype, std::int64_t elements) {
  return static_cast<std::size_t>(elements) * static_cast<std::size_t>(dtype_bits(dtype)) / 8;
}

inline MatrixView view(const Tensor& tensor) {
  return {pointer(tensor), format_of(tensor.dtype), tensor.shape.at(0), tensor.shape.at(1)};
}

}  // namespace samebits::kernels
