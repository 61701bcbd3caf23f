// The rules hold for this tree, and each of them bites: a small tree with one bad file gives
// exactly that finding.
#include "properties/lint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ostream>

#include "properties/temporary_directory.h"

namespace samebits::lint {

void PrintTo(const Finding& finding, std::ostream* out) {
  *out << finding.path << ":" << finding.line << ": " << finding.rule;
}

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<Finding> findings_in(const std::string& path, const std::string& text) {
  const properties::TemporaryDirectory tree;
  write(tree / path, text);
  return lint_tree(tree.path());
}

using Findings = std::vector<Finding>;

TEST(Lint, ThisTreeKeepsEveryRule) {
  const fs::path root = fs::path(SAMEBITS_CORPORA).parent_path();
  EXPECT_GT(project_files(root).size(), 50U);
  EXPECT_EQ(lint_tree(root), Findings());
}

struct Snippet {
  std::string path;
  std::string bad;   // the offending line
  std::string rule;  // what is found, or empty where the line is fine
};

const Snippet kSnippets[] = {
    {"reference/a.cc", "#include <fmt/format.h>",
     "reference/ includes only Eigen, std and reference/"},
    {"reference/a.cc", "#include <unistd.h>", "reference/ includes only Eigen, std and reference/"},
    {"reference/fast/a.cc", "# include \"harness/core/tensor.h\"",
     "reference/ includes only Eigen, std and reference/"},
    {"reference/a.cc", "#include <Eigen/Core>", ""},
    {"reference/a.cc", "#include <cstdint>", ""},
    {"reference/a.cc", "#include \"reference/formats.h\"", ""},
    {"reference/a_test.cc", "#include <gtest/gtest.h>", ""},
    {"reference/a_test.cc", "#include \"harness/core/tensor.h\"",
     "a test in reference/ includes no harness/ and no kernels/"},
    {"kernels/a.cu", "#include \"reference/formats.h\"", "kernels/ never includes reference/"},
    {"kernels/cuda_backend.cc", "#include \"reference/formats.h\"",
     "kernels/ never includes reference/"},
    {"kernels/device/a.h", "#include \"harness/core/tensor.h\"",
     "in kernels/ only the bridge includes harness/"},
    {"kernels/cuda_backend.cc", "#include \"harness/core/tensor.h\"", ""},
    {"kernels/backends_with_cuda.cc", "#include \"harness/cli/backends.h\"", ""},
    {"harness/core/a.cc", "#include <cuda_runtime.h>", "only kernels/ includes CUDA's headers"},
    {"properties/a_test.cc", "#include <cublasLt.h>", "only kernels/ includes CUDA's headers"},
    {"kernels/a.cu", "#include <cuda_fp8.h>", ""},
    {"harness/core/a.cc", "#include \"kernels/cuda_backend.h\"",
     "of harness/ only cli includes kernels/"},
    {"harness/cli/a.cc", "#include \"kernels/cuda_backend.h\"", ""},
    {"harness/report/a.cc", "#include \"harness/cli/main.h\"", "of harness/ only cli includes cli"},
    {"harness/core/a.cc", "#include <gtest/gtest.h>",
     "test frameworks are for *_test.cc and properties/"},
    {"properties/a.cu", "#include <rapidcheck.h>",
     "test frameworks are for *_test.cc and properties/"},
    {"properties/a.cc", "#include <rapidcheck.h>", ""},
    {"kernels/a.cu", "#ifdef __CUDACC__", "no conditional compilation on CUDA"},
    {"harness/cli/a.cc", "  #  if defined(SAMEBITS_CUDA)", "no conditional compilation on CUDA"},
    {"harness/cli/a.cc", "#elif __CUDA_ARCH__ >= 900", "no conditional compilation on CUDA"},
    {"reference/a.cc", "void f() { std::abort(); }", "a library never prints, aborts or exits"},
    {"harness/core/a.cc", "void f() { std::exit(1); }", "a library never prints, aborts or exits"},
    {"harness/core/a.cc", "void f() { assert(false); }", "a library never prints, aborts or exits"},
    {"harness/a.cc", "void f() { std::cerr << 1; }", "a library never prints, aborts or exits"},
    {"harness/evidence/a.cc", "#include <iostream>", "a library never prints, aborts or exits"},
    {"harness/checkpoint/a.cc", "void f() { std::fprintf(stderr, \"x\"); }",
     "a library never prints, aborts or exits"},
    {"harness/report/a.cc", "void f() { fmt::print(\"x\"); }",
     "a library never prints, aborts or exits"},
    {"kernels/a_bench.cc", "void f() { std::printf(\"x\"); }", ""},
    {"kernels/oracle_full.cc", "void f() { std::printf(\"x\"); }", ""},
    {"kernels/oracle.cu", "void f() { std::printf(\"x\"); }",
     "a library never prints, aborts or exits"},
    {"kernels/a_bench.cc", "#include <gtest/gtest.h>",
     "test frameworks are for *_test.cc and properties/"},
    {"harness/report/a.cc", "void f() { std::snprintf(a, 1, \"exit status\"); }", ""},
    {"harness/core/a.cc", "int x;  // std::abort() would lose the message", ""},
    {"harness/core/a.cc", "static_assert(true);", ""},
    {"harness/cli/a.cc", "void f() { std::exit(std::puts(\"x\")); }", ""},
    {"harness/core/a.cc", "auto seed = std::random_device{}();",
     "a library never reads the clock or the system's randomness"},
    {"reference/a.cc", "auto seed = std::time(nullptr);",
     "a library never reads the clock or the system's randomness"},
    {"kernels/a.cu", "auto t = std::chrono::steady_clock::now();",
     "a library never reads the clock or the system's randomness"},
    {"harness/cli/a.cc", "auto t = std::chrono::steady_clock::now();", ""},
    {"README.md",
     "see /ho"
     "me/me/notes",
     "no absolute path"},
    {"cmake/a.cmake",
     "set(a \"/wo"
     "rk/b\")",
     "no absolute path"},
    {"README.md",
     "see https://example.org/ho"
     "me/ and ./wo"
     "rk/ and a/ro"
     "ot/b",
     ""},
};

TEST(Lint, EveryRuleBitesAndSparesWhatIsAllowed) {
  for (const Snippet& snippet : kSnippets) {
    SCOPED_TRACE(snippet.path + ": " + snippet.bad);
    const Findings expected =
        snippet.rule.empty() ? Findings() : Findings{{snippet.path, 3, snippet.rule}};
    EXPECT_EQ(findings_in(snippet.path, "#pragma once\n\n" + snippet.bad + "\n"), expected);
  }
}

TEST(Lint, AHeaderWithoutPragmaOnceIsFound) {
  const std::string guard = "#ifndef A_H\n#define A_H\n#endif\n";
  EXPECT_EQ(findings_in("harness/core/a.h", guard),
            (Findings{{"harness/core/a.h", 0, "a header has #pragma once"}}));
  EXPECT_EQ(findings_in("kernels/a.cuh", guard),
            (Findings{{"kernels/a.cuh", 0, "a header has #pragma once"}}));
  EXPECT_EQ(findings_in("harness/core/a.cc", guard), Findings());
}

// SHA-256 of "abc" and of the empty string (FIPS 180-4 example; its well-known neutral value).
constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr char kEmpty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Lint, TheManifestListsExactlyTheDataFilesWithTheirDigests) {
  const std::string abc = std::string(kAbc) + "  golden/a.safetensors\n";
  const std::string empty = std::string(kEmpty) + "  hostile/b\n";
  const auto findings = [](const std::string& manifest) {
    const properties::TemporaryDirectory tree;
    write(tree / "corpora/golden/a.safetensors", "abc");
    write(tree / "corpora/golden/README.md", "text is no data");
    write(tree / "corpora/hostile/b", "");
    write(tree / "corpora/MANIFEST", manifest);
    return lint_tree(tree.path());
  };
  const auto wrong_at = [](int line) {
    return Findings{
        {"corpora/MANIFEST", line, "the manifest lists every data file with its SHA-256"}};
  };
  EXPECT_EQ(findings(abc + empty), Findings());
  EXPECT_EQ(findings(abc), wrong_at(2));
  EXPECT_EQ(findings(empty + abc), wrong_at(1));
  EXPECT_EQ(findings(abc + empty + empty), wrong_at(3));
  EXPECT_EQ(findings(std::string(kEmpty) + abc.substr(64) + empty), wrong_at(1));
  EXPECT_EQ(findings(""), wrong_at(1));
}

TEST(Lint, ProductsAreNoFilesOfTheProject) {
  const properties::TemporaryDirectory tree;
  for (const char* path :
       {"build/a.cc", "build-asan/b/c.cc", ".git/config", "out/x", "a.cc", ".ci/run"}) {
    write(tree / path, "");
  }
  EXPECT_EQ(project_files(tree.path()), (std::vector<std::string>{".ci/run", "a.cc"}));
}

}  // namespace
}  // namespace samebits::lint
