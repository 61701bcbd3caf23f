#include "harness/evidence/trace_reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "harness/core/error.h"
#include "harness/core/scenario.h"
#include "harness/evidence/trace_writer.h"
#include "properties/temporary_directory.h"
#include "properties/test_layers.h"

namespace samebits::evidence {
namespace {

namespace fs = std::filesystem;

// Both traces of a small check, written below a temporary folder.
struct WrittenTrace : testing::Test {
  properties::TemporaryDirectory temporary;
  CheckRequest request =
      caching_check(make_scenario("two-trues", Recipe::defaults(RecipeKind::kCurrent),
                                  MainGrad::kOverwriteFirst, 1, 3),
                    {test_layer("first", DType::kBF16, 32, 48)});
  CheckResult result = check_on_reference(request);
  fs::path folder = temporary.path() / "trace";

  void SetUp() override {
    write_traces(folder, {{"a", {&result.a, &request.program, {{"gpu", "none"}}, {}}},
                          {"b", {&result.b, &request.program, {}, {}}}});
  }
  static std::string read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  // What reading says after `from` became `to` in a file of trace a, once.
  std::string refusal(const char* file, const std::string& from, const std::string& to) {
    const fs::path path = folder / "a" / file;
    const std::string before = read(path);
    std::string text = before;
    const auto at = text.find(from);
    if (at == std::string::npos) return "there is no " + from;
    std::ofstream(path) << text.replace(at, from.size(), to);
    std::string reason = "accepted";
    try {
      read_trace(folder / "a");
    } catch (const Error& error) {
      reason = error.what();
    }
    std::ofstream(path) << before;
    return reason;
  }
};

TEST_F(WrittenTrace, ReadsBackToTheSameBitsProgramAndRecords) {
  const LoadedTrace loaded = read_trace(folder / "b");
  EXPECT_EQ(loaded.trace.arm, "reference/cached");
  const Comparison comparison = compare(result.b, loaded.trace);
  EXPECT_FALSE(comparison.mismatch);
  EXPECT_TRUE(comparison.differences.empty());
  EXPECT_EQ(trace_digest(loaded.trace), trace_digest(result.b));
  EXPECT_EQ(loaded.program.recipe, request.program.recipe);
  EXPECT_EQ(loaded.program.main_grad, request.program.main_grad);
  EXPECT_EQ(loaded.program.ops.size(), request.program.ops.size());
  for (std::size_t e = 0; e < loaded.trace.events.size(); ++e) {
    EXPECT_EQ(loaded.trace.events[e].gemm, result.b.events[e].gemm);
    EXPECT_EQ(loaded.trace.events[e].beta, result.b.events[e].beta);
  }
  EXPECT_EQ(read_trace(folder / "a").environment.at("gpu"), "none");
}

TEST_F(WrittenTrace, KeepsEveryFieldOfARecord) {
  GemmRecord& record = result.a.events[0].gemm.emplace();
  record.by = "a library";
  record.algorithm = "a kernel";
  record.split_k = 3;
  record.dropped_terms = 16;
  write_traces(temporary.path() / "other", {{"a", {&result.a, &request.program, {}, {}}}});
  const LoadedTrace loaded = read_trace(temporary.path() / "other" / "a");
  EXPECT_EQ(loaded.trace.events[0].gemm, result.a.events[0].gemm);
}

TEST_F(WrittenTrace, ALibrarysRecordsAreOfTheChipThatTheEnvironmentNames) {
  for (Event& event : result.a.events) {
    if (event.gemm) event.gemm->by = "cuBLASLt 130100";
  }
  const auto chips = [&](const char* name, const auto& environment) {
    write_traces(temporary.path() / name, {{"a", {&result.a, &request.program, environment, {}}},
                                           {"b", {&result.b, &request.program, environment, {}}}});
    std::string text;
    for (const char* arm : {"a", "b"}) {
      const auto loaded = read_trace(temporary.path() / name / arm);
      text += loaded.trace.events.front().gemm->chip + ";";
    }
    return text;
  };
  using Environment = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(chips("named", Environment{{"compute capability", "9.0"}}), "9.0;;");
  EXPECT_EQ(chips("unnamed", Environment{}), ";;");
}

TEST_F(WrittenTrace, RefusesWithTheFileAndTheReason) {
  const auto ends_with = [](const std::string& text, const std::string& end) {
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
  };
  const std::string of_events = "events.jsonl line 1: ";
  EXPECT_TRUE(ends_with(refusal("events.jsonl", "\"step\":0", "\"step\":-1"),
                        of_events + "\"step\" is not an integer from 0 to 2147483647"));
  EXPECT_TRUE(ends_with(refusal("events.jsonl", "\"fprop\"", "\"prop\""),
                        of_events + "\"operation\" is \"prop\", which is none"));
  EXPECT_TRUE(ends_with(refusal("events.jsonl", "\"F8_E4M3\"", "\"F8\""),
                        of_events + "unknown dtype \"F8\""));
  EXPECT_TRUE(ends_with(refusal("events.jsonl", "\"digest\":\"", "\"digest\":\"g"),
                        of_events + "\"digest\" is not 64 lower-case hexadecimal digits"));
  EXPECT_TRUE(ends_with(refusal("events.jsonl", "\"split_k\":1", "\"split_k\":0"),
                        of_events + "\"split_k\" is not an integer from 1 to 2147483647"));
  EXPECT_TRUE(ends_with(refusal("trace.json", "samebits-trace-1", "samebits-trace-2"),
                        "trace.json: is no samebits-trace-1"));
  EXPECT_TRUE(ends_with(refusal("trace.json", "\"two-trues\"", "\"three-trues\""),
                        "trace.json: unknown scenario \"three-trues\""));
}

TEST_F(WrittenTrace, RefusesALastLineThatIsCutShort) {
  const fs::path path = folder / "a" / "events.jsonl";
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_THROW(read_trace(folder / "a"), Error);
}

TEST_F(WrittenTrace, IsNeverWrittenOverAFolderThatHoldsSomething) {
  EXPECT_THROW(write_traces(folder, {{"a", {&result.a, &request.program, {}, {}}}}), Error);
  EXPECT_EQ(read_trace(folder / "b").trace.events.size(), result.b.events.size());
}

}  // namespace
}  // namespace samebits::evidence
