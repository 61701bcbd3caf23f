#include "kernels/quantize_arguments.h"

#include <limits>
#include <stdexcept>
#include <string>

namespace samebits::kernels {
namespace {

[[noreturn]] void refuse(const char* launcher, const std::string& reason) {
  throw std::invalid_argument(std::string(launcher) + ": " + reason);
}

}  // namespace

void check_shape(const char* launcher, std::int64_t rows, std::int64_t cols,
                 std::int64_t element_bytes) {
  const std::string shape = "[" + std::to_string(rows) + ", " + std::to_string(cols) + "]";
  if (rows < 0 || cols < 0) refuse(launcher, "the shape " + shape + " has a negative size");
  if (cols != 0 && rows > std::numeric_limits<std::int64_t>::max() / element_bytes / cols) {
    refuse(launcher, "the shape " + shape + " has more bytes than can be counted");
  }
}

void check_source(const char* launcher, const MatrixView& x) {
  if (x.format != Format::kFP32 && x.format != Format::kBF16 && x.format != Format::kFP16) {
    refuse(launcher,
           std::string("the source is ") + name_of(x.format) + "; FP32, BF16 or FP16 is wanted");
  }
  check_shape(launcher, x.rows, x.cols, size_of(x.format));
  if (x.rows != 0 && x.cols != 0) check_pointer(launcher, "source", x.data, size_of(x.format));
}

void check_target(const char* launcher, Format format) {
  if (format != Format::kE4M3 && format != Format::kE5M2) {
    refuse(launcher, std::string("the target is ") + name_of(format) + "; E4M3 or E5M2 is wanted");
  }
}

void check_pointer(const char* launcher, const char* what, const void* pointer,
                   std::int64_t alignment) {
  if (!pointer) refuse(launcher, std::string(what) + ": null pointer");
  if (reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(alignment) != 0) {
    refuse(launcher, std::string(what) + ": misaligned, the address is not a multiple of " +
                         std::to_string(alignment) + " bytes");
  }
}

unsigned check_grid(const char* launcher, std::int64_t blocks) {
  if (blocks > std::numeric_limits<std::int32_t>::max()) {
    refuse(launcher, std::to_string(blocks) + " thread blocks are more than one launch can have");
  }
  return static_cast<unsigned>(blocks);
}

}  // namespace samebits::kernels
