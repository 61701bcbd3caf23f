#include "harness/checkpoint/safetensors.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "harness/checkpoint/safetensors_header.h"
#include "harness/core/error.h"
#include "harness/core/printable.h"

namespace samebits::checkpoint {
namespace {

constexpr std::size_t kLengthBytes = 8;

class Safetensors final : public TensorSource {
 public:
  explicit Safetensors(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {
    try {
      read_header();
    } catch (const Error& error) {
      throw Error(printable(path().native()) + ": " + error.what());
    }
  }

  const std::filesystem::path& path() const override { return file_->path(); }
  const std::vector<TensorEntry>& entries() const override { return entries_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }

  HostTensor read(const std::string& name) const override {
    const auto entry = std::ranges::lower_bound(entries_, name, {}, &TensorEntry::name);
    if (entry == entries_.end() || entry->name != name) {
      throw Error(printable(path().native()) + ": tensor " + printable(name) + ": not in the file");
    }
    const std::uint64_t begin = begins_[static_cast<std::size_t>(entry - entries_.begin())];
    return {entry->dtype, entry->shape, data_.subspan(begin, entry->byte_count), file_};
  }

 private:
  void read_header();

  std::shared_ptr<const MappedFile> file_;
  std::vector<TensorEntry> entries_;
  std::vector<std::uint64_t> begins_;  // of entries_, in data_
  std::map<std::string, std::string> metadata_;
  std::span<const std::byte> data_;
};

void Safetensors::read_header() {
  const auto bytes = file_->bytes();
  if (bytes.size() < kLengthBytes) {
    throw Error("not a safetensors file: it has only " + std::to_string(bytes.size()) + " bytes");
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  if (length > kMaxHeaderBytes) {
    throw Error("not a safetensors file: its first 8 bytes announce a header of " +
                std::to_string(length) + " bytes; at most " + std::to_string(kMaxHeaderBytes) +
                " are allowed");
  }
  if (length > bytes.size() - kLengthBytes) {
    throw Error("not a whole safetensors file: a header of " + std::to_string(length) +
                " bytes is announced, " + std::to_string(bytes.size() - kLengthBytes) +
                " bytes follow");
  }
  const auto json = bytes.subspan(kLengthBytes, length);
  data_ = bytes.subspan(kLengthBytes + length);

  SafetensorsHeader header = parse_safetensors_header(
      {reinterpret_cast<const char*>(json.data()), json.size()}, data_.size());
  metadata_ = std::move(header.metadata);
  for (HeaderTensor& tensor : header.tensors) {
    entries_.push_back(std::move(tensor.entry));
    begins_.push_back(tensor.begin);
  }
}

}  // namespace

std::unique_ptr<TensorSource> open_safetensors(std::shared_ptr<const MappedFile> file) {
  return std::make_unique<Safetensors>(std::move(file));
}

}  // namespace samebits::checkpoint
