#include "harness/evidence/write_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "harness/core/error.h"
#include "harness/core/printable.h"

namespace samebits::evidence {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, const std::string& reason) {
  throw Error(printable(path.native()) + ": cannot be written: " + reason);
}
[[noreturn]] void refuse(const fs::path& path, int error) {
  refuse(path, std::generic_category().message(error));
}

// The file that is written aside; removed again unless it got its place. Messages name the target.
class AsideFile {
 public:
  explicit AsideFile(const fs::path& target) : target_(target) {
    static std::atomic<unsigned> counter{0};
    do {
      path_ = target.parent_path() / (".samebits-" + std::to_string(::getpid()) + "-" +
                                      std::to_string(counter++) + ".tmp");
      fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd_ < 0 && errno == EEXIST);
    if (fd_ < 0) refuse(target_, errno);
  }
  AsideFile(const AsideFile&) = delete;
  AsideFile& operator=(const AsideFile&) = delete;
  ~AsideFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse(target_, errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void take_place() {
    if (::fsync(fd_) != 0) refuse(target_, errno);
    if (::close(std::exchange(fd_, -1)) != 0) refuse(target_, errno);
    if (std::rename(path_.c_str(), target_.c_str()) != 0) refuse(target_, errno);
    path_.clear();
  }

 private:
  const fs::path& target_;
  fs::path path_;
  int fd_ = -1;
};

// The rename itself outlives a crash only once the directory is synced. Some file systems cannot do
// that; the file is whole either way.
void sync_directory(const fs::path& target) {
  const fs::path directory = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

fs::path final_target(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status))
    refuse(path, "exists and is not a regular file");
  if (!fs::is_symlink(fs::symlink_status(path, error))) return path;
  const fs::path target = fs::canonical(path, error);
  if (error) refuse(path, error.value());
  return target;
}

}  // namespace

void write_file_parts(const fs::path& path, std::span<const std::span<const std::byte>> parts) {
  const fs::path target = final_target(path);
  AsideFile file(target);
  for (const auto part : parts) file.write(part);
  file.take_place();
  sync_directory(target);
}

void require_writable_file(const fs::path& path) {
  const fs::path target = final_target(path);
  const AsideFile probe(target);
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  write_file_parts(path, {&bytes, 1});
}

void write_file(const fs::path& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace samebits::evidence
