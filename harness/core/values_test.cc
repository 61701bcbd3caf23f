#include "harness/core/values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "harness/core/error.h"

namespace samebits {
namespace {

template <class Bits>
HostTensor one(DType dtype, Bits bits) {
  return HostTensor::of<Bits>(dtype, {1}, std::vector<Bits>{bits});
}
template <class Bits>
std::string text(DType dtype, Bits bits) {
  const HostTensor tensor = one(dtype, bits);
  return bits_text(tensor, 0) + " " + value_text(value_at(tensor, 0));
}

TEST(Values, AreReadInEveryFloatFormat) {
  EXPECT_EQ(text<std::uint8_t>(DType::kF8E4M3, 0x7e), "0x7e 448");
  EXPECT_EQ(text<std::uint8_t>(DType::kF8E4M3, 0x7f), "0x7f nan");
  EXPECT_EQ(text<std::uint8_t>(DType::kF8E4M3, 0x80), "0x80 -0");
  EXPECT_EQ(text<std::uint8_t>(DType::kF8E4M3, 0x01), "0x01 0.001953125");
  EXPECT_EQ(text<std::uint8_t>(DType::kF8E5M2, 0x7b), "0x7b 57344");
  EXPECT_EQ(text<std::uint8_t>(DType::kF8E5M2, 0xfc), "0xfc -inf");
  EXPECT_EQ(text<std::uint8_t>(DType::kF8E8M0, 134), "0x86 128");
  EXPECT_EQ(text<std::uint16_t>(DType::kBF16, 0x3fc0), "0x3fc0 1.5");
  EXPECT_EQ(text<std::uint16_t>(DType::kF16, 0x0001), "0x0001 5.960464477539063e-08");
  EXPECT_EQ(text<std::uint32_t>(DType::kF32, 0x3dcccccd), "0x3dcccccd 0.10000000149011612");
  EXPECT_EQ(text<std::uint64_t>(DType::kF64, 0x3fb999999999999a), "0x3fb999999999999a 0.1");
}

TEST(Values, OfADtypeThatIsNoFloatAreRefused) {
  EXPECT_THROW(value_at(one<std::uint8_t>(DType::kU8, 1), 0), Error);
  EXPECT_THROW(bits_at(one<std::uint8_t>(DType::kF4, 1), 0), Error);
  EXPECT_EQ(bits_text(one<std::uint32_t>(DType::kI32, 0xffffffff), 0), "0xffffffff");
}

TEST(Values, AreReadWhereverIsFloatSaysSo) {
  for (int d = 0; d <= static_cast<int>(DType::kU64); ++d) {
    const auto dtype = static_cast<DType>(d);
    const HostTensor tensor = HostTensor::own(dtype, {1}, std::vector<std::byte>(8));
    if (is_float(dtype)) {
      EXPECT_NO_THROW(value_at(tensor, 0)) << dtype_name(dtype);
    } else {
      EXPECT_THROW(value_at(tensor, 0), Error) << dtype_name(dtype);
    }
  }
}

TEST(Values, AreWrittenAsTheShortestTextThatReadsBack) {
  for (const double value : {448.0, 0.1, -1.5e-300, 5e-324, 1e22, 44.8}) {
    EXPECT_EQ(std::strtod(value_text(value).c_str(), nullptr), value) << value_text(value);
  }
  EXPECT_EQ(value_text(-std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(value_text(std::numeric_limits<double>::infinity()), "inf");
}

TEST(Bf16, IsRoundedOnceToNearestEven) {
  EXPECT_EQ(to_bf16(1.0), 0x3f80);
  EXPECT_EQ(to_bf16(1 + 0x1p-8), 0x3f80);            // a tie, to even
  EXPECT_EQ(to_bf16(1 + 0x1p-8 + 0x1p-40), 0x3f81);  // through FP32 it would be a tie
  EXPECT_EQ(to_bf16(1 + 3 * 0x1p-8), 0x3f82);
  EXPECT_EQ(to_bf16(-0.0), 0x8000);
  EXPECT_EQ(to_bf16(1e300), 0x7f80);
  EXPECT_EQ(to_bf16(std::nan("")), 0x7fff);
  EXPECT_EQ(to_bf16(-std::nan("")), 0x7fff);
}

TEST(NonFinite, CountsNanAndBothInfinities) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values{1, inf, -inf, std::nanf(""), 0, 3e38F};
  EXPECT_EQ(count_non_finite(HostTensor::of<float>(DType::kF32, {6}, values)), 3);
}

}  // namespace
}  // namespace samebits
