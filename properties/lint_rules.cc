#include <algorithm>
#include <iterator>
#include <regex>
#include <sstream>
#include <utility>

#include "properties/lint.h"

namespace samebits::lint {
namespace {

// A line of a C++ or CUDA source is a finding where the file's path matches `where` but not
// `except`, and the line, its comment cut off, matches `line`.
struct LineRule {
  LineRule(std::string law, const char* path, const char* exempt, const std::string& pattern)
      : rule(std::move(law)), where(path), except(exempt), line(pattern) {}

  std::string rule;
  std::regex where;
  std::regex except;
  std::regex line;
};

constexpr char kNowhere[] = "^$";
constexpr char kTests[] = R"(_test\.cc$)";
// Each is an executable of its own.
constexpr char kPrograms[] = R"((_test|_bench|/oracle_full)\.cc$)";
constexpr char kLibraries[] = "^(reference/|kernels/|harness/(?!cli/))";

// An include directive, from the opening quote or bracket on as `what` says.
std::string include(const std::string& what) { return R"(^\s*#\s*include\s*)" + what; }

const std::vector<LineRule>& line_rules() {
  static const std::vector<LineRule> rules = {
      {"reference/ includes only Eigen, std and reference/", "^reference/", kPrograms,
       include(R"re((?!\s|<[a-z0-9_]+>|<Eigen/|"reference/))re")},
      {"a test in reference/ includes no harness/ and no kernels/",
       R"(^reference/.*_(test|bench)\.cc$)", kNowhere, include(R"re(["<](harness|kernels)/)re")},
      {"kernels/ never includes reference/", "^kernels/", kPrograms,
       include(R"re(["<]reference/)re")},
      {"in kernels/ only the bridge includes harness/",
       "^kernels/(?!cuda_backend|backends_with_cuda)", kPrograms, include(R"re(["<]harness/)re")},
      {"only kernels/ includes CUDA's headers", "^(?!kernels/)", kNowhere,
       include(R"re(["<](cuda|cublas|cub/|nv|thrust/|cooperative_groups|cutlass/|cute/))re")},
      {"of harness/ only cli includes kernels/", "^harness/(?!cli/)", kPrograms,
       include(R"re(["<]kernels/)re")},
      {"of harness/ only cli includes cli", "^harness/(?!cli/)", kPrograms,
       include(R"re(["<]harness/cli/)re")},
      {"test frameworks are for *_test.cc and properties/", R"(^(?!properties/)|\.cuh?$)", kTests,
       include(R"re(["<](gtest|gmock|rapidcheck))re")},
      {"no conditional compilation on CUDA", ".", kNowhere, R"(^\s*#\s*(el)?if.*(CUDA|NVCC))"},
      {"a library never prints, aborts or exits", kLibraries, kPrograms,
       R"(^\s*#\s*include\s*<(iostream|cassert)>|\bstd::(cout|cerr|clog)\b|\bfmt::print)"
       R"(|\b(v?f?printf|f?puts|putchar|perror|assert|abort|_?exit|_Exit|quick_exit|terminate)\s*\()"},
      {"a library never reads the clock or the system's randomness", kLibraries, kPrograms,
       R"(\b(system|steady|high_resolution)_clock\b|\brandom_device\b)"
       R"(|\b(s?rand|clock|clock_gettime|gettimeofday|getrandom)\s*\()"
       R"(|\btime\s*\(\s*(nullptr|NULL|0|&))"},
  };
  return rules;
}

bool matches(const std::string& text, const std::regex& pattern) {
  return std::regex_search(text, pattern);
}

std::vector<LineRule> rules_for(const std::string& path) {
  std::vector<LineRule> rules;
  std::ranges::copy_if(line_rules(), std::back_inserter(rules), [&](const LineRule& rule) {
    return matches(path, rule.where) && !matches(path, rule.except);
  });
  return rules;
}

// Whether the line names a place on somebody's machine. A folder of such a name inside a longer
// path or a URL is none.
bool has_absolute_path(const std::string& line) {
  static const std::regex pattern(R"((^|[^\w./~*}-])/(work|root|home)/)");
  return line.find('/') != line.npos && matches(line, pattern);
}

}  // namespace

std::vector<Finding> lint_file(const std::string& path, const std::string& text) {
  std::vector<Finding> findings;
  const bool is_header = path.ends_with(".h") || path.ends_with(".cuh");
  const bool is_source = is_header || path.ends_with(".cc") || path.ends_with(".cu");
  if (is_header && text.find("#pragma once\n") == text.npos) {
    findings.push_back({path, 0, "a header has #pragma once"});
  }
  const std::vector<LineRule> rules = is_source ? rules_for(path) : std::vector<LineRule>{};
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (has_absolute_path(line)) findings.push_back({path, number, "no absolute path"});
    const std::string code = line.substr(0, line.find("//"));
    for (const LineRule& rule : rules) {
      if (matches(code, rule.line)) findings.push_back({path, number, rule.rule});
    }
  }
  return findings;
}

}  // namespace samebits::lint
