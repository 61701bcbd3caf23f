// What the program prints, writes and returns.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "harness/checkpoint/tensor_source.h"
#include "harness/evidence/digest.h"
#include "properties/cli_fixture.h"

namespace samebits::properties {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kStale = "--scenario=stale-weight";

std::string file_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string sha256(const std::string& text) {
  evidence::Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return evidence::hex(hash.finish());
}

std::string last_line(const std::string& text) { return text.empty() ? "" : lines(text).back(); }

class Cli : public CliTest {
 protected:
  // The report of a check that ends with this status.
  Json report(const Arguments& arguments, int status) {
    Arguments with_report = arguments;
    with_report.insert(with_report.end(), {"--json", "report.json"});
    const Finished finished = run(with_report);
    EXPECT_EQ(finished.status, status) << finished.err;
    EXPECT_EQ(finished.err, "");
    return Json::parse(file_text(directory_ / "report.json"));
  }
};

void expect_place(const Json& json) {
  for (const char* count : {"step", "microbatch"}) EXPECT_TRUE(json.at(count).is_number_unsigned());
  for (const char* text : {"pass", "layer", "operation", "tensor", "cause"}) {
    EXPECT_TRUE(json.at(text).is_string()) << text;
  }
}

void expect_first(const Json& json) {
  expect_place(json);
  EXPECT_GT(json.at("different").get<int>(), 0);
  EXPECT_GE(json.at("elements"), json.at("different"));
  EXPECT_EQ(json.at("index").size(), 2u);
  for (const char* side : {"a", "b"}) {
    EXPECT_TRUE(json.at(side).at("bits").get<std::string>().starts_with("0x"));
    EXPECT_TRUE(json.at(side).contains("value"));
  }
  EXPECT_NE(json.at("a").at("bits"), json.at("b").at("bits"));
}

// Every field of samebits-report-1.
void expect_schema(const Json& json, std::size_t steps) {
  EXPECT_EQ(json.at("schema"), "samebits-report-1");
  EXPECT_TRUE(json.at("verdict").is_string());
  if (!json.at("first").is_null()) expect_first(json.at("first"));
  for (const Json& cause : json.at("causes")) expect_place(cause);
  for (const Json& finding : json.at("findings")) {
    for (const char* text : {"kind", "where", "advice"}) EXPECT_TRUE(finding.at(text).is_string());
    EXPECT_TRUE(finding.at("count").is_number_unsigned());
  }
  for (const char* count : {"layers", "events", "tensors", "bits"}) {
    EXPECT_GT(json.at(count).get<std::uint64_t>(), 0u) << count;
  }
  for (const Json& skipped : json.at("skipped")) {
    for (const char* text : {"layer", "reason"}) EXPECT_TRUE(skipped.at(text).is_string());
  }
  for (const char* side : {"a", "b"}) {
    EXPECT_EQ(json.at("loss").at(side).size(), steps);
    EXPECT_EQ(json.at("trace_digest").at(side).get<std::string>().size(), 64u);
  }
  EXPECT_TRUE(json.at("seed").is_number_unsigned());
  EXPECT_TRUE(json.at("command").is_string());
  EXPECT_TRUE(json.at("environment").is_object());
}

TEST_F(Cli, ExitsWithZeroAndAFullReportWhereTheArmsAgree) {
  const Json json = report({"check", kDigits, "--tokens=16", "--steps=1", "--microbatches=1"}, 0);
  expect_schema(json, 1);
  EXPECT_EQ(json.at("verdict"), "same");
  EXPECT_TRUE(json.at("first").is_null());
  EXPECT_TRUE(json.at("causes").empty());
  EXPECT_EQ(json.at("layers"), 3);
  EXPECT_EQ(json.at("skipped"),
            Json::parse(R"([{"layer": "fc4", "reason": "out is 10, not a multiple of 16"}])"));
  EXPECT_EQ(json.at("trace_digest").at("a"), json.at("trace_digest").at("b"));
  EXPECT_EQ(files(), std::set<std::string>{"report.json"});
}

TEST_F(Cli, ExitsWithOneAndAFullReportWhereTheyDiffer) {
  const Json json = report(small_check({kStale}), 1);
  expect_schema(json, 2);
  EXPECT_EQ(json.at("verdict"), "different");
  EXPECT_EQ(json.at("first").at("cause"), "stale weight");
  EXPECT_EQ(json.at("first").at("layer"), "fc3");
  EXPECT_FALSE(json.at("causes").empty());
  EXPECT_NE(json.at("trace_digest").at("a"), json.at("trace_digest").at("b"));
}

TEST_F(Cli, TheReportDoesNotDependOnTheThreads) {
  Arguments arguments = small_check({kStale});
  Json one = report(arguments, 1);
  *std::find(arguments.begin(), arguments.end(), "1") = "2";  // --threads
  Json two = report(arguments, 1);
  EXPECT_NE(one.at("command"), two.at("command"));
  for (Json* json : {&one, &two}) {
    json->erase("command");
    json->erase("repeat");
  }
  EXPECT_EQ(one, two);
}

TEST_F(Cli, TheRepeatLineRepeatsTheRun) {
  const std::string odd = "it's \"a\" \x1b[31m \xc3\xb6 $HOME\n.safetensors";
  fs::copy_file(kDigits, directory_ / odd);
  const Finished first =
      run(Arguments{"check", "--tokens=16", "--steps=1", "--microbatches=1", "--", odd});
  EXPECT_EQ(first.status, 0) << first.err;
  const std::string line = last_line(first.out);
  const std::string mark = "  repeat: samebits check ";
  ASSERT_TRUE(line.starts_with(mark)) << line;
  EXPECT_NE(line.find(" --seed 0 "), std::string::npos) << line;
  const std::string script = "cd '" + directory_.path().string() +
                             "' && '" SAMEBITS_PROGRAM "' check " + line.substr(mark.size()) +
                             " > again";
  std::ofstream(directory_ / "again.sh") << script;
  ASSERT_EQ(std::system(("bash '" + (directory_ / "again.sh").string() + "'").c_str()), 0);
  const auto before = lines(first.out), after = lines(file_text(directory_ / "again"));
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 1; i + 1 < before.size(); ++i) EXPECT_EQ(after[i], before[i]);
}

