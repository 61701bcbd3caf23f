// A file that holds named tensors, whatever its format.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/tensor.h"

namespace samebits::checkpoint {

struct TensorEntry {
  std::string name;
  DType dtype;
  Shape shape;
  std::uint64_t byte_count;
};

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  virtual const std::filesystem::path& path() const = 0;
  virtual const std::vector<TensorEntry>& entries() const = 0;  // in ascending order of name
  virtual const std::map<std::string, std::string>& metadata() const = 0;
  // The tensor's bytes, valid after the source is gone. Throws Error where there is no such tensor.
  virtual HostTensor read(const std::string& name) const = 0;
};

// Opens a checkpoint by what is in it. A format that is known but cannot be read (a PyTorch .pt, a
// sharded index) is named in the Error, with how to convert it.
std::unique_ptr<TensorSource> open_checkpoint(const std::filesystem::path& path);

}  // namespace samebits::checkpoint
