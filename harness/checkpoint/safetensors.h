// Reads safetensors files in place.
#pragma once

#include <memory>

#include "harness/checkpoint/mapped_file.h"
#include "harness/checkpoint/tensor_source.h"

namespace samebits::checkpoint {

// Tensors are views of the mapping and keep it alive; nothing but the header is read here. Throws
// Error "FILE: tensor NAME: reason" on whatever safetensors_header.h does not allow.
std::unique_ptr<TensorSource> open_safetensors(std::shared_ptr<const MappedFile> file);

}  // namespace samebits::checkpoint
