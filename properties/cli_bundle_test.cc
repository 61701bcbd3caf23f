// Bundles and replay, as a user's shell runs them.
#include <algorithm>
#include <fstream>

#include "properties/cli_fixture.h"

namespace samebits::properties {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_bytes(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class CliBundle : public CliTest {
 protected:
  void SetUp() override {
    const Finished finished = run({"check", kDigits, "--inputs", kDigitsInputs, "--scenario",
                                   "stale-weight", "--bundle", "bundle"});
    ASSERT_EQ(finished.status, 1) << finished.err;
    ASSERT_NE(finished.out.find("samebits replay bundle"), std::string::npos) << finished.out;
  }

  std::vector<fs::path> bundle_files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(bundle())) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  fs::path bundle() const { return directory_ / "bundle"; }
};

TEST_F(CliBundle, RepeatsTheDifferenceElsewhereOnTheDisk) {
  fs::create_directory(directory_ / "far");
  fs::rename(bundle(), directory_ / "far/moved");
  const Finished finished = run({"replay", "far/moved"});
  EXPECT_EQ(finished.status, 1) << finished.err;
  EXPECT_NE(finished.out.find("cause: stale weight"), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("REPEATS"), std::string::npos) << finished.out;
}

TEST_F(CliBundle, IsSmall) {
  std::uintmax_t bytes = 0;
  for (const fs::path& file : bundle_files()) bytes += fs::file_size(file);
  EXPECT_LT(bytes, 200'000U);
}

// One bit of every hundredth byte, the first and the last of each file.
TEST_F(CliBundle, AFlippedBitOfAnyFileIsRefusedByThatFilesName) {
  for (const fs::path& file : bundle_files()) {
    const std::string whole = bytes_of(file);
    ASSERT_FALSE(whole.empty()) << file;
    for (std::size_t at = 0; at < whole.size();
         at += at + 1 == whole.size() ? 1 : std::min<std::size_t>(101, whole.size() - 1 - at)) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
      write_bytes(file, flipped);
      const Finished finished = run({"replay", "bundle"});
      ASSERT_EQ(finished.status, 2) << file << " byte " << at;
      ASSERT_NE(finished.err.find(file.filename().string()), std::string::npos) << finished.err;
    }
    write_bytes(file, whole);
  }
  EXPECT_EQ(run({"replay", "bundle"}).status, 1);
}

TEST_F(CliBundle, AMissingAnExtraAndALinkedFileAreRefused) {
  const fs::path environment = bundle() / "environment.json";
  const std::string whole = bytes_of(environment);
  fs::remove(environment);
  expect_refused({"replay", "bundle"}, "environment.json");
  fs::create_symlink("manifest.json", environment);
  expect_refused({"replay", "bundle"}, "environment.json");
  fs::remove(environment);
  write_bytes(environment, whole);
  write_bytes(bundle() / "more", "x");
  expect_refused({"replay", "bundle"}, "more");
}

TEST_F(CliBundle, IsNeverOverwrittenAndAFailureLeavesTheVerdict) {
  const auto before = bundle_files();
  const Finished finished = run(small_check({"--scenario=stale-weight", "--bundle=bundle"}));
  EXPECT_EQ(bundle_files(), before);
  EXPECT_EQ(run({"replay", "bundle"}).status, 1);
  EXPECT_TRUE(finished.status == 1 || finished.status == 2) << finished.err;
  EXPECT_NE(finished.err.find("bundle"), std::string::npos) << finished.err;
}

TEST_F(CliBundle, NoneIsWrittenForTheSameBitsOrWhereNoneIsWanted) {
  EXPECT_EQ(run(small_check({})).status, 0);
  EXPECT_EQ(run(small_check({"--scenario=stale-weight", "--no-bundle"})).status, 1);
  EXPECT_FALSE(fs::exists(directory_ / "bundles"));
}

}  // namespace
}  // namespace samebits::properties
