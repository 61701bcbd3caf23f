// Writes a file whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace samebits::evidence {

// Writes aside in the same directory, syncs, then renames: at every moment, also after a crash, the
// path holds either what it held before or all of the new bytes. A symbolic link is followed.
// Throws Error, which names the file and the reason, and leaves nothing behind; refuses what exists
// and is not a regular file (a directory, /dev/stdout).
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file(const std::filesystem::path& path, std::string_view text);

// Throws the Error that write_file would, as far as it can be known beforehand, and leaves nothing
// behind: what cannot be written should not cost a long run first.
void require_writable_file(const std::filesystem::path& path);

// The parts one behind the other, so that large tensors need not be copied together first.
void write_file_parts(const std::filesystem::path& path,
                      std::span<const std::span<const std::byte>> parts);

}  // namespace samebits::evidence
