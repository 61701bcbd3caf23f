// A regular file, mapped for reading.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace samebits::checkpoint {

// The bytes stay readable as long as the object lives, also after the file is renamed or removed.
// Who shortens the file meanwhile takes its pages away (SIGBUS), as with every mapping; write_file
// never does, it replaces.
class MappedFile {
 public:
  // Throws Error where the file is missing, unreadable or not regular. Never waits: not for a
  // FIFO's writer either.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  MappedFile(std::filesystem::path path, std::span<const std::byte> bytes)
      : path_(std::move(path)), bytes_(bytes) {}

  std::filesystem::path path_;
  std::span<const std::byte> bytes_;  // empty, and not mapped, for an empty file
};

}  // namespace samebits::checkpoint
