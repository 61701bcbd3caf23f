// A bundle: the smallest check that shows a difference, what both arms did, and where it was seen,
// in one folder that anyone can replay.
//
//   manifest.json        what: program, arms, the first difference
//   environment.json     where: library, GPU, compiler; the GEMM algorithms that were taken
//   inputs.safetensors   <layer>.weight, .bias, .x, .dy or .target, .evaluation
//   a/, b/               the two traces, with the bytes of the first event that differs
//   REPLAY.md            for people
//   SHA256SUMS           of all of these
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/check.h"

namespace samebits::evidence {

inline constexpr std::uint64_t kMaxBundleBytes = std::uint64_t{64} << 20;

using Environment = std::vector<std::pair<std::string, std::string>>;  // name, value

struct BundleContent {
  const CheckRequest* request = nullptr;  // as minimise or take gives it: one layer, all captured
  const CheckResult* result = nullptr;    // kDifferent
  bool pinned = false;                    // the arms followed a recorded run
  bool smallest = true;                   // nothing smaller shows it
  Environment environment;
};

struct Written {
  std::filesystem::path directory;
  std::uint64_t bytes = 0;
  bool was_there = false;  // the same bundle was, and nothing was written
};

// Writes a bundle into `directory`, whole or not at all: aside, synced, renamed. Never overwrites:
// throws Error where the folder exists and is not empty, cannot be written, or the bundle would
// have more than kMaxBundleBytes.
Written write_bundle(const std::filesystem::path& directory, const BundleContent& content);

// The same below `parent`, which is made where it is missing, under the first 8 digits of the
// SHA-256 of the bundle's SHA256SUMS. A bundle that is there already is not written again.
Written write_bundle_below(const std::filesystem::path& parent, const BundleContent& content);

// A bundle as it was read: all of it checked.
struct Bundle {
  CheckRequest request;
  bool pinned = false;
  CheckResult recorded;  // the traces as recorded, the causes found in them, the first difference
  std::map<std::string, std::string> environment;
};

// Untrusted: whatever is wrong is an Error that names the file and the reason.
Bundle read_bundle(const std::filesystem::path& directory);

// The files of every bundle but SHA256SUMS, in ascending order.
const std::vector<std::string>& bundle_files();

}  // namespace samebits::evidence
