#include "harness/evidence/digest.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "harness/core/error.h"

namespace samebits::evidence {
namespace {

constexpr double kNan = std::bit_cast<double>(0x7ff8000000000000u);

HostTensor bytes(DType dtype, Shape shape, const std::vector<std::uint8_t>& values) {
  return HostTensor::of<std::uint8_t>(dtype, std::move(shape), values);
}
HostTensor floats(Shape shape, const std::vector<float>& values) {
  return HostTensor::of<float>(DType::kF32, std::move(shape), values);
}
Sha256Value digest_of_values(Shape shape, const std::vector<double>& values) {
  return tensor_digest(HostTensor::of<double>(DType::kF64, std::move(shape), values));
}

// From Python: hashlib.sha256(b"samebits-tensor-1\0" + b"F32\0" + struct.pack("<IQQ6f", 2, 2, 3,
// *range(6))), and so on.
TEST(TensorDigest, IsVersionOneAsWrittenDown) {
  EXPECT_EQ(hex(tensor_digest(floats({2, 3}, {0, 1, 2, 3, 4, 5}))),
            "510a924ee4ee0b750d499ab918af108bfe35046fcff65a488a8cc79d02a35ec9");
  EXPECT_EQ(hex(tensor_digest(bytes(DType::kF8E4M3, {1, 2}, {0x38, 0xff}))),
            "0314c8b4b0796e546b495b382613ae5235cdc3aa64bc33ca52829d1055f1ba1d");
  EXPECT_EQ(hex(tensor_digest(bytes(DType::kBool, {}, {1}))),
            "834beeea08b9730e6b8159372415350a1258c27094cf63cf6e4d34447e80892d");
  EXPECT_EQ(hex(tensor_digest(bytes(DType::kU8, {0, 4294967297}, {}))),
            "ee9dbd160c2a20409a40b6d1419995186c20f091fd05fa02c496ed3436b96761");
}

TEST(TensorDigest, DependsOnEveryByte) {
  std::vector<std::uint8_t> values(200);
  const Sha256Value original = tensor_digest(bytes(DType::kU8, {200}, values));
  for (std::uint8_t& value : values) {
    value = 1;
    EXPECT_NE(tensor_digest(bytes(DType::kU8, {200}, values)), original);
    value = 0;
  }
  EXPECT_EQ(tensor_digest(bytes(DType::kU8, {200}, values)), original);
}

TEST(TensorDigest, DependsOnDtypeAndShape) {
  const std::vector<std::uint8_t> values{1, 2, 3, 4, 5, 6};
  const Sha256Value original = tensor_digest(bytes(DType::kU8, {2, 3}, values));
  EXPECT_NE(tensor_digest(bytes(DType::kI8, {2, 3}, values)), original);
  EXPECT_NE(tensor_digest(bytes(DType::kF8E4M3, {2, 3}, values)),
            tensor_digest(bytes(DType::kF8E5M2, {2, 3}, values)));
  EXPECT_NE(tensor_digest(bytes(DType::kU8, {3, 2}, values)), original);
  EXPECT_NE(tensor_digest(bytes(DType::kU8, {6}, values)), original);
  EXPECT_NE(tensor_digest(bytes(DType::kU8, {1, 2, 3}, values)), original);
}

TEST(TensorDigest, EmptyTensorsDifferByShape) {
  EXPECT_NE(tensor_digest(bytes(DType::kU8, {0}, {})),
            tensor_digest(bytes(DType::kU8, {0, 0}, {})));
  EXPECT_NE(tensor_digest(bytes(DType::kU8, {0, 1}, {})),
            tensor_digest(bytes(DType::kU8, {1, 0}, {})));
}

TEST(TensorDigest, DoesNotDependOnAlignment) {
  const HostTensor aligned = floats({2}, {1.5f, -2.0f});
  for (std::size_t offset = 0; offset < 8; ++offset) {
    std::vector<std::byte> memory(offset);
    memory.insert(memory.end(), aligned.bytes.begin(), aligned.bytes.end());
    HostTensor shifted = HostTensor::own(DType::kF32, {2}, std::move(memory));
    shifted.bytes = shifted.bytes.subspan(offset);
    EXPECT_EQ(tensor_digest(shifted), tensor_digest(aligned)) << offset;
  }
}

// A 1x32 block with amax 225, quantised, and its values quantised again (power-of-two scales): 224
// = 224 * 2^0 = 448 * 2^-1.
TEST(LogicalDigest, IsOneForTwoQuantisationsOfTheSameValues) {
  std::vector<std::uint8_t> first(32), second(32);
  first[3] = 0x76;
  second[3] = 0x7e;
  const HostTensor codes1 = bytes(DType::kF8E4M3, {1, 32}, first),
                   scale1 = bytes(DType::kF8E8M0, {1, 1}, {127});
  const HostTensor codes2 = bytes(DType::kF8E4M3, {1, 32}, second),
                   scale2 = bytes(DType::kF8E8M0, {1, 1}, {126});
  EXPECT_EQ(logical_digest(codes1, scale1, 1, 32), logical_digest(codes2, scale2, 1, 32));
  EXPECT_NE(tensor_digest(codes1), tensor_digest(codes2));
  EXPECT_NE(logical_digest(codes1, scale1, 1, 32), logical_digest(codes2, scale1, 1, 32));
}

TEST(LogicalDigest, IsTheTensorDigestOfTheValuesInF64) {
  // E4M3 1, -1.5, 448, 2^-9; scales 2 and 3 for the two columns of blocks.
  EXPECT_EQ(logical_digest(bytes(DType::kF8E4M3, {2, 2}, {0x38, 0xbc, 0x7e, 0x01}),
                           floats({1, 2}, {2, 3}), 2, 1),
            digest_of_values({2, 2}, {2, -4.5, 896, 3 * std::ldexp(1.0, -9)}));
  // E5M2 1, -1.5, 57344, 2^-16; scales for the two rows.
  EXPECT_EQ(logical_digest(bytes(DType::kF8E5M2, {2, 2}, {0x3c, 0xbe, 0x7b, 0x01}),
                           floats({2, 1}, {2, 3}), 1, 2),
            digest_of_values({2, 2}, {2, -3, 172032, 3 * std::ldexp(1.0, -16)}));
}

TEST(LogicalDigest, IsExactWhereAnFp32ProductWouldRound) {
  const float scale = 1.0f + std::ldexp(1.0f, -23);
  EXPECT_EQ(logical_digest(bytes(DType::kF8E4M3, {1, 1}, {0x3f}), floats({1, 1}, {scale}), 1, 1),
            digest_of_values({1, 1}, {1.875 + 1.875 * std::ldexp(1.0, -23)}));
  // The smallest E5M2 with the smallest FP32.
  const float denormal = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(logical_digest(bytes(DType::kF8E5M2, {1, 1}, {0x01}), floats({1, 1}, {denormal}), 1, 1),
            digest_of_values({1, 1}, {std::ldexp(1.0, -165)}));
}

TEST(LogicalDigest, ReadsE8M0ScalesAsPowersOfTwo) {
  EXPECT_EQ(logical_digest(bytes(DType::kF8E4M3, {1, 3}, {0x38, 0x38, 0x38}),
                           bytes(DType::kF8E8M0, {1, 3}, {0, 134, 255}), 1, 1),
            digest_of_values({1, 3}, {std::ldexp(1.0, -127), 128, kNan}));
}

TEST(LogicalDigest, HasOneNan) {
  const Sha256Value expected = digest_of_values({1, 1}, {kNan});
  const float infinity = std::numeric_limits<float>::infinity();
  const float negative_nan = std::bit_cast<float>(0xffc01234u);
  const auto digest = [](DType dtype, std::uint8_t code, float scale) {
    return logical_digest(bytes(dtype, {1, 1}, {code}), floats({1, 1}, {scale}), 1, 1);
  };
  EXPECT_EQ(digest(DType::kF8E4M3, 0x7f, 1), expected);
  EXPECT_EQ(digest(DType::kF8E4M3, 0xff, 1), expected);
  EXPECT_EQ(digest(DType::kF8E5M2, 0xfd, 1), expected);
  EXPECT_EQ(digest(DType::kF8E5M2, 0x7c, 0), expected);
  EXPECT_EQ(digest(DType::kF8E4M3, 0x00, infinity), expected);
  EXPECT_EQ(digest(DType::kF8E4M3, 0x38, negative_nan), expected);
}

TEST(LogicalDigest, KeepsNegativeZero) {
  const auto digest = [](std::uint8_t code) {
    return logical_digest(bytes(DType::kF8E4M3, {1, 1}, {code}), floats({1, 1}, {2}), 1, 1);
  };
  EXPECT_EQ(digest(0x00), digest_of_values({1, 1}, {0.0}));
  EXPECT_EQ(digest(0x80), digest_of_values({1, 1}, {-0.0}));
  EXPECT_NE(digest(0x00), digest(0x80));
}

TEST(LogicalDigest, UsesTheScaleOfTheElementsBlock) {
  constexpr std::int64_t kSize = 129;
  const std::vector<std::uint8_t> ones(kSize * kSize, 0x38);
  std::vector<double> values;
  for (int row = 0; row < kSize; ++row) {
    for (int col = 0; col < kSize; ++col) values.push_back(1 << (row / 128 * 2 + col / 128));
  }
  EXPECT_EQ(logical_digest(bytes(DType::kF8E4M3, {kSize, kSize}, ones),
                           floats({2, 2}, {1, 2, 4, 8}), 128, 128),
            digest_of_values({kSize, kSize}, values));
}

// Blocks of 1000 columns, so that both rows and blocks cross the pieces in which the values are
// hashed.
TEST(LogicalDigest, HoldsForRowsOfAnyLength) {
  for (const int cols : {1, 999, 1000, 1001, 4095, 4096, 4097, 10'000}) {
    const int blocks = (cols + 999) / 1000;
    std::vector<std::uint8_t> codes;
    std::vector<float> scales;
    std::vector<double> values;
    for (int block = 0; block < blocks; ++block) scales.push_back(static_cast<float>(block + 1));
    for (int row = 0; row < 2; ++row) {
      for (int col = 0; col < cols; ++col) {
        const int exponent = (row + col) % 3;
        codes.push_back(static_cast<std::uint8_t>(0x38 + 8 * exponent));
        values.push_back((1 << exponent) * (col / 1000 + 1));
      }
    }
    EXPECT_EQ(logical_digest(bytes(DType::kF8E4M3, {2, cols}, codes), floats({1, blocks}, scales),
                             2, 1000),
              digest_of_values({2, cols}, values))
        << cols;
  }
}

TEST(LogicalDigest, OfNothingHasItsShape) {
  EXPECT_EQ(logical_digest(bytes(DType::kF8E4M3, {0, 5}, {}), floats({0, 1}, {}), 1, 128),
            digest_of_values({0, 5}, {}));
}

TEST(LogicalDigest, RefusesOperandsThatDoNotBelongTogether) {
  const auto refusal = [](const HostTensor& codes, const HostTensor& scale, std::int64_t rows,
                          std::int64_t cols) {
    try {
      logical_digest(codes, scale, rows, cols);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const HostTensor codes = bytes(DType::kF8E4M3, {2, 2}, {0, 0, 0, 0}), scale = floats({1, 1}, {1});
  HostTensor cut_codes = codes, cut_scale = scale;
  cut_codes.bytes = cut_codes.bytes.first(3);
  cut_scale.bytes = cut_scale.bytes.first(3);
  EXPECT_EQ(refusal(codes, scale, 2, 2), "accepted");
  EXPECT_EQ(refusal(bytes(DType::kU8, {2, 2}, {0, 0, 0, 0}), scale, 2, 2),
            "logical digest: the codes are U8, not FP8");
  EXPECT_EQ(refusal(bytes(DType::kF8E4M3, {4}, {0, 0, 0, 0}), scale, 2, 2),
            "logical digest: the codes' shape [4] is not [rows, cols]");
  EXPECT_EQ(refusal(codes, bytes(DType::kU8, {1, 1}, {112}), 2, 2),
            "logical digest: the scales are U8, not F32 or F8_E8M0");
  EXPECT_EQ(refusal(codes, scale, 0, 2), "logical digest: a block has no elements");
  EXPECT_EQ(refusal(codes, scale, 2, 1),
            "logical digest: the scales' shape [1, 1] should be [1, 2]");
  EXPECT_EQ(refusal(codes, floats({2, 1}, {1, 1}), 2, 1),
            "logical digest: the scales' shape [2, 1] should be [1, 2]");
  EXPECT_EQ(refusal(cut_codes, scale, 2, 2),
            "logical digest: the codes of shape [2, 2] have 3 bytes");
  EXPECT_EQ(refusal(codes, cut_scale, 2, 2),
            "logical digest: the scales of shape [1, 1] have 3 bytes");
}

}  // namespace
}  // namespace samebits::evidence
