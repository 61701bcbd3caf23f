// The switches in the code and the table of the selftest are the same ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "properties/lint.h"
#include "properties/mutant_table.h"

namespace samebits::properties {
namespace {

std::multiset<std::string> switches() {
  const std::filesystem::path root = std::filesystem::path(SAMEBITS_CORPORA).parent_path();
  const std::regex call(R"re(\b(?:constexpr_)?mutant\("([^"]+)"\))re");
  std::multiset<std::string> names;
  for (const std::string& path : lint::project_files(root)) {
    if (!std::regex_search(path, std::regex(R"(^(reference|harness)/.*\.(h|cc)$)"))) continue;
    if (path == "reference/mutants.h") continue;
    std::ifstream file(root / path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (std::sregex_iterator match(text.begin(), text.end(), call), end; match != end; ++match) {
      names.insert((*match)[1]);
    }
  }
  return names;
}

TEST(Mutants, EachIsOneSwitchInTheCodeAndOneRowOfTheTable) {
  std::multiset<std::string> rows;
  for (const MutantRow& row : mutant_table()) rows.insert(row.mutant);
  EXPECT_EQ(switches(), rows);
  EXPECT_EQ(std::set<std::string>(rows.begin(), rows.end()).size(), rows.size());
  EXPECT_GE(rows.size(), 30U);
}

}  // namespace
}  // namespace samebits::properties
