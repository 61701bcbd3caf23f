#include "harness/evidence/write_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "harness/core/error.h"
#include "properties/temporary_directory.h"

namespace samebits::evidence {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string refusal(const fs::path& path, const std::string& text) {
  try {
    write_file(path, text);
  } catch (const Error& error) {
    return error.what();
  }
  return "written";
}

class WriteFileTest : public testing::Test {
 protected:
  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator());
  }

  properties::TemporaryDirectory directory_;
  fs::path path_ = directory_ / "file";
};

TEST_F(WriteFileTest, TheFileHoldsTheBytesAndNothingElseIsLeft) {
  const std::string text("a\0\n\xff", 4);
  write_file(path_, text);
  EXPECT_EQ(contents(path_), text);
  EXPECT_EQ(files(), 1);
}

TEST_F(WriteFileTest, ReplacesAFileByAShorterOne) {
  write_file(path_, "the first, longer text");
  write_file(path_, "short");
  EXPECT_EQ(contents(path_), "short");
  write_file(path_, std::span<const std::byte>());
  EXPECT_EQ(contents(path_), "");
  EXPECT_EQ(files(), 1);
}

TEST_F(WriteFileTest, AReaderOfTheOldFileKeepsItsBytes) {
  write_file(path_, "old");
  std::ifstream reader(path_);
  write_file(path_, "new");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "old");
}

TEST_F(WriteFileTest, PartsFollowOneAnother) {
  const std::string first = "ab", second = "", third = "cde";
  const std::array parts{std::as_bytes(std::span(first)), std::as_bytes(std::span(second)),
                         std::as_bytes(std::span(third))};
  write_file_parts(path_, parts);
  EXPECT_EQ(contents(path_), "abcde");
}

TEST_F(WriteFileTest, FollowsASymbolicLink) {
  write_file(path_, "old");
  fs::create_symlink("file", directory_ / "link");
  write_file(directory_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(directory_ / "link"));
  EXPECT_EQ(contents(path_), "new");
}

TEST_F(WriteFileTest, APathWithoutADirectoryIsInTheCurrentOne) {
  const fs::path before = fs::current_path();
  fs::current_path(directory_.path());
  write_file("file", "here");
  fs::current_path(before);
  EXPECT_EQ(contents(path_), "here");
}

TEST_F(WriteFileTest, NamesWhatCannotBeWrittenAndLeavesItAsItWas) {
  const std::string root = directory_.path();
  EXPECT_EQ(refusal(root + "/none/file", "x"),
            root + "/none/file: cannot be written: No such file or directory");
  fs::create_directory(directory_ / "directory");
  EXPECT_EQ(refusal(root + "/directory", "x"),
            root + "/directory: cannot be written: exists and is not a regular file");
  ASSERT_EQ(::mkfifo((root + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(refusal(root + "/fifo", "x"),
            root + "/fifo: cannot be written: exists and is not a regular file");
  fs::create_symlink("nothing", directory_ / "dangling");
  EXPECT_EQ(refusal(root + "/dangling", "x"),
            root + "/dangling: cannot be written: No such file or directory");
  EXPECT_EQ(files(), 3);
}

// A limit on the size of a file stands for a full disk: the write fails half way.
TEST_F(WriteFileTest, AWriteThatFailsHalfWayLeavesTheOldFileAndNoOther) {
  write_file(path_, "old");
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string reason = refusal(path_, std::string(5000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);

  EXPECT_EQ(reason, path_.string() + ": cannot be written: File too large");
  EXPECT_EQ(contents(path_), "old");
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace samebits::evidence
