#include "kernels/algorithm_record.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "reference/gemm.h"

namespace samebits::kernels {
namespace {

const char kText[] =
    "id=66 tile=10 stages=36 splitk=2 red=2 swz=1 cust=3 inner=5 clus=8 ws=33554432 align_a=256 "
    "align_b=128 align_c=64 align_d=16 align_bias=32 cublaslt=130100";

AlgorithmRecord record() {
  return {.id = 66,
          .tile = 10,
          .stages = 36,
          .split_k = 2,
          .reduction = 2,
          .swizzle = 1,
          .custom = 3,
          .inner = 5,
          .cluster = 8,
          .workspace = 33554432,
          .align_a = 256,
          .align_b = 128,
          .align_c = 64,
          .align_d = 16,
          .align_bias = 32,
          .version = 130100};
}

AlgorithmRecord split(std::int64_t slices) { return {.split_k = slices}; }

TEST(AlgorithmRecordText, NamesEveryField) { EXPECT_EQ(to_text(record()), kText); }

TEST(AlgorithmRecordText, IsReadBack) {
  EXPECT_EQ(parse_algorithm(kText), record());
  EXPECT_EQ(parse_algorithm(to_text(AlgorithmRecord{})), AlgorithmRecord{});
}

// `kText` with the first `from` replaced.
std::string altered(std::string_view from, std::string_view to) {
  std::string text = kText;
  return text.replace(text.find(from), from.size(), to);
}

TEST(AlgorithmRecordText, HoldsTheLargestNumbers) {
  EXPECT_EQ(parse_algorithm(altered("cust=3", "cust=4294967295")).custom, 4294967295);
  EXPECT_EQ(parse_algorithm(altered("clus=8", "clus=65535")).cluster, 65535);
  EXPECT_EQ(parse_algorithm(altered("ws=33554432", "ws=9223372036854775807")).workspace,
            std::numeric_limits<std::int64_t>::max());
}

struct Refused {
  const char* what;
  std::string text;
  const char* reason;  // part of the message
};

TEST(AlgorithmRecordText, IsRefusedWithTheReason) {
  const std::string text = kText;
  const Refused cases[] = {
      {"nothing", "", "expected id=, found \"\""},
      {"a missing field", altered("tile=10 ", ""), "expected tile=, found \"stages=36\""},
      {"a field twice", altered("tile=10", "tile=10 tile=10"), "expected stages="},
      {"another order", altered("id=66 tile=10", "tile=10 id=66"), "expected id="},
      {"an unknown key", altered("swz", "swizzle"), "expected swz="},
      {"a key without a number", altered("red=2", "red"), "expected red="},
      {"an empty number", altered("red=2", "red="), "red is not a plain decimal number"},
      {"a sign", altered("red=2", "red=+2"), "red is not a plain decimal number"},
      {"a negative number", altered("red=2", "red=-2"), "red is out of range"},
      {"a leading zero", altered("red=2", "red=02"), "red is not a plain decimal number"},
      {"letters after a number", altered("red=2", "red=2x"), "red is not a plain decimal number"},
      {"hexadecimal", altered("red=2", "red=0x2"), "red is not a plain decimal number"},
      {"no slice", altered("splitk=2", "splitk=0"), "splitk is out of range"},
      {"2^31 slices", altered("splitk=2", "splitk=2147483648"), "splitk is out of range"},
      {"2^32", altered("tile=10", "tile=4294967296"), "tile is out of range"},
      {"2^16", altered("clus=8", "clus=65536"), "clus is out of range"},
      {"2^64", altered("ws=33554432", "ws=18446744073709551616"), "ws is out of range"},
      {"an odd alignment", altered("align_c=64", "align_c=48"), "align_c is not a power of two"},
      {"alignment 512", altered("align_a=256", "align_a=512"), "align_a is out of range"},
      {"alignment 0 of a matrix", altered("align_d=16", "align_d=0"), "align_d is out of range"},
      {"two spaces", altered(" tile", "  tile"), "expected tile=, found \"\""},
      {"a space before", " " + text, "expected id=, found \"\""},
      {"a space after", text + " ", "a space at the end"},
      {"a line's end", text + "\n", "cublaslt is not a plain decimal number"},
      {"more", text + " x=1", "more after cublaslt=: \"x=1\""},
      {"a part", text.substr(0, text.find(" cublaslt")), "expected cublaslt=, found \"\""},
  };
  for (const Refused& refused : cases) {
    try {
      parse_algorithm(refused.text);
      ADD_FAILURE() << refused.what << " was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(refused.reason), std::string::npos)
          << refused.what << ": " << error.what();
    }
  }
}

TEST(DroppedTerms, AreThoseMeasuredOnAnH200) {
  EXPECT_EQ(dropped_terms(96784, split(36), false), 16);
  EXPECT_EQ(dropped_terms(295696, split(33), false), 16);
}

TEST(DroppedTerms, CanOccurThoughKIsAMultipleOf128) {
  EXPECT_EQ(dropped_terms(16640, split(129), false), 128);
}

TEST(DroppedTerms, AreNoneWithoutSplitK) {
  for (std::int64_t k = 16; k < 100000; k += 16) ASSERT_EQ(dropped_terms(k, split(1), true), 0);
}

TEST(DroppedTerms, AreNoneForAMultipleOf128AndUpTo128Slices) {
  for (std::int64_t k = 128; k <= 262144; k += 128) {
    for (std::int64_t s = 1; s <= 128; ++s) {
      ASSERT_EQ(dropped_terms(k, split(s), false), 0) << k << ' ' << s;
    }
  }
}

TEST(DroppedTerms, AreWhatTheReferenceDoesNotSum) {
  using enum reference::Granularity;
  std::int64_t short_sums = 0;
  for (std::int64_t k = 16; k <= 131072; k += 16 * 37) {
    for (int s = 1; s <= 192; ++s) {
      if (s > k) break;
      const std::int64_t dropped = dropped_terms(k, split(s), false);
      short_sums += dropped > 0;
      ASSERT_EQ(dropped, k - reference::summed_k(k, s, kTensor, kTensor)) << k << ' ' << s;
      ASSERT_EQ(dropped_terms(k, split(s), true), k - reference::summed_k(k, s, k128x128, k1x128));
      ASSERT_EQ(dropped_terms(k, split(s), true), k - reference::summed_k(k, s, k1x128, k128x128));
    }
  }
  EXPECT_GT(short_sums, 0);
}

}  // namespace
}  // namespace samebits::kernels
