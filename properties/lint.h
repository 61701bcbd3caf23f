// The rules of the source tree that no compiler checks: who may include whom, what a library may
// not do, and that corpora/MANIFEST tells the truth.
#pragma once

#include <compare>
#include <filesystem>
#include <string>
#include <vector>

namespace samebits::lint {

struct Finding {
  std::string path;  // relative to the tree's root
  int line;          // counted from 1; 0 where the finding is about the whole file
  std::string rule;

  auto operator<=>(const Finding&) const = default;
};

// The files of the tree at `root`, relative to it and sorted: what git tracks or would track, or,
// where git does not answer (an unpacked archive), all but build folders and other products. Throws
// std::filesystem::filesystem_error.
std::vector<std::string> project_files(const std::filesystem::path& root);

// Findings in one file, in order of line.
std::vector<Finding> lint_file(const std::string& path, const std::string& text);

// Whether the manifest lists exactly the data files among `files`, in order, with their SHA-256.
std::vector<Finding> lint_manifest(const std::filesystem::path& root,
                                   const std::vector<std::string>& files);

// All of the above for the whole tree.
std::vector<Finding> lint_tree(const std::filesystem::path& root);

}  // namespace samebits::lint
