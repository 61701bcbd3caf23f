// What a tensor is to the harness: a dtype, a shape and bytes. HostTensor can be read; Tensor is a backend's handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace samebits {

// Every dtype that safetensors names.
enum class DType : std::uint8_t {
  kBool, kF4, kF6E2M3, kF6E3M2, kU8, kI8, kF8E5M2, kF8E4M3, kF8E8M0, kI16, kU16, kF16, kBF16, kI32, kU32, kF32, kC64,
  kF64, kI64, kU64
};

std::string_view dtype_name(DType dtype);  // as safetensors writes it: "F32", "BF16", "F8_E4M3", ...
std::optional<DType> dtype_from_name(std::string_view name);
int dtype_bits(DType dtype);  // 4, 6, 8, 16, 32 or 64

using Shape = std::vector<std::int64_t>;

std::int64_t element_count(const Shape& shape);  // the shape's sizes are not negative and their product fits
std::string shape_text(const Shape& shape);      // "[2, 3]"

// Bytes that may be read and never change, kept alive by `owner` (a vector, a mapped file). Nothing is assumed about
// their alignment.
struct HostTensor {
  DType dtype = DType::kF32;
  Shape shape;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;

  static HostTensor own(DType dtype, Shape shape, std::vector<std::byte> data);
  template <class T>
  static HostTensor of(DType dtype, Shape shape, std::span<const T> values) {
    const auto raw = std::as_bytes(values);
    return own(dtype, std::move(shape), {raw.begin(), raw.end()});
  }

  template <class T>
  T at(std::int64_t index) const;  // the index-th element, whatever the alignment
};

// A tensor where a backend keeps it; only that backend knows what the storage is.
struct Storage {
  virtual ~Storage() = default;
};
struct Tensor {
  DType dtype = DType::kF32;
  Shape shape;
  std::shared_ptr<Storage> storage;

  explicit operator bool() const { return storage != nullptr; }
};

}  // namespace samebits

template <class T>
T samebits::HostTensor::at(std::int64_t index) const {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}
