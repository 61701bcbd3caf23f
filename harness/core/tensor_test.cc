#include "harness/core/tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "harness/core/printable.h"

namespace samebits {
namespace {

constexpr int kDTypeCount = static_cast<int>(DType::kU64) + 1;

TEST(DTypes, EachHasItsOwnNameAndIsFoundByIt) {
  std::set<std::string_view> names;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    names.insert(dtype_name(dtype));
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(names.size(), std::size_t{kDTypeCount});
}

// By hand: the table and the enumeration must not be shifted against each other.
TEST(DTypes, HaveTheNamesAndSizesOfSafetensors) {
  EXPECT_EQ(dtype_name(DType::kBool), "BOOL");
  EXPECT_EQ(dtype_name(DType::kF8E4M3), "F8_E4M3");
  EXPECT_EQ(dtype_name(DType::kF8E5M2), "F8_E5M2");
  EXPECT_EQ(dtype_name(DType::kF8E8M0), "F8_E8M0");
  EXPECT_EQ(dtype_name(DType::kBF16), "BF16");
  EXPECT_EQ(dtype_name(DType::kU64), "U64");
  EXPECT_EQ(dtype_bits(DType::kF4), 4);
  EXPECT_EQ(dtype_bits(DType::kF6E2M3), 6);
  EXPECT_EQ(dtype_bits(DType::kF6E3M2), 6);
  EXPECT_EQ(dtype_bits(DType::kF8E8M0), 8);
  EXPECT_EQ(dtype_bits(DType::kBF16), 16);
  EXPECT_EQ(dtype_bits(DType::kF32), 32);
  EXPECT_EQ(dtype_bits(DType::kC64), 64);
}

TEST(DTypes, ANameIsMatchedWholeAndByCase) {
  for (const char* name : {"", "f32", "F3", "F32 ", "F8", "float32"}) {
    EXPECT_EQ(dtype_from_name(name), std::nullopt) << name;
  }
}

TEST(Shapes, CountTheirElements) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 3}), 6);
  EXPECT_EQ(element_count({5, 0, 7}), 0);
  EXPECT_EQ(element_count({1ll << 31, 1ll << 31}), 1ll << 62);
}

TEST(Shapes, AreWrittenLikeLists) {
  EXPECT_EQ(shape_text({}), "[]");
  EXPECT_EQ(shape_text({7}), "[7]");
  EXPECT_EQ(shape_text({2, 0, 3}), "[2, 0, 3]");
}

TEST(HostTensors, HoldACopyOfTheirValues) {
  std::vector<float> values{1.0f, -0.0f};
  const HostTensor tensor = HostTensor::of<float>(DType::kF32, {2}, values);
  values = {5.0f, 5.0f};
  EXPECT_EQ(tensor.bytes.size(), 8u);
  EXPECT_EQ(tensor.at<std::uint32_t>(0), 0x3f800000u);
  EXPECT_EQ(tensor.at<std::uint32_t>(1), 0x80000000u);
}

TEST(HostTensors, ACopyKeepsTheBytesAlive) {
  HostTensor copy;
  {
    const HostTensor tensor =
        HostTensor::own(DType::kU8, {1000}, std::vector<std::byte>(1000, std::byte{7}));
    copy = tensor;
    EXPECT_EQ(copy.bytes.data(), tensor.bytes.data());
  }
  EXPECT_EQ(copy.at<std::uint8_t>(999), 7);
}

TEST(HostTensors, ReadElementsAtAnyAlignment) {
  std::vector<std::byte> memory(3 + 2 * sizeof(double));
  const double values[] = {1.5, -2.5};
  std::memcpy(memory.data() + 3, values, sizeof values);
  HostTensor tensor = HostTensor::own(DType::kF64, {2}, std::move(memory));
  tensor.bytes = tensor.bytes.subspan(3);
  EXPECT_EQ(tensor.at<double>(0), 1.5);
  EXPECT_EQ(tensor.at<double>(1), -2.5);
}

TEST(Printable, IsOneLineOfAsciiAndUnambiguous) {
  EXPECT_EQ(printable("layers.0.w ~"), "layers.0.w ~");
  EXPECT_EQ(printable(std::string_view("\0\n\x1b\x7f\xc3\xb6", 6)),
            "\\x00\\x0a\\x1b\\x7f\\xc3\\xb6");
  EXPECT_EQ(printable("\\x0a"), "\\\\x0a");
}

TEST(Printable, IsCutAtItsLimit) {
  EXPECT_EQ(printable("abcd", 4), "abcd");
  EXPECT_EQ(printable("abcde", 4), "abcd...");
  EXPECT_EQ(printable("", 0), "");
}

}  // namespace
}  // namespace samebits