TEST_F(Cli, ColoursAreForTerminalsWithoutNoColor) {
  Command command{.arguments = small_check({"--steps=1"})};
  EXPECT_EQ(run(command).out.find('\x1b'), std::string::npos);
  command.out = Stream::kTerminal;
  EXPECT_NE(run(command).out.find('\x1b'), std::string::npos);
  command.no_color = true;
  EXPECT_EQ(run(command).out.find('\x1b'), std::string::npos);
}

TEST_F(Cli, ATraceHasEveryEventOfBothArmsAndThePayloadByDigest) {
  const Json json = [&] {
    fs::create_directory(directory_ / "folder");  // an empty one is used
    fs::create_symlink("folder", directory_ / "link");
    return report(small_check({kStale, "--trace=link", "--no-bundle"}), 1);
  }();
  for (const std::string side : {"a", "b"}) {
    const fs::path folder = directory_ / "folder" / side;
    const Json trace = Json::parse(file_text(folder / "trace.json"));
    EXPECT_EQ(trace.at("schema"), "samebits-trace-1");
    EXPECT_EQ(trace.at("arm"), json.at("arms").at(side));
    EXPECT_EQ(trace.at("trace_digest"), json.at("trace_digest").at(side));
    const std::string events = file_text(folder / "events.jsonl");
    EXPECT_EQ(lines(events).size(), json.at("events").get<std::size_t>());
    for (const std::string& line : lines(events)) EXPECT_EQ(Json::parse(line).at("layer"), "fc3");
    const auto payload = checkpoint::open_checkpoint(folder / "payload-000.safetensors");
    EXPECT_FALSE(payload->entries().empty());
    for (const auto& entry : payload->entries()) {
      EXPECT_EQ(entry.name, evidence::hex(evidence::tensor_digest(payload->read(entry.name))));
      EXPECT_NE(events.find(entry.name), std::string::npos);
    }
  }
  EXPECT_EQ(files().size(), 11u);  // report, folder, link, a and b with three files each
}

TEST_F(Cli, NaNAndInfInWeightsAreCountedAndTheRunEndsWithAVerdict) {
  std::vector<std::uint16_t> values(16 * 32, 0x3f80);
  values[5] = values[77] = 0x7fc0;  // NaN
  values[300] = 0xff80;             // -Inf
  write("w", {{"a.weight", HostTensor::of<std::uint16_t>(DType::kBF16, {16, 32}, values)}});
  for (const char* recipe : {"current", "block", "mx"}) {
    const Json json = report({"check", "w", "--tokens=16", "--recipe", recipe}, 0);
    EXPECT_EQ(json.at("verdict"), "same");
    const auto& findings = json.at("findings");
    const auto found = std::find_if(findings.begin(), findings.end(), [](const Json& finding) {
      return finding.at("kind") == "non-finite weight";
    });
    ASSERT_NE(found, findings.end());
    EXPECT_EQ(found->at("where"), "a");
    EXPECT_EQ(found->at("count"), 3);
  }
}

