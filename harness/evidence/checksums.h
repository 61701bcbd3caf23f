// SHA256SUMS: what a folder holds, as `sha256sum -c` reads it.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/checkpoint/mapped_file.h"
#include "harness/evidence/sha256.h"

namespace samebits::evidence {

inline constexpr char kChecksums[] = "SHA256SUMS";

// One line a file, "DIGEST  NAME", in ascending order of name.
std::string checksums_text(const std::map<std::string, Sha256Value>& digests);

// The inverse, of just these names (ascending). Throws Error, which says what the line is not.
std::map<std::string, Sha256Value> parse_checksums(std::string_view text,
                                                   const std::vector<std::string>& names);

using FileSet = std::map<std::string, std::shared_ptr<const checkpoint::MappedFile>>;

// The files of `directory`, of unknown origin: just `names` and SHA256SUMS, all regular files and
// no links, at most `most_bytes` together, each with the digest that SHA256SUMS gives it. Throws
// Error that names the file. The mappings are what was checked: nothing is opened twice.
FileSet open_checked(const std::filesystem::path& directory, const std::vector<std::string>& names,
                     std::uint64_t most_bytes);

}  // namespace samebits::evidence
