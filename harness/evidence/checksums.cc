#include "harness/evidence/checksums.h"

#include <algorithm>
#include <set>
#include <system_error>

#include "harness/core/error.h"
#include "harness/core/printable.h"

namespace samebits::evidence {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHexDigits = 64;
constexpr std::string_view kGap = "  ";

[[noreturn]] void refuse(const fs::path& directory, const std::string& name,
                         const std::string& reason) {
  throw Error(printable((directory / name).native()) + ": " + reason);
}

std::pair<std::string, Sha256Value> parse_line(std::string_view line) {
  const auto digest = parse_hex(line.substr(0, kHexDigits));
  if (!digest || line.substr(kHexDigits, kGap.size()) != kGap) {
    throw Error("is not 64 lower-case hexadecimal digits, two spaces and a name");
  }
  return {std::string(line.substr(kHexDigits + kGap.size())), *digest};
}

// What stands in the folder, folders of files included; throws where it is more than the names.
void require_only(const fs::path& directory, const std::vector<std::string>& names) {
  std::set<std::string> files{kChecksums}, folders;
  for (const std::string& name : names) {
    files.insert(name);
    if (const fs::path parent = fs::path(name).parent_path(); !parent.empty()) {
      folders.insert(parent.string());
    }
  }
  std::vector<fs::path> waiting{fs::path()};
  while (!waiting.empty()) {
    const fs::path below = waiting.back();
    waiting.pop_back();
    std::error_code error;
    for (fs::directory_iterator entry(directory / below, error), end; entry != end;
         entry.increment(error)) {
      const std::string name = (below / entry->path().filename()).string();
      const fs::file_status status = entry->symlink_status(error);
      if (fs::is_symlink(status)) refuse(directory, name, "is a link");
      if (folders.contains(name) && fs::is_directory(status)) {
        waiting.push_back(name);
      } else if (!files.contains(name)) {
        refuse(directory, name, "does not belong there: SHA256SUMS cannot list it");
      } else if (!fs::is_regular_file(status)) {
        refuse(directory, name, "is not a regular file");
      }
    }
    if (error) refuse(directory, below.string(), "cannot be read: " + error.message());
  }
}

}  // namespace

std::string checksums_text(const std::map<std::string, Sha256Value>& digests) {
  std::string text;
  for (const auto& [name, digest] : digests) {
    text += hex(digest) + std::string(kGap) + name + "\n";
  }
  return text;
}

std::map<std::string, Sha256Value> parse_checksums(std::string_view text,
                                                   const std::vector<std::string>& names) {
  std::map<std::string, Sha256Value> digests;
  std::size_t number = 0;
  for (const std::string& expected : names) {
    const std::string where = "line " + std::to_string(++number) + ": ";
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos)
      throw Error(where + "is missing; " + expected + " stands there");
    try {
      const auto [name, digest] = parse_line(text.substr(0, end));
      if (name != expected) {
        throw Error("names " + printable(name, 80) + " where " + expected +
                    " stands: the names are sorted, and just the bundle's files");
      }
      digests[name] = digest;
    } catch (const Error& error) {
      throw Error(where + error.what());
    }
    text.remove_prefix(end + 1);
  }
  if (!text.empty()) throw Error("line " + std::to_string(number + 1) + ": is one too many");
  return digests;
}

FileSet open_checked(const fs::path& directory, const std::vector<std::string>& names,
                     std::uint64_t most_bytes) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    throw Error(printable(directory.native()) + ": is not a folder");
  }
  require_only(directory, names);
  const auto sums = checkpoint::MappedFile::open(directory / kChecksums);
  std::map<std::string, Sha256Value> digests;
  try {
    digests = parse_checksums(sums->text(), names);
  } catch (const Error& reason) {
    refuse(directory, kChecksums, reason.what());
  }
  FileSet files;
  std::uint64_t bytes = 0;
  for (const std::string& name : names) {
    files[name] = checkpoint::MappedFile::open(directory / name);
    bytes += files[name]->bytes().size();
    if (bytes > most_bytes) {
      refuse(directory, name, "the files have more than " + std::to_string(most_bytes) + " bytes");
    }
  }
  for (const auto& [name, file] : files) {
    Sha256 hash;
    hash.update(file->bytes());
    if (hash.finish() != digests.at(name)) {
      refuse(directory, name, "its SHA-256 is not the one in SHA256SUMS");
    }
  }
  return files;
}

}  // namespace samebits::evidence
