// samebits inspect of a recorded trace.
#include <fstream>
#include <iterator>

#include "properties/cli_fixture.h"

namespace samebits::properties {
namespace {

namespace fs = std::filesystem;

using CliInspect = CliTest;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(CliInspect, OfATraceListsItsGemmsAndWhatTheirRecordsSay) {
  const fs::path recorded = SAMEBITS_CORPORA "/golden/traces/current/uncached";
  const Finished measured = run(Arguments{"inspect", recorded});
  EXPECT_EQ(measured.status, 0);
  for (const char* text : {"the trace of cuda/uncached", "gpu: NVIDIA H200", "cuBLASLt 130100"}) {
    EXPECT_NE(measured.out.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(measured.out.find("not modelled"), std::string::npos);

  const fs::path other = directory_ / "other";
  fs::create_directory(other);
  const auto copy = [&](const char* file, const std::string& from, const std::string& to) {
    std::string text = text_of(recorded / file);
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    std::ofstream(other / file) << text.replace(at, from.size(), to);
  };
  copy("trace.json", "\"9.0\"", "\"10.0\"");
  copy("events.jsonl", "\"dropped_terms\":0", "\"dropped_terms\":16");
  const Finished finished = run(Arguments{"inspect", other});
  EXPECT_EQ(finished.status, 1);
  for (const char* text : {"error: library drops terms: fc1 fprop (16): ",
                           "note: not modelled: cuda/uncached (72): GEMMs by cuBLASLt 130100 on "
                           "compute capability 10.0, not 9.0: "}) {
    EXPECT_NE(finished.out.find(text), std::string::npos) << finished.out;
  }
}

}  // namespace
}  // namespace samebits::properties
