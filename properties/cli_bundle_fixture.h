// A bundle of the stale-weight scenario in each test's own folder, to be looked at and tampered
// with.
#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>

#include "harness/evidence/bundle.h"
#include "harness/evidence/checksums.h"
#include "properties/cli_fixture.h"

namespace samebits::properties {

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Digests that fit again: whoever forges a bundle can do that too.
inline void sign(const std::filesystem::path& bundle) {
  std::map<std::string, evidence::Sha256Value> digests;
  for (const std::string& name : evidence::bundle_files()) {
    const std::string bytes = bytes_of(bundle / name);
    evidence::Sha256 hash;
    hash.update(std::as_bytes(std::span(bytes)));
    digests[name] = hash.finish();
  }
  write_bytes(bundle / evidence::kChecksums, evidence::checksums_text(digests));
}

class CliBundleTest : public CliTest {
 protected:
  static void SetUpTestSuite() {
    original_ = std::make_unique<TemporaryDirectory>();
    Command command{.arguments = {"check", kDigits, "--inputs", kDigitsInputs, "--scenario",
                                  "stale-weight", "--bundle", "bundle"}};
    command.directory = original_->path();
    check_ = run_program(command);
  }
  static void TearDownTestSuite() { original_.reset(); }

  void SetUp() override {
    ASSERT_EQ(check_.status, 1) << check_.err;
    std::filesystem::copy(*original_ / "bundle", bundle(),
                          std::filesystem::copy_options::recursive);
  }

  std::filesystem::path bundle() const { return directory_ / "bundle"; }
  std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  inline static std::unique_ptr<TemporaryDirectory> original_;
  inline static Finished check_;  // the command that wrote it
};

}  // namespace samebits::properties
