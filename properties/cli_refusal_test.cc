// What cannot be done is refused before anything runs: exit 2, one line, nothing written.
#include <fstream>

#include "properties/cli_fixture.h"

namespace samebits::properties {
namespace {

namespace fs = std::filesystem;

class CliRefusal : public CliTest {
 protected:
  void expect_check_refused(const Arguments& more, const std::string& text) const {
    expect_refused(small_check(more), text);
  }
};

TEST_F(CliRefusal, AFileThatCannotBeReadIsNamed) {
  std::ofstream(directory_ / "empty").close();
  for (const std::string command : {"check", "inspect", "digest"}) {
    expect_refused({command, "nowhere"}, "nowhere: cannot be opened: No such file");
    expect_refused({command, "empty"}, "empty: is empty");
    expect_refused({command, "."}, ".: is a directory");
    expect_refused({command, ""}, "its value is empty");
  }
}

TEST_F(CliRefusal, EveryHostileFileIsRefusedForTheReasonOnRecord) {
  const fs::path hostile = SAMEBITS_CORPORA "/hostile";
  std::ifstream expected(hostile / "expected.tsv");
  int count = 0;
  for (std::string line; std::getline(expected, line); ++count) {
    const auto tab = line.find('\t');
    const std::string name = line.substr(0, tab);
    // The program shows a backslash doubled; only names with control characters have one.
    const std::string reason = line.substr(tab + 1, line.find('\\') - tab - 1);
    for (const std::string command : {"check", "inspect", "digest"}) {
      expect_refused({command, hostile / name}, name + ": " + reason);
    }
  }
  EXPECT_GE(count, 30);
}

TEST_F(CliRefusal, ACheckpointWithNoLayerToCheckIsRefusedWithTheReason) {
  write("none", {{"embed.weight", bf16({16, 16})}, {"norm.weight", bf16({16})}});
  expect_refused({"check", "none"}, "none: has no linear layer");
  write("skipped", {{"a.weight", bf16({10, 16})}, {"b.weight", bf16({16, 8})}});
  expect_refused({"check", "skipped"},
                 "skipped: has no linear layer that FP8 GEMMs can take; a: "
                 "out is 10, not a multiple of 16");
  expect_refused({"check", kDigits, "--layers", "zz*"}, "no linear layer matches --layers zz*");
  expect_refused({"check", kDigits, "--layers=fc1", "--layers", ""}, "matches --layers");
}

TEST_F(CliRefusal, InputsThatDoNotFitAreRefusedWithTheTensorNamed) {
  const auto expect = [&](const std::map<std::string, HostTensor>& tensors, const char* text) {
    expect_refused({"check", kDigits, "--inputs", write("in", tensors)},
                   "in: " + std::string(text));
  };
  expect({{"fc1.x", bf16({2, 16, 48})}},
         "tensor fc1.x: is [2, 16, 48] where [slices, tokens, 64] is needed");
  expect({{"fc1.x", bf16({16, 64})}}, "tensor fc1.x: is [16, 64]");
  expect({{"fc1.x", bf16({0, 16, 64})}}, "tensor fc1.x: is [0, 16, 64]");
  expect({{"fc1.x", bf16({1, 24, 64})}}, "tensor fc1.x: has 24 tokens a slice");
  expect({{"fc1.x", bf16({1, 0, 64})}}, "tensor fc1.x: has 0 tokens a slice");
  expect({{"fc1.dy", bf16({1, 16, 64})}}, "tensor fc1.dy: is [1, 16, 64]");
  expect({{"fc1.x", bf16({2, 16, 64})}, {"fc1.dy", bf16({1, 16, 208})}}, "layer fc1: x is");
  expect({{"fc1.x", HostTensor::own(DType::kU8, {1, 16, 64}, std::vector<std::byte>(1024))}},
         "tensor fc1.x: is stored as U8");
  expect({{"fc9.x", bf16({1, 16, 64})}}, "has no tensor <layer>.x or <layer>.dy");
  expect_refused({"check", kDigits, "--inputs", kDigitsInputs, "--tokens=16"},
                 "layer fc1 was captured with 64 tokens a slice, but --tokens is 16");
  expect_refused({"check", kDigits, "--inputs", "nowhere"}, "nowhere: cannot be opened");
}

TEST_F(CliRefusal, ANumberIsDecimalWholeAndInRange) {
  for (const char* tokens : {"0", "-16", "24", "1048592", "4611686018427387904"}) {
    expect_refused({"check", kDigits, "--tokens", tokens}, std::string("--tokens is ") + tokens);
  }
  const std::map<std::string, Arguments> wrong{
      {"--tokens", {"", "16.0", "0x10", "9223372036854775808", "sixteen", " 16", "16 "}},
      {"--seed", {"", "-1", "18446744073709551616", "1e3", "0x10"}},
      {"--steps", {"", "0", "-1", "4097", "99999999999", "1e0"}},
      {"--microbatches", {"", "0", "-1", "4097", "1.5"}},
      {"--threads", {"", "-1", "4097", "all"}},
      {"--lr", {"", "nan", "inf", "-inf", "-1", "1e39", "1e-60", "fast", "0.1x"}}};
  for (const auto& [option, values] : wrong) {
    for (const std::string& value : values) {
      expect_refused({"check", kDigits, option, value}, option + ": \"" + value + "\" is not a ");
    }
  }
}

TEST_F(CliRefusal, WhatDoesNotGoTogetherIsRefused) {
  for (const char* recipe : {"mx", "delayed"}) {
    expect_check_refused({"--scale=pow2", "--recipe", recipe}, "--scale goes with the recipes");
  }
  expect_check_refused({"--arms=reference/cached,reference/cached", "--backend=reference"},
                       "--arms excludes --backend");
  expect_check_refused({"--payload"}, "--payload requires --trace");
  for (const char* scenario : {"stale-weight", "recipe-switch"}) {
    expect_refused({"check", kDigits, "--steps=1", "--scenario", scenario}, "fewer than 2 steps");
  }
  for (const char* scenario : {"two-trues", "eval-between"}) {
    expect_refused({"check", kDigits, "--microbatches=2", "--scenario", scenario},
                   "fewer than 3 microbatches");
  }
  expect_check_refused({"--scenario=backward-reversed"}, "fewer than 2 microbatches");
}

TEST_F(CliRefusal, UnknownWordsAreRefusedAndNamed) {
  expect_refused({}, "a command is needed: check, inspect, digest, replay or selftest");
  expect_refused({"verify"}, "verify");
  expect_refused({"check"}, "CHECKPOINT is required");
  expect_refused({"digest"}, "FILE is required");
  expect_check_refused({"--bogus"}, "not expected: --bogus");
  expect_check_refused({"another"}, "not expected: another");
  for (const char* option :
       {"--recipe", "--scale", "--formats", "--scenario", "--backend", "--main-grad"}) {
    expect_check_refused({option, "wrong"}, std::string(option) + ": wrong not in");
  }
  expect_check_refused({"--gemm=wrong"}, "not \"wrong\"");
  expect_check_refused({"--gemm=pinned:nowhere"}, "nowhere");
}

TEST_F(CliRefusal, ArmsAreABackendASlashAndTheCachingTwice) {
  for (const char* arms :
       {"reference/cached", "a,b", "reference,reference", "/cached,/cached",
        "reference/cached,reference/other", "reference/cached,reference/cached,"}) {
    expect_check_refused({"--arms", arms}, "arm");
  }
  expect_check_refused({"--arms", ""}, "--arms: its value is empty");
  expect_check_refused({"--arms=npu/cached,npu/uncached"}, "unknown backend \"npu\"");
}

TEST_F(CliRefusal, WithoutCudaItsBackendIsRefused) {
  if (SAMEBITS_PROGRAM_HAS_CUDA) GTEST_SKIP() << "this program was built with CUDA";
  expect_check_refused({"--backend=cuda"}, "built without CUDA");
  expect_check_refused({"--arms=reference/cached,cuda/cached"}, "built without CUDA");
}

TEST_F(CliRefusal, AnOptionGivenTwiceIsRefused) {
  for (const char* option : {"--seed=1", "--lr=1", "--tokens=16", "--steps=1", "--threads=1",
                             "--recipe=mx", "--json=j", "--trace=t", "--arms=reference/cached,x"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find('='));
    expect_refused({"check", kDigits, option, option}, name);
  }
}

TEST_F(CliRefusal, AnOutputThatCannotBeWrittenIsRefusedBeforeTheRun) {
  fs::create_directories(directory_ / "full/inside");
  std::ofstream(directory_ / "file") << "kept";
  fs::create_symlink("nowhere", directory_ / "dangling");
  expect_check_refused({"--json=nowhere/j"}, "nowhere/j: cannot be written: No such file");
  expect_check_refused({"--json=full"},
                       "full: cannot be written: exists and is not a regular file");
  expect_check_refused({"--json=file/j"}, "file/j: cannot be written: Not a directory");
  expect_check_refused({"--json", ""}, "--json: its value is empty");
  expect_check_refused({"--trace=nowhere/t"}, "nowhere/t: cannot be made: No such file");
  for (const char* taken : {"full", "file", "dangling"}) {
    expect_check_refused({"--trace", taken}, "exists and is not an empty folder");
  }
  expect_check_refused({"--trace", ""}, "--trace: its value is empty");
  expect_check_refused({"--json=/proc/j"}, "/proc/j: cannot be written");
  expect_check_refused({"--trace=/proc/t"}, "/proc/t: cannot be made");
  EXPECT_EQ(fs::file_size(directory_ / "file"), 4u);
}

TEST_F(CliRefusal, TheReportTakesNobodysPlace) {
  fs::copy_file(kDigits, directory_ / "w");
  fs::copy_file(kDigitsInputs, directory_ / "in");
  fs::create_symlink("w", directory_ / "link");
  for (const char* json : {"w", "./w", "link", "in"}) {
    expect_refused({"check", "w", "--inputs=in", "--json", json}, "would take the place of");
  }
  expect_check_refused({"--json=t", "--trace=./t"}, "would take the place of ./t");
  EXPECT_EQ(fs::file_size(directory_ / "w"), fs::file_size(kDigits));
}

}  // namespace
}  // namespace samebits::properties
