// The rules that a safetensors header follows, apart from any file.
//
// Source: the format description in the README of huggingface/safetensors, and the checks of its
// Rust reader. A file is
//   u64 N, little-endian; N bytes of JSON that begin with '{' and may end in spaces; the data
//   section
// where the JSON is {"__metadata__": {string: string}, NAME: {"dtype": D, "shape": [...],
// "data_offsets": [BEGIN, END]}} and the tensors' ranges cover the data section exactly: no hole,
// no overlap, nothing behind the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/checkpoint/tensor_source.h"

namespace samebits::checkpoint {

inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
inline constexpr std::size_t kMaxTensors = 1'000'000;          // ours
inline constexpr std::size_t kMaxRank = 64;                    // ours; also PyTorch's

struct HeaderTensor {
  TensorEntry entry;
  std::uint64_t begin = 0;  // in the data section; the end is begin + entry.byte_count
};

struct SafetensorsHeader {
  std::vector<HeaderTensor> tensors;  // in ascending order of name
  std::map<std::string, std::string> metadata;
};

// The functions below throw Error("tensor NAME: reason") or Error(reason); whoever knows the file's
// name puts it first.

// `json` is the N bytes, `data_bytes` the size of the data section.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes);

// The size that dtype and shape ask for. Refuses a negative size, a product of 2^63 or more, more
// than kMaxRank dimensions and (4- and 6-bit dtypes) a part of a byte.
std::uint64_t safetensors_byte_count(const std::string& name, DType dtype, const Shape& shape);

// Refuses what cannot name a tensor: nothing, "__metadata__", control characters (names stand in
// reports).
void check_tensor_name(const std::string& name);

[[noreturn]] void refuse_tensor(std::string_view name, const std::string& reason);

}  // namespace samebits::checkpoint
