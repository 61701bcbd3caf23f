// The comparer is total: every bit counts, and so do dtype, shape and length.
#include "harness/core/compare.h"

#include <gtest/gtest.h>

#include <limits>

#include "harness/evidence/digest.h"

namespace samebits {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

HostTensor floats(const std::vector<float>& values) {
  return HostTensor::of<float>(DType::kF32, {static_cast<std::int64_t>(values.size())}, values);
}
HostTensor words(const std::vector<std::uint32_t>& bits, Shape shape) {
  return HostTensor::of<std::uint32_t>(DType::kF32, std::move(shape), bits);
}

// A trace of one event that holds one tensor.
Trace holding(const HostTensor& tensor) {
  Trace trace;
  trace.events.emplace_back().tensors.push_back(
      {"y", tensor.dtype, tensor.shape, evidence::tensor_digest(tensor), {}});
  return trace;
}
bool same(const HostTensor& a, const HostTensor& b) {
  const Comparison comparison = compare(holding(a), holding(b));
  EXPECT_FALSE(comparison.mismatch);
  EXPECT_EQ(comparison.differences.empty(), compare_elements(a, b).different == 0);
  return comparison.differences.empty();
}

TEST(Compare, EqualBitsAreTheSameAlsoForNan) {
  EXPECT_TRUE(same(floats({1, kNan, kInf, -0.0F}), floats({1, kNan, kInf, -0.0F})));
  EXPECT_TRUE(same(floats({}), floats({})));
}

TEST(Compare, EveryBitCounts) {
  EXPECT_FALSE(same(floats({kNan}), floats({1})));
  EXPECT_FALSE(same(floats({kInf}), floats({-kInf})));
  EXPECT_FALSE(same(floats({0.0F}), floats({-0.0F})));
  EXPECT_FALSE(same(words({0x7fc00000}, {1}), words({0x7fc00001}, {1})));  // NaN payload
  EXPECT_FALSE(same(words({0x7fc00000}, {1}), words({0xffc00000}, {1})));  // NaN sign
  for (int bit = 0; bit < 32; ++bit) {
    EXPECT_FALSE(same(words({0x3f800000}, {1}), words({0x3f800000U ^ (1U << bit)}, {1}))) << bit;
  }
}

TEST(Compare, LengthShapeAndDtypeCount) {
  EXPECT_FALSE(same(floats({1}), floats({1, 0})));
  EXPECT_FALSE(same(floats({1}), floats({})));
  EXPECT_FALSE(same(words({1, 2}, {2, 1}), words({1, 2}, {1, 2})));
  HostTensor integers = words({1}, {1});
  integers.dtype = DType::kU32;
  EXPECT_FALSE(same(words({1}, {1}), integers));
}

TEST(Compare, FindsDifferencesInProgramOrder) {
  Trace a = holding(floats({1}));
  a.events[0].tensors.push_back(a.events[0].tensors[0]);
  a.events.push_back(a.events[0]);
  Trace b = a;
  const auto other = evidence::tensor_digest(floats({2}));
  b.events[1].tensors[0].digest = b.events[0].tensors[1].digest = other;
  const Comparison comparison = compare(a, b);
  ASSERT_EQ(comparison.differences.size(), 2U);
  EXPECT_EQ(comparison.differences[0].event, 0U);
  EXPECT_EQ(comparison.differences[0].tensor, 1U);
  EXPECT_EQ(comparison.differences[1].event, 1U);
  EXPECT_EQ(comparison.differences[1].tensor, 0U);
}

TEST(Compare, ATensorCountsWhateverItsName) {
  for (const char* name :
       {"x", "x scale_inv", "x bytes", "weight columnwise scale_inv", "main_grad"}) {
    Trace a = holding(floats({1})), b = holding(floats({2}));
    a.events[0].tensors[0].name = b.events[0].tensors[0].name = name;
    EXPECT_EQ(compare(a, b).differences.size(), 1U) << name;
  }
}

TEST(Compare, OtherEventsOrTensorsAreAMismatch) {
  const Trace a = holding(floats({1}));
  EXPECT_EQ(compare(a, Trace{}).mismatch, "1 events against 0");
  Trace b = a;
  b.events[0].key.microbatch = 3;
  EXPECT_TRUE(compare(a, b).mismatch);
  b = a;
  b.events[0].tensors[0].name = "dx";
  EXPECT_TRUE(compare(a, b).mismatch);
  b = a;
  b.events[0].tensors.clear();
  EXPECT_TRUE(compare(a, b).mismatch);
}

TEST(Compare, AfterAMismatchNothingElseIsSaid) {
  Trace a = holding(floats({1}));
  a.events.push_back(a.events[0]);
  Trace b = a;
  b.events[0].tensors[0].digest = {};
  b.events[1].key.step = 1;
  const Comparison comparison = compare(a, b);
  EXPECT_TRUE(comparison.mismatch);
  EXPECT_TRUE(comparison.differences.empty());
}

TEST(CompareElements, GivesTheFirstAsCoordinates) {
  std::vector<std::uint32_t> bits(2 * 3 * 5, 7);
  const HostTensor a = words(bits, {2, 3, 5});
  bits[1 * 15 + 2 * 5 + 3] = 8;
  bits.back() = 9;
  const ElementDifference found = compare_elements(a, words(bits, {2, 3, 5}));
  EXPECT_EQ(found.different, 2);
  EXPECT_EQ(found.first, 28);
  EXPECT_EQ(found.index, (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(CompareElements, ReadsElementsOfEveryWidth) {
  for (const DType dtype : {DType::kF8E4M3, DType::kBF16, DType::kF32, DType::kF64}) {
    const auto width = static_cast<std::size_t>(dtype_bits(dtype)) / 8;
    std::vector<std::byte> bytes(3 * width);
    const HostTensor a = HostTensor::own(dtype, {3}, bytes);
    bytes.back() = std::byte{1};  // the most significant byte of the last element
    const ElementDifference found = compare_elements(a, HostTensor::own(dtype, {3}, bytes));
    EXPECT_EQ(found.different, 1) << dtype_name(dtype);
    EXPECT_EQ(found.first, 2) << dtype_name(dtype);
  }
}

TEST(CompareElements, SaysWhereOnlyTheSignsOfZerosDiffer) {
  EXPECT_TRUE(compare_elements(floats({0.0F, 1}), floats({-0.0F, 1})).zero_signs_only);
  EXPECT_FALSE(compare_elements(floats({0.0F, 1}), floats({-0.0F, 2})).zero_signs_only);
  EXPECT_FALSE(compare_elements(floats({1}), floats({-1})).zero_signs_only);
  EXPECT_FALSE(compare_elements(floats({0.0F}), floats({kNan})).zero_signs_only);
  EXPECT_FALSE(compare_elements(floats({0.0F}), floats({0.0F})).zero_signs_only);
}

TEST(CompareElements, OfAnotherShapeOrDtypeAllDiffer) {
  EXPECT_EQ(compare_elements(floats({1, 2, 3}), floats({1})).different, 3);
  EXPECT_EQ(compare_elements(words({1, 2}, {2, 1}), words({1, 2}, {1, 2})).different, 2);
}

}  // namespace
}  // namespace samebits
