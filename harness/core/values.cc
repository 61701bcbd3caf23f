#include "harness/core/values.h"

#include <fmt/format.h>

#include <cmath>

#include "harness/core/error.h"
#include "reference/formats.h"

namespace samebits {

std::uint64_t bits_at(const HostTensor& tensor, std::int64_t index) {
  switch (dtype_bits(tensor.dtype)) {
    case 8:
      return tensor.at<std::uint8_t>(index);
    case 16:
      return tensor.at<std::uint16_t>(index);
    case 32:
      return tensor.at<std::uint32_t>(index);
    case 64:
      return tensor.at<std::uint64_t>(index);
    default:
      throw Error(std::string(dtype_name(tensor.dtype)) + " elements do not fill whole bytes");
  }
}

double value_at(const HostTensor& tensor, std::int64_t index) {
  switch (tensor.dtype) {
    case DType::kF64:
      return tensor.at<double>(index);
    case DType::kF32:
      return tensor.at<float>(index);
    case DType::kF16:
      return reference::FP16::from_bits(tensor.at<std::uint16_t>(index)).value();
    case DType::kBF16:
      return reference::BF16::from_bits(tensor.at<std::uint16_t>(index)).value();
    case DType::kF8E4M3:
      return reference::E4M3::from_bits(tensor.at<std::uint8_t>(index)).value();
    case DType::kF8E5M2:
      return reference::E5M2::from_bits(tensor.at<std::uint8_t>(index)).value();
    case DType::kF8E8M0:
      return reference::E8M0::from_bits(tensor.at<std::uint8_t>(index)).value();
    default:
      throw Error(std::string(dtype_name(tensor.dtype)) + " is not read as a number");
  }
}

bool is_float(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kF8E8M0:
      return true;
    default:
      return false;
  }
}

std::string bits_text(const HostTensor& tensor, std::int64_t index) {
  return fmt::format("0x{:0{}x}", bits_at(tensor, index), dtype_bits(tensor.dtype) / 4);
}

std::string value_text(double value) {
  if (std::isnan(value)) return "nan";
  return fmt::format("{}", value);
}

std::uint16_t to_bf16(double value) {
  return reference::BF16::round(value, reference::Rounding::kNearestEven,
                                reference::Overflow::kToInfinityOrNan)
      .bits();
}

std::int64_t count_non_finite(const HostTensor& tensor) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < element_count(tensor.shape); ++i)
    count += !std::isfinite(value_at(tensor, i));
  return count;
}

}  // namespace samebits