TEST_F(Cli, AnyNameOfALayerIsShownAndReported) {
  const std::vector<std::string> names{"a b", "quote\"s'", "{}%s\\n", "\xc3\xb6\xe4\xbd\xa0",
                                       "../up"};
  std::map<std::string, HostTensor> tensors;
  for (const std::string& name : names) tensors[name + ".weight"] = bf16({16, 16});
  for (const std::string& name : names) tensors[name + "10.weight"] = bf16({10, 16});
  write("w", tensors);
  const Json json = report({"check", "w", "--tokens=16", "--lr=0", "--trace=t"}, 0);
  std::set<std::string> reported;
  for (const Json& finding : json.at("findings")) reported.insert(finding.at("where"));
  for (const Json& skipped : json.at("skipped")) reported.insert(skipped.at("layer"));
  for (const std::string& name : names) {
    EXPECT_TRUE(reported.contains(name)) << name;
    EXPECT_TRUE(reported.contains(name + "10")) << name;
  }
  const Finished finished = run(Arguments{"inspect", "w"});
  EXPECT_EQ(finished.status, 0);
  for (const char c : finished.out) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  EXPECT_NE(finished.out.find("\\xc3\\xb6"), std::string::npos);
}

TEST_F(Cli, HelpAndVersionSucceed) {
  const Finished version = run(Arguments{"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_TRUE(version.out.starts_with("samebits ")) << version.out;
  for (const Arguments& help : {Arguments{"--help"}, {"inspect", "--help"}, {"digest", "--help"}}) {
    EXPECT_EQ(run(help).status, 0);
  }
  const Finished check = run(Arguments{"check", "--help"});
  EXPECT_EQ(check.status, 0);
  for (const char* scenario : {"train", "eval-first", "eval-between", "recompute", "two-trues",
                               "backward-reversed", "stale-weight", "recipe-switch"}) {
    EXPECT_NE(check.out.find("\n  " + std::string(scenario) + " "), std::string::npos) << scenario;
  }
}

TEST_F(Cli, ADigestBeginsAsSha256sumDoes) {
  const Finished finished = run(Arguments{"digest", kDigits, kDigitsInputs});
  EXPECT_EQ(finished.status, 0);
  const auto shown = lines(finished.out);
  for (const std::string& file : {kDigits, kDigitsInputs}) {
    const auto line = std::find(shown.begin(), shown.end(), sha256(file_text(file)) + "  " + file);
    EXPECT_NE(line, shown.end()) << finished.out;
  }
  const auto source = checkpoint::open_checkpoint(kDigits);
  for (const auto& entry : source->entries()) {
    const std::string digest = evidence::hex(evidence::tensor_digest(source->read(entry.name)));
    EXPECT_NE(std::find(shown.begin(), shown.end(), "  " + digest + "  " + entry.name),
              shown.end());
  }
}

TEST_F(Cli, InspectListsTensorsAndSkippedLayers) {
  const Finished finished = run(Arguments{"inspect", kDigits});
  EXPECT_EQ(finished.status, 0);
  for (const char* text : {"fc1.weight", "[208, 64]", "3 linear layers",
                           "skipped: fc4: out is 10, not a multiple of 16"}) {
    EXPECT_NE(finished.out.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(run(Arguments{"inspect", kDigitsInputs}).status, 0);
}

TEST_F(Cli, OutputThatCannotBeWrittenIsTroubleBeforeTheRun) {
  const std::vector<Arguments> all{{"--help"},          {"--version"},
                                   {"check", "--help"}, {"inspect", kDigits},
                                   {"digest", kDigits}, small_check({"--json=j", "--trace=t"})};
  for (const Arguments& arguments : all) {
    for (const Stream stream : {Stream::kFull, Stream::kClosed}) {
      const Finished finished = run({.arguments = arguments, .out = stream});
      EXPECT_EQ(finished.status, 2) << testing::PrintToString(arguments);
      EXPECT_EQ(finished.err, "samebits: standard output cannot be written\n");
      EXPECT_EQ(files(), std::set<std::string>());
    }
  }
}

TEST_F(Cli, TroubleIsToldByTheStatusWhereStandardErrorCannotBeWritten) {
  for (const Stream stream : {Stream::kFull, Stream::kClosed}) {
    EXPECT_EQ(run({.arguments = {"inspect", "nowhere"}, .err = stream}).status, 2);
    EXPECT_EQ(run({.arguments = small_check({"--steps=1"}), .err = stream}).status, 0);
  }
}

TEST_F(Cli, AnInterruptLeavesNoFile) {
  const Arguments arguments{"check",     kDigits,       "--json=j",
                            "--trace=t", "--steps=100", "--microbatches=100"};
  EXPECT_EQ(run({.arguments = arguments, .interrupt = true}).status, -SIGINT);
  EXPECT_EQ(files(), std::set<std::string>());
}

TEST_F(Cli, AFullDiskLeavesNoFile) {
  const Arguments arguments = small_check({"--json=j", "--trace=t", "--steps=20"});
  const Finished finished = run({.arguments = arguments, .file_limit = 16 << 10});
  EXPECT_EQ(finished.status, 2);
  EXPECT_EQ(lines(finished.err).size(), 1u) << finished.err;
  EXPECT_NE(finished.err.find("cannot be written: File too large"), std::string::npos)
      << finished.err;
  EXPECT_EQ(files(), std::set<std::string>());
}

}  // namespace
}  // namespace samebits::properties
