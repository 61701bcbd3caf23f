// The main of every test executable. Returns 77 only if every test that ran was skipped and none failed, so that a
// skip is visible in ctest and cannot hide a failure; fails where no test ran.
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  if (GTEST_FLAG_GET(list_tests)) return status;
  const auto& unit = *testing::UnitTest::GetInstance();
  if (status != 0) return status;
  if (unit.test_to_run_count() == 0) {
    std::fputs("no test ran\n", stderr);
    return 1;
  }
  return unit.skipped_test_count() == unit.test_to_run_count() ? 77 : 0;
}
