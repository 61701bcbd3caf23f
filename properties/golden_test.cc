// The reference against recordings of the hardware: every output bit of every recorded GEMM.
//
// SAMEBITS_GOLDEN=DIR holds other recordings of the same format; without it, corpora/golden.
// The fast form computes every output. The plain form does too, but only the first rows of the
// cases whose inputs are generated (large K), unless SAMEBITS_EXHAUSTIVE=1.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "harness/core/error.h"
#include "properties/golden_case.h"
#include "reference/fast/gemm.h"

namespace samebits::golden {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSampledRows = 1, kEveryRow = std::numeric_limits<std::int64_t>::max();
constexpr int kAllCores = 0;

fs::path directory() {
  const char* chosen = std::getenv("SAMEBITS_GOLDEN");
  return chosen != nullptr ? fs::path(chosen) : fs::path(SAMEBITS_CORPORA) / "golden";
}

std::int64_t rows_by_the_plain_form() {
  const char* exhaustive = std::getenv("SAMEBITS_EXHAUSTIVE");
  const bool all = exhaustive != nullptr && std::string_view(exhaustive) == "1";
  return all ? kEveryRow : kSampledRows;
}

std::vector<fs::path> recordings() {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory(), error)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string format_of(const checkpoint::TensorSource& source) {
  const auto found = source.metadata().find("format");
  return found == source.metadata().end() ? "" : found->second;
}

std::string first_difference(const reference::MatrixOf<std::uint32_t>& expected,
                             const reference::MatrixOf<std::uint32_t>& got) {
  for (Eigen::Index n = 0; n < got.rows(); ++n) {
    for (Eigen::Index m = 0; m < got.cols(); ++m) {
      if (expected(n, m) == got(n, m)) continue;
      char text[96];
      std::snprintf(text, sizeof text, "[%td][%td]: expected 0x%08x, got 0x%08x", n, m,
                    expected(n, m), got(n, m));
      return text;
    }
  }
  return "";
}

struct Count {
  std::int64_t compared = 0;
  std::int64_t different = 0;
};

Count compare(const GoldenCase& recorded, const reference::MatrixOf<std::uint32_t>& got) {
  return {got.size(), (got.array() != recorded.expected.array()).count()};
}

class Recording : public testing::TestWithParam<fs::path> {};

TEST_P(Recording, IsReproducedInEveryBit) {
  const auto source = checkpoint::open_checkpoint(GetParam());
  const std::string file = GetParam().filename().string();
  if (format_of(*source) != kGemmFormat && !file.starts_with("gemm_")) {
    GTEST_SKIP() << file << " holds no GEMM";
  }
  ASSERT_EQ(format_of(*source), kGemmFormat) << file;

  const auto compare_all = [&](const char* form, GoldenCase::Gemm gemm, std::int64_t rows) {
    Count total;
    for (const std::string& name : case_names(*source)) {
      const GoldenCase recorded = read_case(*source, name, rows);
      const auto got = recorded.run(gemm, kAllCores);
      const Count count = compare(recorded, got);
      total.compared += count.compared;
      total.different += count.different;
      EXPECT_EQ(count.different, 0) << file << ": case " << name << " by the " << form << " form "
                                    << first_difference(recorded.expected, got);
    }
    std::printf("%s: %lld outputs compared by the %s form, %lld different\n", file.c_str(),
                static_cast<long long>(total.compared), form,
                static_cast<long long>(total.different));
    EXPECT_GT(total.compared, 0) << file << ": no case";
  };
  compare_all("fast", reference::fast::gemm, kEveryRow);
  compare_all("plain", reference::gemm, rows_by_the_plain_form());
}

INSTANTIATE_TEST_SUITE_P(Golden, Recording, testing::ValuesIn(recordings()), [](const auto& test) {
  std::string name = test.param.stem().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(GoldenDirectory, HoldsGemmRecordings) {
  const auto files = recordings();
  EXPECT_TRUE(std::any_of(files.begin(), files.end(), [](const fs::path& file) {
    return format_of(*checkpoint::open_checkpoint(file)) == kGemmFormat;
  })) << directory();
}

// The test of the test: each of these was once a plausible rule.
struct Refuted {
  const char* name;
  void (*change)(reference::AccumulationModel&);
};
using Model = reference::AccumulationModel;
constexpr Refuted kRefuted[] = {
    {"TwelveFractionBits", [](Model& m) { m.aligned_fraction_bits = m.result_fraction_bits = 12; }},
    {"FourteenFractionBits",
     [](Model& m) { m.aligned_fraction_bits = m.result_fraction_bits = 14; }},
    {"FourteenAlignedBits", [](Model& m) { m.aligned_fraction_bits = 14; }},
    {"TwelveAlignedBits", [](Model& m) { m.aligned_fraction_bits = 12; }},
    {"FlooredTerms", [](Model& m) { m.aligned_cut = reference::Cut::kFloor; }},
    {"FlooredResult", [](Model& m) { m.result_cut = reference::Cut::kFloor; }},
    {"RoundedTerms", [](Model& m) { m.aligned_cut = reference::Cut::kNearestEven; }},
    {"RoundedResult", [](Model& m) { m.result_cut = reference::Cut::kNearestEven; }},
    {"GroupsOf16", [](Model& m) { m.products_per_sum = 16; }},
    {"NormalisedProducts", [](Model& m) { m.normalise_products = true; }},
    {"FullFp32Result", [](Model& m) { m.result_fraction_bits = 23; }},
    {"TheOtherPromotion", [](Model& m) { m.promotion_interval = m.promotion_interval ? 0 : 128; }},
};

class RefutedModel : public testing::TestWithParam<Refuted> {};

TEST_P(RefutedModel, PartsFromTheTensorwiseRecordings) {
  const auto source = checkpoint::open_checkpoint(fs::path(SAMEBITS_CORPORA) / "golden" /
                                                  "gemm_unit_scales.safetensors");
  Count total;
  for (const std::string& name : case_names(*source)) {
    const GoldenCase recorded = read_case(*source, name, kSampledRows);
    if (recorded.a.granularity != reference::Granularity::kTensor) continue;
    Model model = recorded.spec.model;
    GetParam().change(model);
    const Count count = compare(recorded, recorded.run(reference::gemm, kAllCores, model));
    total.compared += count.compared;
    total.different += count.different;
  }
  EXPECT_GT(total.compared, 0);
  EXPECT_GT(total.different, 0);
}

INSTANTIATE_TEST_SUITE_P(Golden, RefutedModel, testing::ValuesIn(kRefuted),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace samebits::golden
