// Bundles and replay, as a user's shell runs them.
#include <cstdlib>
#include <regex>

#include "properties/cli_bundle_fixture.h"

namespace samebits::properties {
namespace {

namespace fs = std::filesystem;

class CliBundle : public CliBundleTest {
 protected:
  // The bits of `bundle` as if an H200 had made those of the arms in `sides`.
  void pretend_cuda(const std::string& sides) const {
    for (const char side : sides) {
      const std::string folder(1, side);
      edit(folder + "/trace.json", "reference/", "cuda/");
      edit(folder + "/events.jsonl", "\"by\":\"reference\"", "\"by\":\"cuBLASLt 130100\"");
      const std::string arm = side == 'a' ? "uncached" : "cached";
      edit("manifest.json", "reference/" + arm, "cuda/" + arm);
    }
    edit("environment.json", "\"samebits\":", "\"gpu\": \"NVIDIA H200\", \"samebits\":");
    sign(bundle());
  }
  void edit(const std::string& file, const std::string& pattern, const std::string& text) const {
    const std::string before = bytes_of(bundle() / file);
    const std::string after = std::regex_replace(before, std::regex(pattern), text);
    ASSERT_NE(before, after) << file;
    write_bytes(bundle() / file, after);
  }
  int shell(const std::string& script) const {
    return std::system(("cd '" + directory_.path().string() + "' && { " + script + "\n}").c_str());
  }
};

TEST_F(CliBundle, TheCheckNamesItsFolder) {
  EXPECT_NE(check_.out.find("samebits replay bundle"), std::string::npos) << check_.out;
}

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
  for (const fs::path& file : files_of(bundle())) bytes += fs::file_size(file);
  EXPECT_LT(bytes, 200'000U);
}

// One bit of every hundredth byte, the first and the last of each file.
TEST_F(CliBundle, AFlippedBitOfAnyFileIsRefusedByThatFilesName) {
  for (const fs::path& file : files_of(bundle())) {
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

// Every cause that the scenarios have, and the delayed recipe's.
TEST_F(CliBundle, OfEachScenarioThatDiffersRepeatsAndHasGoodDigests) {
  const std::vector<Arguments> all{
      {"--scenario=stale-weight", "--recipe=current"},
      {"--scenario=stale-weight", "--recipe=mx"},
      {"--scenario=recipe-switch"},
      {"--scenario=recipe-switch", "--recipe=current"},
      {"--scenario=two-trues", "--main-grad=overwrite-first", "--microbatches=3"},
      {"--scenario=backward-reversed", "--main-grad=overwrite-first", "--microbatches=2"},
      {"--recipe=delayed", "--microbatches=2"}};
  int number = 0;
  for (Arguments arguments : all) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const std::string name = "bundle" + std::to_string(number++);
    arguments.insert(arguments.begin(), {"check", kDigits, "--layers=fc3", "--tokens=32"});
    arguments.insert(arguments.end(), {"--bundle", name});
    const Finished check = run(arguments);
    ASSERT_EQ(check.status, 1) << check.err;
    const Finished replay = run({"replay", name, "--bundle", name + "again"});
    EXPECT_EQ(replay.status, 1) << replay.err;
    EXPECT_NE(replay.out.find("REPEATS"), std::string::npos) << replay.out;
    EXPECT_EQ(shell("cd " + name + " && sha256sum --quiet --strict -c SHA256SUMS"), 0);
    EXPECT_EQ(shell("diff -r " + name + " " + name + "again"), 0) << "smaller the second time";
  }
}

TEST_F(CliBundle, OfAGpuReplaysWithoutOneByTheReferenceThatFollowsIt) {
  if (SAMEBITS_PROGRAM_HAS_CUDA) GTEST_SKIP() << "this program may find a GPU";
  pretend_cuda("ab");
  const Finished finished = run({"replay", "bundle"});
  EXPECT_EQ(finished.status, 1) << finished.err;
  for (const char* text :
       {"cuda/uncached: the reference, following the recorded GEMMs", "the recorded bits",
        "environment: gpu: recorded NVIDIA H200, here none", "REPEATS", "cause: stale weight"}) {
    EXPECT_NE(finished.out.find(text), std::string::npos) << finished.out;
  }
}

TEST_F(CliBundle, OfOneGpuArmComparesTheOtherWithTheRecording) {
  if (SAMEBITS_PROGRAM_HAS_CUDA) GTEST_SKIP() << "this program may find a GPU";
  pretend_cuda("a");
  const Finished finished = run({"replay", "bundle"});
  EXPECT_EQ(finished.status, 1) << finished.err;
  for (const char* text : {"cuda/uncached: taken from the recording", "REPEATS"}) {
    EXPECT_NE(finished.out.find(text), std::string::npos) << finished.out;
  }
}

// The recorded bits are others than this machine's: forged bytes of weights do that.
TEST_F(CliBundle, OtherBitsInTheSameEnvironmentAreNotReproducible) {
  edit("manifest.json", "\"learning_rate\": null", "\"learning_rate\": 0.5");
  sign(bundle());
  const Finished finished = run({"replay", "bundle"});
  EXPECT_EQ(finished.status, 3) << finished.out << finished.err;
  EXPECT_NE(finished.out.find("NOT REPRODUCIBLE"), std::string::npos) << finished.out;
}

// No step, no stale weight: both arms agree.
TEST_F(CliBundle, ADifferenceThatIsGoneInAnotherEnvironmentIsSame) {
  edit("manifest.json", "\"learning_rate\": null", "\"learning_rate\": 0");
  edit("environment.json", "\"compiler\": \"", "\"compiler\": \"old ");
  sign(bundle());
  const Finished finished = run({"replay", "bundle"});
  EXPECT_EQ(finished.status, 0) << finished.out << finished.err;
  for (const char* text : {"environment: compiler: recorded old ", "SAME"}) {
    EXPECT_NE(finished.out.find(text), std::string::npos) << finished.out;
  }
}

TEST_F(CliBundle, TwoCommandsThatWriteTheSameOneBothSucceed) {
  const std::string check = "'" SAMEBITS_PROGRAM "' check '" + kDigits +
                            "' --layers fc3 --tokens 16 --scenario stale-weight > ";
  EXPECT_EQ(shell(check + "one & " + check + "two; a=$?; wait $!; test $a$? = 11"), 0);
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory_ / "bundles")) {
    names.insert(entry.path().filename());
  }
  EXPECT_EQ(names.size(), 1U) << testing::PrintToString(names);
  EXPECT_EQ(run({"replay", "bundles/" + *names.begin()}).status, 1);
  EXPECT_EQ(bytes_of(directory_ / "one"), bytes_of(directory_ / "two"));
}

TEST_F(CliBundle, IsNeverOverwrittenAndAFailureLeavesTheVerdict) {
  const auto before = files_of(bundle());
  const Finished finished = run(small_check({"--scenario=stale-weight", "--bundle=bundle"}));
  EXPECT_EQ(files_of(bundle()), before);
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
