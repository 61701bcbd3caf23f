// The JSON of a safetensors header, read strictly: what it says, before any of it is believed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace samebits::checkpoint {

struct RawTensor {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::array<std::uint64_t, 2> data_offsets{};
};

struct RawHeader {
  std::vector<RawTensor> tensors;  // in the file's order, names distinct
  std::map<std::string, std::string> metadata;
};

// Throws Error where the text is no JSON of the one form that a header has: keys twice, unknown or
// missing, other types, integers outside [0, 2^64), too many tensors or dimensions.
RawHeader parse_safetensors_json(std::string_view json);

}  // namespace samebits::checkpoint
