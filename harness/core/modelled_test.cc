// What was not measured is said, with its name; what was measured is not.
#include "harness/core/modelled.h"

#include <gtest/gtest.h>

namespace samebits {
namespace {

GemmRecord record(const std::string& by, const std::string& chip) {
  GemmRecord record;
  record.by = by;
  record.chip = chip;
  return record;
}
std::string why(const std::string& by, const std::string& chip) {
  return why_not_modelled(record(by, chip)).value_or("");
}

TEST(Modelled, AreTheReferenceAndTheMeasuredLibraryOnTheMeasuredChip) {
  EXPECT_EQ(why("reference", ""), "");
  EXPECT_EQ(why("cuBLASLt 130100", "9.0"), "");
}

TEST(Modelled, AnythingElseIsNotAndIsNamed) {
  EXPECT_EQ(why("cuBLASLt 130200", "9.0"), "cuBLASLt 13.2.0, not 13.1.0");
  EXPECT_EQ(why("cuBLASLt 130101", "9.0"), "cuBLASLt 13.1.1, not 13.1.0");
  EXPECT_EQ(why("cuBLASLt 120805", "9.0"), "cuBLASLt 12.8.5, not 13.1.0");
  EXPECT_EQ(why("cuBLASLt 130100", "10.0"), "cuBLASLt 130100 on compute capability 10.0, not 9.0");
  EXPECT_EQ(why("cuBLASLt 130100", ""),
            "cuBLASLt 130100 on a compute capability that is not recorded, not 9.0");
  EXPECT_EQ(why("cuBLASLt 130200", "8.9"),
            "cuBLASLt 13.2.0, not 13.1.0, on compute capability 8.9, not 9.0");
  EXPECT_EQ(why("DeepGEMM", "9.0"), "DeepGEMM, not cuBLASLt 13.1.0");
}

TEST(Modelled, AVersionThatIsNoneIsNotMeasured) {
  for (const std::string by :
       {"cuBLASLt ", "cuBLASLt 130100 ", "cuBLASLt x", "cuBLASLt -130100", "cuBLASLt 0130100x",
        "cuBLASLt 99999999999", "cublasLt 130100", ""}) {
    EXPECT_NE(why(by, "9.0"), "") << by;
  }
  EXPECT_EQ(why("a\x1b[31m", "9.0").find('\x1b'), std::string::npos);
}

Trace trace(const std::string& arm, const std::vector<GemmRecord>& records) {
  Trace trace;
  trace.arm = arm;
  for (const GemmRecord& r : records) {
    Event event;
    event.key.step = static_cast<int>(trace.events.size());
    event.gemm = r;
    trace.events.push_back(event);
  }
  trace.events.emplace_back();  // an update has none
  return trace;
}

TEST(Modelled, FindingsCountTheGemmsOfEachArmAndAreNoErrors) {
  const GemmRecord good = record("cuBLASLt 130100", "9.0"),
                   other = record("cuBLASLt 130200", "9.0");
  const Trace a = trace("cuda/uncached", {good, other, other});
  const Trace b = trace("reference/uncached", {record("reference", "")});
  const auto findings = find_not_modelled({&a, &b});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, "not modelled");
  EXPECT_EQ(findings[0].where, "cuda/uncached");
  EXPECT_EQ(findings[0].count, 2);
  EXPECT_FALSE(findings[0].error);
  EXPECT_TRUE(findings[0].advice.starts_with("GEMMs by cuBLASLt 13.2.0, not 13.1.0: "));
  EXPECT_EQ(find_not_modelled({&b, &a}).size(), 1U);
  const Trace measured = trace("cuda/cached", {good});
  EXPECT_TRUE(find_not_modelled({&b, &measured}).empty());
}

TEST(Modelled, RecordsThatAreFollowedCountToo) {
  const GemmRecords followed(trace("", {record("cuBLASLt 120900", "9.0")}));
  const Trace arm = trace("reference/uncached", {record("reference", "")});
  const auto findings = find_not_modelled({&arm, &arm}, &followed);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].where, "followed records");
  EXPECT_EQ(findings[0].count, 1);
}

}  // namespace
}  // namespace samebits
