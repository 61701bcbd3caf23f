#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <sstream>

#include "harness/evidence/sha256.h"
#include "properties/lint.h"

namespace samebits::lint {
namespace {

namespace fs = std::filesystem;

constexpr char kManifest[] = "corpora/MANIFEST";

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// What git knows under `root` and does not ignore; empty where there is no repository or no git.
std::vector<std::string> files_by_git(const fs::path& root) {
  if (!fs::exists(root / ".git")) return {};
  // Through the environment, because a path needs no quoting there.
  setenv("SAMEBITS_LINT_ROOT", root.c_str(), 1);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      popen("git -C \"$SAMEBITS_LINT_ROOT\" ls-files -z --cached --others --exclude-standard 2>&-",
            "r"),
      pclose);
  std::string names;
  for (int c; pipe && (c = std::fgetc(pipe.get())) != EOF;) names.push_back(static_cast<char>(c));
  std::vector<std::string> files;
  std::istringstream stream(names);
  for (std::string name; std::getline(stream, name, '\0');) files.push_back(name);
  return files;
}

// Build folders, bundles and the like, as .gitignore has them.
bool is_product(const fs::path& name) {
  const std::string text = name.string();
  return text == ".git" || text == "build" || text.starts_with("build-") || text == "out" ||
         text == "bundles" || text == "__pycache__" || text == "compile_commands.json";
}

std::vector<std::string> files_by_walking(const fs::path& root) {
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator entry(root), end; entry != end; ++entry) {
    if (is_product(entry->path().filename())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      files.push_back(entry->path().lexically_relative(root).generic_string());
    }
  }
  return files;
}

bool is_data(const std::string& path) {
  return path.starts_with("corpora/") && path != kManifest && !path.ends_with(".md") &&
         !path.ends_with(".py") && !path.ends_with(".sh");
}

std::string sha256(const std::string& bytes) {
  evidence::Sha256 digest;
  digest.update(std::as_bytes(std::span(bytes)));
  return evidence::hex(digest.finish());
}

}  // namespace

std::vector<std::string> project_files(const fs::path& root) {
  std::vector<std::string> files = files_by_git(root);
  if (files.empty()) files = files_by_walking(root);
  // A file that git tracks may have been removed; one in a merge is listed more than once.
  std::erase_if(files, [&](const std::string& file) { return !fs::is_regular_file(root / file); });
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

std::vector<Finding> lint_manifest(const fs::path& root, const std::vector<std::string>& files) {
  std::string expected;
  for (const std::string& file : files) {
    if (is_data(file)) {
      expected += sha256(contents(root / file)) + "  " + file.substr(sizeof("corpora/") - 1) + "\n";
    }
  }
  // The first line that differs is the one to look at.
  std::istringstream have(contents(root / kManifest));
  std::istringstream want(expected);
  std::string have_line;
  std::string want_line;
  for (int number = 1;; ++number) {
    const bool more_have = static_cast<bool>(std::getline(have, have_line));
    const bool more_want = static_cast<bool>(std::getline(want, want_line));
    if (!more_have && !more_want) return {};
    if (more_have != more_want || have_line != want_line) {
      return {{kManifest, number, "the manifest lists every data file with its SHA-256"}};
    }
  }
}

std::vector<Finding> lint_tree(const fs::path& root) {
  const std::vector<std::string> files = project_files(root);
  std::vector<Finding> findings;
  for (const std::string& file : files) {
    const std::string text = contents(root / file);
    if (text.find('\0') != text.npos) continue;
    std::ranges::copy(lint_file(file, text), std::back_inserter(findings));
  }
  std::ranges::copy(lint_manifest(root, files), std::back_inserter(findings));
  return findings;
}

}  // namespace samebits::lint
