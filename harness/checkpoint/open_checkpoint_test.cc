#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>

#include "harness/checkpoint/tensor_source.h"
#include "harness/core/error.h"
#include "properties/temporary_directory.h"

namespace samebits::checkpoint {
namespace {

namespace fs = std::filesystem;
using properties::TemporaryDirectory;

const fs::path kHostile = fs::path(SAMEBITS_CORPORA) / "hostile";

std::string refusal(const fs::path& path) {
  try {
    open_checkpoint(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "opened";
}

TEST(OpenCheckpoint, RefusesEachHostileFileForItsOwnReason) {
  std::set<std::string> expected;
  std::ifstream lines(kHostile / "expected.tsv");
  for (std::string name, reason; std::getline(lines, name, '\t') && std::getline(lines, reason);) {
    const fs::path path = kHostile / name;
    EXPECT_EQ(refusal(path), path.string() + ": " + reason);
    expected.insert(name);
  }
  for (const auto& file : fs::directory_iterator(kHostile)) {
    const std::string name = file.path().filename();
    if (name == "expected.tsv" || name == "make_hostile.py") continue;
    EXPECT_TRUE(expected.contains(name)) << name << " has no expected reason";
  }
  EXPECT_GE(expected.size(), 30u);
}

TEST(OpenCheckpoint, OpensTheGoldenRecordings) {
  const auto source = open_checkpoint(fs::path(SAMEBITS_CORPORA) / "golden/gemm_block.safetensors");
  EXPECT_EQ(source->metadata().at("gpu"), "NVIDIA H200");
  EXPECT_EQ(source->entries().size(), 110u);
}

TEST(OpenCheckpoint, NamesWhatIsNoRegularFileAndNeverWaitsForIt) {
  const TemporaryDirectory directory;
  const std::string fifo = directory / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(refusal(fifo), fifo + ": is not a regular file");
  EXPECT_EQ(refusal("/dev/zero"), "/dev/zero: is not a regular file");
  EXPECT_EQ(refusal(directory.path()), directory.path().string() + ": is a directory, not a file");
}

TEST(OpenCheckpoint, NamesAMissingFile) {
  const TemporaryDirectory directory;
  const std::string missing = directory / "missing";
  EXPECT_EQ(refusal(missing), missing + ": cannot be opened: No such file or directory");
}

TEST(OpenCheckpoint, NamesAnUnreadableFile) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads every file";
  const TemporaryDirectory directory;
  const std::string path = directory / "secret";
  std::ofstream(path) << "{}";
  fs::permissions(path, fs::perms::none);
  EXPECT_EQ(refusal(path), path + ": cannot be opened: Permission denied");
}

TEST(OpenCheckpoint, KeepsAPathOfUnprintableBytesInOneLine) {
  EXPECT_EQ(refusal("no\nfile\xff"),
            "no\\x0afile\\xff: cannot be opened: No such file or directory");
}

}  // namespace
}  // namespace samebits::checkpoint
