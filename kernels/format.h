// The element types that the kernels know.
#pragma once

#include <cstdint>

namespace samebits::kernels {

enum class Format { kFP32, kBF16, kFP16, kE4M3, kE5M2, kE8M0 };

constexpr std::int64_t size_of(Format format) {
  switch (format) {
    case Format::kFP32:
      return 4;
    case Format::kBF16:
    case Format::kFP16:
      return 2;
    case Format::kE4M3:
    case Format::kE5M2:
    case Format::kE8M0:
      break;
  }
  return 1;
}

constexpr const char* name_of(Format format) {
  switch (format) {
    case Format::kFP32:
      return "FP32";
    case Format::kBF16:
      return "BF16";
    case Format::kFP16:
      return "FP16";
    case Format::kE4M3:
      return "E4M3";
    case Format::kE5M2:
      return "E5M2";
    case Format::kE8M0:
      break;
  }
  return "E8M0";
}

}  // namespace samebits::kernels
