#include "harness/evidence/digest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "harness/core/error.h"
#include "reference/formats.h"
#include "reference/mutants.h"

namespace samebits::evidence {
namespace {

// Doubles are hashed from memory as they stand.
static_assert(std::endian::native == std::endian::little, "digests are little-endian");

constexpr double kNan = std::bit_cast<double>(std::uint64_t{0x7ff8000000000000});
constexpr std::int64_t kChunk = 4096;  // elements: 32 KiB of doubles, which stay in the L1 cache

template <class T>
void append(std::string& text, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
}

// All of a tensor digest but the bytes.
Sha256 begin_digest(DType dtype, const Shape& shape) {
  std::string prefix = "samebits-tensor-1";
  prefix += '\0';
  if (!mutant("digest without dtype")) prefix += dtype_name(dtype);
  prefix += '\0';
  append(prefix, static_cast<std::uint32_t>(shape.size()));
  const bool shapeless = mutant("digest without shape");
  for (const std::int64_t size : shape) {
    append(prefix, static_cast<std::uint64_t>(shapeless ? 0 : size));
  }
  Sha256 sha;
  sha.update(std::as_bytes(std::span(prefix)));
  return sha;
}

using CodeValues = std::array<double, 256>;

template <class Format>
CodeValues values_of() {
  CodeValues values;
  for (unsigned code = 0; code < 256; ++code) {
    values[code] = double{Format::from_bits(static_cast<std::uint8_t>(code)).value()};
  }
  return values;
}

CodeValues code_values(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3:
      return values_of<reference::E4M3>();
    case DType::kF8E5M2:
      return values_of<reference::E5M2>();
    default:
      throw Error("logical digest: the codes are " + std::string(dtype_name(dtype)) + ", not FP8");
  }
}

std::vector<double> scale_values(const HostTensor& scale_inv) {
  std::vector<double> values(static_cast<std::size_t>(element_count(scale_inv.shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    values[i] = scale_inv.dtype == DType::kF32
                    ? double{scale_inv.at<float>(index)}
                    : double{reference::E8M0::from_bits(scale_inv.at<std::uint8_t>(index)).value()};
  }
  return values;
}

void check_whole(const HostTensor& tensor, const char* what) {
  const auto bits = static_cast<std::uint64_t>(dtype_bits(tensor.dtype));
  if (tensor.bytes.size() * 8 != static_cast<std::uint64_t>(element_count(tensor.shape)) * bits) {
    throw Error(std::string("logical digest: the ") + what + " of shape " +
                shape_text(tensor.shape) + " have " + std::to_string(tensor.bytes.size()) +
                " bytes");
  }
}

void check_operands(const HostTensor& codes, const HostTensor& scale_inv, std::int64_t block_rows,
                    std::int64_t block_cols) {
  if (codes.shape.size() != 2) {
    throw Error("logical digest: the codes' shape " + shape_text(codes.shape) +
                " is not [rows, cols]");
  }
  if (block_rows < 1 || block_cols < 1) throw Error("logical digest: a block has no elements");
  if (scale_inv.dtype != DType::kF32 && scale_inv.dtype != DType::kF8E8M0) {
    throw Error("logical digest: the scales are " + std::string(dtype_name(scale_inv.dtype)) +
                ", not F32 or F8_E8M0");
  }
  const auto blocks = [](std::int64_t size, std::int64_t block) {
    return size / block + (size % block != 0);
  };
  const Shape expected{blocks(codes.shape[0], block_rows), blocks(codes.shape[1], block_cols)};
  if (scale_inv.shape != expected) {
    throw Error("logical digest: the scales' shape " + shape_text(scale_inv.shape) + " should be " +
                shape_text(expected));
  }
  check_whole(codes, "codes");
  check_whole(scale_inv, "scales");
}

}  // namespace

Sha256Value tensor_digest(const HostTensor& tensor) {
  Sha256 sha = begin_digest(tensor.dtype, tensor.shape);
  const std::size_t size = tensor.bytes.size();
  sha.update(mutant("digest skips the last byte") && size > 0 ? tensor.bytes.first(size - 1)
                                                              : tensor.bytes);
  return sha.finish();
}

// A product of at most 4 and 24 significant bits, between 2^-165 and 2^144, is exact in a double.
Sha256Value logical_digest(const HostTensor& codes, const HostTensor& scale_inv,
                           std::int64_t block_rows, std::int64_t block_cols) {
  const CodeValues values = code_values(codes.dtype);
  check_operands(codes, scale_inv, block_rows, block_cols);
  const std::vector<double> scales = scale_values(scale_inv);
  const std::int64_t rows = codes.shape[0], cols = codes.shape[1], scale_cols = scale_inv.shape[1];

  Sha256 sha = begin_digest(DType::kF64, codes.shape);
  std::array<double, kChunk> chunk;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::byte* const row_codes = codes.bytes.data() + row * cols;
    const double* scale = scales.data() + row / block_rows * scale_cols;
    std::int64_t left_in_block = block_cols;  // counted, to save a division an element
    for (std::int64_t begin = 0; begin < cols; begin += kChunk) {
      const std::int64_t end = std::min(begin + kChunk, cols);
      for (std::int64_t col = begin; col < end; ++col) {
        if (left_in_block == 0 && !mutant("value digest of one scale")) {
          ++scale;
          left_in_block = block_cols;
        }
        --left_in_block;
        const double value = values[std::to_integer<std::size_t>(row_codes[col])] * *scale;
        chunk[static_cast<std::size_t>(col - begin)] = mutant("value digest loses -0") ? value + 0.0
                                                       : std::isnan(value)             ? kNan
                                                                                       : value;
      }
      sha.update(std::as_bytes(std::span(chunk).first(static_cast<std::size_t>(end - begin))));
    }
  }
  return sha.finish();
}

}  // namespace samebits::evidence
