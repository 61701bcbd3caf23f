// Writes safetensors files.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "harness/core/tensor.h"

namespace samebits::checkpoint {

// The same tensors and metadata give the same bytes: wider dtypes first (so every tensor is aligned
// to its dtype), then ascending names; the header padded with spaces to a multiple of 8. Throws
// Error, and writes nothing, for what open_safetensors would refuse: a name, a size that is not the
// dtype's and shape's, text that is not UTF-8.
void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, HostTensor>& tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace samebits::checkpoint
