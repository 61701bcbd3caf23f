#include "harness/checkpoint/safetensors_writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/checkpoint/safetensors_header.h"
#include "harness/core/error.h"
#include "harness/core/printable.h"
#include "harness/evidence/write_file.h"

namespace samebits::checkpoint {
namespace {

using NamedTensor = std::map<std::string, HostTensor>::value_type;

std::vector<const NamedTensor*> file_order(const std::map<std::string, HostTensor>& tensors) {
  std::vector<const NamedTensor*> order;
  for (const auto& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [](const NamedTensor* t) { return dtype_bits(t->second.dtype); });
  return order;
}

void check_tensor(const std::string& name, const HostTensor& tensor) {
  check_tensor_name(name);
  const std::uint64_t byte_count = safetensors_byte_count(name, tensor.dtype, tensor.shape);
  if (tensor.bytes.size() != byte_count) {
    refuse_tensor(name, "has " + std::to_string(tensor.bytes.size()) + " bytes, but " +
                            std::string(dtype_name(tensor.dtype)) + " " + shape_text(tensor.shape) +
                            " has " + std::to_string(byte_count));
  }
}

std::string quoted(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    throw Error("\"" + printable(text, 120) + "\" is not UTF-8");
  }
}

// "NAME":VALUE behind what `members` has.
void append_member(std::string& members, const std::string& name, const std::string& value) {
  if (!members.empty()) members += ',';
  members += quoted(name);
  members += ':';
  members += value;
}

// Put together by hand because a JSON tree would sort the keys, or take quadratic time not to.
std::string json_of(const std::vector<const NamedTensor*>& order,
                    const std::map<std::string, std::string>& metadata) {
  std::string pairs, members;
  for (const auto& [key, value] : metadata) append_member(pairs, key, quoted(value));
  if (!metadata.empty()) append_member(members, "__metadata__", "{" + pairs + "}");

  std::uint64_t begin = 0;
  for (const auto* named : order) {
    const auto& [name, tensor] = *named;
    check_tensor(name, tensor);
    const std::uint64_t end = begin + tensor.bytes.size();
    const std::string dtype(dtype_name(tensor.dtype)), shape = nlohmann::json(tensor.shape).dump();
    append_member(members, name,
                  "{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":[" +
                      std::to_string(begin) + "," + std::to_string(end) + "]}");
    begin = end;
  }
  return "{" + members + "}";
}

// The 8 bytes of length and the padded JSON.
std::string header_of(const std::vector<const NamedTensor*>& order,
                      const std::map<std::string, std::string>& metadata) {
  if (order.size() > kMaxTensors) {
    throw Error("more than " + std::to_string(kMaxTensors) + " tensors");
  }
  std::string text = json_of(order, metadata);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kMaxHeaderBytes) {
    throw Error("a header of " + std::to_string(text.size()) + " bytes; at most " +
                std::to_string(kMaxHeaderBytes) + " are allowed");
  }
  std::string length;
  for (int i = 0; i < 8; ++i) {
    length += static_cast<char>(std::uint64_t{text.size()} >> (8 * i) & 0xff);
  }
  return length + text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, HostTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const auto order = file_order(tensors);
  std::string header;
  try {
    header = header_of(order, metadata);
  } catch (const Error& error) {
    throw Error(printable(path.native()) + ": " + error.what());
  }
  std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(header))};
  for (const NamedTensor* tensor : order) parts.push_back(tensor->second.bytes);
  evidence::write_file_parts(path, parts);
}

}  // namespace samebits::checkpoint
