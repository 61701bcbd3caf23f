// A folder of one test's own, checkpoints in it, and the program run there.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/checkpoint/safetensors_writer.h"
#include "properties/run_program.h"
#include "properties/temporary_directory.h"

namespace samebits::properties {

inline const std::string kDigits = SAMEBITS_CORPORA "/checkpoints/digits.safetensors";
inline const std::string kDigitsInputs = SAMEBITS_CORPORA "/checkpoints/digits.inputs.safetensors";

using Arguments = std::vector<std::string>;

// BF16 from 1 to just below 2, no two neighbours equal.
inline HostTensor bf16(Shape shape) {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint16_t>(0x3f80 + i % 128);
  }
  return HostTensor::of<std::uint16_t>(DType::kBF16, std::move(shape), values);
}

class CliTest : public testing::Test {
 protected:
  Finished run(Command command) const {
    command.directory = directory_.path();
    return run_program(command);
  }
  Finished run(const Arguments& arguments) const { return run(Command{.arguments = arguments}); }

  // The smallest check: one layer of digits, one microbatch of 16 tokens.
  static Arguments small_check(const Arguments& more) {
    Arguments arguments{"check",     kDigits, "--layers",        "fc3", "--tokens", "16",
                        "--threads", "1",     "--microbatches=1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  std::string write(const std::string& name, const std::map<std::string, HostTensor>& tensors) {
    checkpoint::write_safetensors(directory_ / name, tensors, {});
    return name;
  }

  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path())) {
      names.insert(entry.path().lexically_relative(directory_.path()).string());
    }
    return names;
  }

  // Exit 2; one line on standard error, which says `text`; nothing on standard output; no new file.
  void expect_refused(const Arguments& arguments, const std::string& text) const {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const auto before = files();
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status, 2);
    EXPECT_TRUE(finished.err.starts_with("samebits: ")) << finished.err;
    EXPECT_EQ(finished.err.find('\n') + 1, finished.err.size()) << finished.err;
    EXPECT_NE(finished.err.find(text), std::string::npos) << finished.err << "  lacks: " << text;
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(files(), before);
  }

  TemporaryDirectory directory_;
};

}  // namespace samebits::properties
