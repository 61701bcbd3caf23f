// Bundles that were made to do harm: each is refused for its reason, and nothing is written.
#include <sys/stat.h>

#include <functional>
#include <regex>

#include "properties/cli_bundle_fixture.h"

namespace samebits::properties {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSums = evidence::kChecksums;

using Edit = std::function<void(const fs::path& bundle)>;

// The first match of `pattern` in one file, by `text`; signed again, but for SHA256SUMS itself.
Edit change(const std::string& file, const std::string& pattern, const std::string& text) {
  return [=](const fs::path& bundle) {
    const std::string before = bytes_of(bundle / file);
    const std::string after = std::regex_replace(before, std::regex(pattern), text,
                                                 std::regex_constants::format_first_only);
    ASSERT_NE(before, after) << file << ": " << pattern;
    write_bytes(bundle / file, after);
    if (file != kSums) sign(bundle);
  };
}

Edit all(const std::string& file, const std::string& text) {
  return [=](const fs::path& bundle) {
    write_bytes(bundle / file, text);
    if (file != kSums) sign(bundle);
  };
}

Edit instead(const std::string& file, const std::function<void(const fs::path& path)>& make) {
  return [=](const fs::path& bundle) {
    fs::remove_all(bundle / file);
    make(bundle / file);
  };
}

// inputs.safetensors of other tensors.
Edit inputs(const std::map<std::string, HostTensor>& tensors) {
  return [=](const fs::path& bundle) {
    checkpoint::write_safetensors(bundle / "inputs.safetensors", tensors, {});
    sign(bundle);
  };
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

struct Hostile {
  const char* what;
  Edit edit;
  const char* reason;
};

const std::string kManifest = "manifest.json", kEnvironment = "environment.json",
                  kEvents = "a/events.jsonl", kInputs = "inputs.safetensors";

std::vector<Hostile> hostile_sums() {
  return {
      {"a path upwards", change(kSums, "  manifest.json", "  ../../manifest.json"),
       "SHA256SUMS: line 10: names ../../manifest.json where manifest.json stands"},
      {"an absolute path", change(kSums, "  REPLAY.md", "  /etc/passwd"), "names /etc/passwd"},
      {"upper-case digits", all(kSums, std::string(64, 'A') + "  REPLAY.md\n"),
       "SHA256SUMS: line 1: is not 64 lower-case hexadecimal digits"},
      {"one space", change(kSums, "  REPLAY", " REPLAY"), "two spaces and a name"},
      {"a binary mark", change(kSums, "  REPLAY", " *REPLAY"), "two spaces and a name"},
      {"line ends of another system", change(kSums, "\n", "\r\n"), "names REPLAY.md\\\\x0d"},
      {"a file twice", change(kSums, "([0-9a-f]+  REPLAY.md\n)", "$1$1"),
       "line 2: names REPLAY.md"},
      {"not in order", change(kSums, "([^\n]+\n)([^\n]+\n)", "$2$1"), "the names are sorted"},
      {"a file unlisted", change(kSums, "[^\n]+  manifest.json\n", ""), "line 10: is missing"},
      {"a line more", change(kSums, "$", std::string(64, '0') + "  more\n"), "line 11"},
      {"no last line end", change(kSums, "manifest.json\n", "manifest.json"), "is missing"},
      {"empty", all(kSums, ""), "SHA256SUMS: line 1: is missing"},
  };
}

std::vector<Hostile> hostile_folders() {
  return {
      {"a link to a file elsewhere",
       instead("REPLAY.md", [](const fs::path& path) { fs::create_symlink("/etc/passwd", path); }),
       "REPLAY.md: is a link"},
      {"a link as SHA256SUMS",
       instead(kSums, [](const fs::path& path) { fs::create_symlink("REPLAY.md", path); }),
       "SHA256SUMS: is a link"},
      {"a folder that is a link",
       instead("b", [](const fs::path& path) { fs::create_directory_symlink("a", path); }),
       "b: is a link"},
      {"a pipe", instead("REPLAY.md", [](const fs::path& path) { ::mkfifo(path.c_str(), 0600); }),
       "REPLAY.md: is not a regular file"},
      {"a folder for a file",
       instead(kManifest, [](const fs::path& path) { fs::create_directory(path); }),
       "manifest.json: is not a regular file"},
      {"a missing file", instead(kEvents, [](const fs::path&) {}),
       "a/events.jsonl: cannot be opened"},
      {"a file more", [](const fs::path& bundle) { write_bytes(bundle / "a/.hidden", "x"); },
       "a/.hidden: does not belong there"},
      {"a folder more", [](const fs::path& bundle) { fs::create_directory(bundle / "c"); },
       "c: does not belong there"},
      {"65 MB",
       [](const fs::path& bundle) { fs::resize_file(bundle / kEvents, std::uintmax_t{65} << 20); },
       "have more than 67108864 bytes"},
      {"17 MB of JSON",
       [](const fs::path& bundle) {
         fs::resize_file(bundle / kManifest, std::uintmax_t{17} << 20);
         sign(bundle);
       },
       "manifest.json: is larger than 16777216 bytes"},
  };
}

std::vector<Hostile> hostile_manifests() {
  return {
      {"a key twice", change(kManifest, R"("smallest": true)", R"("smallest": 1, "smallest": 1)"),
       "manifest.json: the key \"smallest\" stands twice"},
      {"deep nesting", all(kManifest, nested(100'000)), "manifest.json: is nested deeper than 16"},
      {"a command", change(kManifest, R"("smallest")", R"("command": "true", "smallest")"),
       "unknown key \"command\""},
      {"a library as an arm",
       change(kManifest, R"("reference/uncached")", R"("/tmp/evil.so/uncached")"), "manifest.json"},
      {"a backend that is none", change(kManifest, R"("reference/uncached")", R"("evil/uncached")"),
       "manifest.json: unknown backend \"evil\""},
      {"a file to follow", change(kManifest, R"("heuristic")", R"("pinned:/etc/passwd")"),
       "\"gemm\" is \"pinned:/etc/passwd\", which is none"},
      {"a billion steps", change(kManifest, R"("steps": \d+)", R"("steps": 1000000000)"),
       "\"steps\" is not an integer from 1 to 4096"},
      {"16 M microbatches",
       change(kManifest, R"("steps": \d+,\s*"microbatches": \d+)",
              R"("steps": 4096, "microbatches": 4096)"),
       "\"steps\" times \"microbatches\" is more than"},
      {"a step that wraps", change(kManifest, R"("steps": \d+)", R"("steps": 4294967297)"),
       "\"steps\" is not an integer"},
      {"2^64", change(kManifest, R"("steps": \d+)", R"("steps": 18446744073709551616)"),
       "does not fit 64 bits"},
      {"a text for a number", change(kManifest, R"("steps": \d+)", R"("steps": "2")"),
       "\"steps\" is not an integer"},
      {"a list for an object", change(kManifest, R"("arms": \{)", R"("arms": [], "x": {)"),
       "manifest.json"},
      {"an infinite rate",
       change(kManifest, R"("learning_rate": null)", R"("learning_rate": 1e99)"),
       "\"learning_rate\" is no rate"},
      {"a negative rate", change(kManifest, R"("learning_rate": null)", R"("learning_rate": -1)"),
       "\"learning_rate\" is no rate"},
      {"a backward of nothing", change(kManifest, R"("op": "forward")", R"("op": "backward")"),
       "no forward of its microbatch comes before it"},
      {"a microbatch outside",
       change(kManifest, R"("microbatch": 0,\s*"flag")", R"("microbatch": 7, "flag")"),
       "its microbatch is none of the program's"},
      {"an operation that is none", change(kManifest, R"("op": "forward")", R"("op": "shell")"),
       "\"op\" is \"shell\", which is none"},
      {"another cause", change(kManifest, R"("stale weight")", R"("update arithmetic")"),
       "\"first\" is not the first difference"},
      {"another trace digest", change(kManifest, R"("a": "[0-9a-f]{8})", R"("a": "00000000)"),
       "has another trace digest than the manifest says"},
      {"another schema", change(kManifest, "samebits-bundle-1", "samebits-bundle-2"),
       "is no samebits-bundle-1"},
      {"null", all(kManifest, "null"), "manifest.json: is not a JSON object"},
      {"bytes that are no UTF-8", change(kManifest, "stale weight", "\xff\xfe"), "manifest.json"},
      {"an environment of numbers",
       change(kEnvironment, R"("samebits": "[^"]*")", R"("samebits": 1)"),
       "environment.json: \"environment\" holds more than strings"},
      {"an empty environment", all(kEnvironment, ""), "environment.json: is not valid JSON"},
  };
}

std::vector<Hostile> hostile_data() {
  const HostTensor matrix = bf16({16, 16}), two = bf16({2, 16, 16});
  return {
      {"two layers",
       inputs({{"a.weight", matrix}, {"b.weight", matrix}, {"a.x", two}, {"a.dy", two}}),
       "inputs.safetensors: does not hold just one layer"},
      {"no layer", inputs({{"fc1.x", two}}), "inputs.safetensors"},
      {"inputs that are too few",
       inputs({{"fc1.weight", matrix}, {"fc1.x", bf16({1, 16, 16})}, {"fc1.dy", two}}),
       "inputs.safetensors"},
      {"inputs that are too many",
       inputs({{"fc1.weight", matrix}, {"fc1.x", two}, {"fc1.dy", two}, {"fc1.target", two}}),
       "holds not just one of dy and target"},
      {"a tensor more",
       inputs({{"fc1.weight", matrix}, {"fc1.x", two}, {"fc1.dy", two}, {"more", matrix}}),
       "inputs.safetensors"},
      {"a header of 2^63 bytes", all(kInputs, std::string(7, '\0') + "\x80{}"),
       "inputs.safetensors: not a safetensors file"},
      {"a payload that lacks the tensor",
       [](const fs::path& bundle) {
         checkpoint::write_safetensors(bundle / "a/payload-000.safetensors", {}, {});
         sign(bundle);
       },
       "a/payload-000.safetensors: tensor"},
      {"a payload under another's digest",
       [](const fs::path& bundle) {
         std::string bytes = bytes_of(bundle / "a/payload-000.safetensors");
         bytes.back() = static_cast<char>(bytes.back() ^ 1);
         write_bytes(bundle / "a/payload-000.safetensors", bytes);
         sign(bundle);
       },
       "a/payload-000.safetensors: a tensor's digest is not its name"},
      {"a trace of another arm", change("a/trace.json", "reference/uncached", "reference/cached"),
       "a/trace.json: is of another arm"},
      {"an event of another layer", change(kEvents, R"("layer":"fc1")", R"("layer":"../fc1")"),
       "a/events.jsonl: holds an event of a layer that the bundle has not"},
      {"a shape of 2^62 bytes",
       change(kEvents, R"("shape":\[\d+,\d+\])", R"("shape":[2147483647,2147483647,9])"),
       "a/events.jsonl line 1"},
      {"a shape below zero", change(kEvents, R"("shape":\[\d+)", R"("shape":[-16)"),
       "a/events.jsonl line 1: \"shape\""},
      {"a dtype that is none", change(kEvents, R"("dtype":"BF16")", R"("dtype":"F128")"),
       "a/events.jsonl line 1: unknown dtype"},
      {"an event cut short", change(kEvents, "\n$", ""), "is cut short"},
      {"an event twice", change(kEvents, "^([^\n]+\n)", "$1$1"), "a/events.jsonl"},
      {"no event", all(kEvents, ""), "a/events.jsonl"},
      {"a trace that is the other one",
       [](const fs::path& bundle) {
         fs::copy_file(bundle / "a/events.jsonl", bundle / "b/events.jsonl",
                       fs::copy_options::overwrite_existing);
         const std::regex pattern(R"re("b": "([0-9a-f]{64})")re");
         const std::string manifest = bytes_of(bundle / kManifest);
         std::smatch match;
         ASSERT_TRUE(
             std::regex_search(manifest, match, std::regex(R"re("a": ("[0-9a-f]{64}"))re")));
         write_bytes(bundle / kManifest,
                     std::regex_replace(manifest, pattern, R"("b": )" + match[1].str()));
         sign(bundle);
       },
       "b/events.jsonl: holds a's bits"},
  };
}

class CliHostileBundle : public CliBundleTest {
 protected:
  void expect_each_refused(const std::vector<Hostile>& all) const {
    for (const Hostile& hostile : all) {
      SCOPED_TRACE(hostile.what);
      fs::remove_all(directory_ / "bad");
      fs::copy(bundle(), directory_ / "bad", fs::copy_options::recursive);
      hostile.edit(directory_ / "bad");
      expect_refused({"replay", "bad", "--bundle", "out"}, hostile.reason);
      EXPECT_FALSE(fs::exists(directory_ / "out"));
    }
  }
};

TEST_F(CliHostileBundle, TheGoodOneIsNotRefused) {
  sign(bundle());
  EXPECT_EQ(run({"replay", "bundle"}).status, 1);
}

TEST_F(CliHostileBundle, ChecksumsAreReadStrictly) { expect_each_refused(hostile_sums()); }

TEST_F(CliHostileBundle, FoldersHoldJustTheFiles) {
  expect_each_refused(hostile_folders());
  expect_refused({"replay", "bundle/manifest.json"}, "bundle/manifest.json: is not a folder");
  expect_refused({"replay", "nowhere"}, "nowhere: is not a folder");
}

TEST_F(CliHostileBundle, ManifestsSayOnlyWhatAProgramIs) {
  expect_each_refused(hostile_manifests());
}

TEST_F(CliHostileBundle, TensorsAndEventsFitTheProgram) { expect_each_refused(hostile_data()); }

}  // namespace
}  // namespace samebits::properties
