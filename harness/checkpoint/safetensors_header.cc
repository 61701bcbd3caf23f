#include "harness/checkpoint/safetensors_header.h"

#include <algorithm>
#include <tuple>

#include "harness/checkpoint/safetensors_json.h"
#include "harness/core/error.h"
#include "harness/core/printable.h"
#include "reference/mutants.h"

namespace samebits::checkpoint {
namespace {

constexpr std::size_t kShownNameBytes = 120;

std::string range_text(std::uint64_t begin, std::uint64_t end) {
  return "data_offsets [" + std::to_string(begin) + ", " + std::to_string(end) + "]";
}

// U+0000 to U+001F, U+007F, and U+0080 to U+009F, which UTF-8 writes as c2 80 to c2 9f.
bool has_control_character(std::string_view name) {
  bool after_c2 = false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (after_c2 && byte < 0xa0)) return true;
    after_c2 = byte == 0xc2;
  }
  return false;
}

Shape checked_shape(const RawTensor& raw) {
  Shape shape;
  for (const std::uint64_t size : raw.shape) {
    if (size > INT64_MAX)
      refuse_tensor(raw.name, "a dimension of " + std::to_string(size) + " is too large");
    shape.push_back(static_cast<std::int64_t>(size));
  }
  return shape;
}

HeaderTensor checked_tensor(const RawTensor& raw, std::uint64_t data_bytes) {
  check_tensor_name(raw.name);
  const std::optional<DType> dtype = dtype_from_name(raw.dtype);
  if (!dtype)
    refuse_tensor(raw.name, "unknown dtype \"" + printable(raw.dtype, kShownNameBytes) + "\"");
  Shape shape = checked_shape(raw);
  const std::uint64_t byte_count = safetensors_byte_count(raw.name, *dtype, shape);

  const auto [begin, end] = raw.data_offsets;
  if (begin > end) refuse_tensor(raw.name, range_text(begin, end) + " end before they begin");
  if (end > data_bytes && !mutant("ranges beyond the file")) {
    refuse_tensor(raw.name, range_text(begin, end) + " reach beyond the " +
                                std::to_string(data_bytes) + " bytes of data in the file");
  }
  if (end - begin != byte_count) {
    refuse_tensor(raw.name, range_text(begin, end) + " hold " + std::to_string(end - begin) +
                                " bytes, but " + raw.dtype + " " + shape_text(shape) + " has " +
                                std::to_string(byte_count));
  }
  return {{raw.name, *dtype, std::move(shape), byte_count}, begin};
}

// Tensors in the order of the file; at one place the empty ones come first.
void check_cover(std::vector<const HeaderTensor*> tensors, std::uint64_t data_bytes) {
  std::ranges::sort(tensors, {}, [](const HeaderTensor* t) {
    return std::tuple(t->begin, t->entry.byte_count, std::string_view(t->entry.name));
  });
  std::uint64_t covered = 0;
  const HeaderTensor* previous = nullptr;
  for (const HeaderTensor* tensor : tensors) {
    if (tensor->begin < covered && !mutant("overlaps are allowed")) {
      refuse_tensor(
          tensor->entry.name,
          "overlaps tensor " + printable(previous->entry.name, kShownNameBytes) + " in the file");
    }
    if (tensor->begin > covered && !mutant("holes are allowed")) {
      refuse_tensor(tensor->entry.name, "a hole of " + std::to_string(tensor->begin - covered) +
                                            " bytes that belong to no tensor lies before it");
    }
    covered += tensor->entry.byte_count;
    previous = tensor;
  }
  if (covered < data_bytes && !mutant("spare bytes are allowed")) {
    throw Error(std::to_string(data_bytes - covered) +
                " bytes at the end of the file belong to no tensor");
  }
}

}  // namespace

void refuse_tensor(std::string_view name, const std::string& reason) {
  throw Error("tensor " + printable(name, kShownNameBytes) + ": " + reason);
}

void check_tensor_name(const std::string& name) {
  if (name.empty()) throw Error("a tensor has the empty name");
  if (name == "__metadata__") refuse_tensor(name, "the name is reserved");
  if (has_control_character(name)) refuse_tensor(name, "the name holds a control character");
}

std::uint64_t safetensors_byte_count(const std::string& name, DType dtype, const Shape& shape) {
  if (shape.size() > kMaxRank) {
    refuse_tensor(name, "has " + std::to_string(shape.size()) + " dimensions; at most " +
                            std::to_string(kMaxRank) + " are allowed");
  }
  std::int64_t bits = 1;  // the product in the shape's order, as element_count forms it
  bool overflow = false;
  for (const std::int64_t size : shape) {
    if (size < 0) refuse_tensor(name, "shape " + shape_text(shape) + " has a negative dimension");
    overflow |= __builtin_mul_overflow(bits, size, &bits);
  }
  overflow |= __builtin_mul_overflow(bits, std::int64_t{dtype_bits(dtype)}, &bits);
  if (overflow && !mutant("sizes may wrap"))
    refuse_tensor(name, "the size of shape " + shape_text(shape) + " overflows");
  if (bits % 8 != 0) {
    refuse_tensor(name, std::string(dtype_name(dtype)) + " " + shape_text(shape) +
                            " does not come to whole bytes");
  }
  return static_cast<std::uint64_t>(bits) / 8;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes) {
  RawHeader raw = parse_safetensors_json(json);
  SafetensorsHeader header{{}, std::move(raw.metadata)};
  for (const RawTensor& tensor : raw.tensors)
    header.tensors.push_back(checked_tensor(tensor, data_bytes));
  std::ranges::sort(header.tensors, {},
                    [](const HeaderTensor& t) -> const std::string& { return t.entry.name; });

  std::vector<const HeaderTensor*> in_file_order;
  for (const HeaderTensor& tensor : header.tensors) in_file_order.push_back(&tensor);
  check_cover(std::move(in_file_order), data_bytes);
  return header;
}

}  // namespace samebits::checkpoint
