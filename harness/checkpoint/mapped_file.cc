#include "harness/checkpoint/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "harness/core/error.h"
#include "harness/core/printable.h"

namespace samebits::checkpoint {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason) {
  throw Error(printable(path.native()) + ": " + reason);
}

[[noreturn]] void refuse_by_errno(const std::filesystem::path& path, const std::string& what) {
  refuse(path, what + ": " + std::generic_category().message(errno));
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // Without O_NONBLOCK a FIFO would wait for a writer here, before fstat can tell what it is.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (file.fd < 0) refuse_by_errno(path, "cannot be opened");
  struct stat status;
  if (::fstat(file.fd, &status) != 0) refuse_by_errno(path, "cannot be examined");
  if (S_ISDIR(status.st_mode)) refuse(path, "is a directory, not a file");
  if (!S_ISREG(status.st_mode)) refuse(path, "is not a regular file");

  std::span<const std::byte> bytes;
  if (const auto size = static_cast<std::size_t>(status.st_size); size > 0) {
    void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED) refuse_by_errno(path, "cannot be mapped");
    bytes = {static_cast<const std::byte*>(data), size};
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, bytes));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace samebits::checkpoint
