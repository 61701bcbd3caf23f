#include "harness/checkpoint/safetensors_header.h"

#include <gtest/gtest.h>

#include <string>

#include "harness/core/error.h"

namespace samebits::checkpoint {
namespace {

std::string refusal(const std::string& json, std::uint64_t data_bytes) {
  try {
    parse_safetensors_header(json, data_bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string repeated(const std::string& text, int count) {
  std::string result;
  while (count-- > 0) result += text;
  return result;
}

// A header with the one tensor w of U8 [1], in a file with one byte of data.
std::string one(const std::string& fields) { return refusal("{\"w\":{" + fields + "}}", 1); }
const std::string kU8 = R"("dtype":"U8")", kShape = R"("shape":[1])",
                  kOffsets = R"("data_offsets":[0,1])";
std::string with_dtype(const std::string& value) {
  return one("\"dtype\":" + value + "," + kShape + "," + kOffsets);
}
std::string with_shape(const std::string& value) {
  return one(kU8 + ",\"shape\":" + value + "," + kOffsets);
}
std::string with_offsets(const std::string& value) {
  return one(kU8 + "," + kShape + ",\"data_offsets\":" + value);
}
std::string with_name(const std::string& json_name) {
  return refusal("{\"" + json_name + "\":{" + kU8 + "," + kShape + "," + kOffsets + "}}", 1);
}

TEST(SafetensorsHeader, TheFieldsMayStandInAnyOrderAndTheEndMayBePadded) {
  EXPECT_EQ(one(kU8 + "," + kShape + "," + kOffsets), "accepted");
  EXPECT_EQ(one(kOffsets + "," + kShape + "," + kU8), "accepted");
  EXPECT_EQ(refusal("{}      ", 0), "accepted");
}

TEST(SafetensorsHeader, HasExactlyTheThreeFieldsOnce) {
  EXPECT_EQ(one(kShape + "," + kOffsets), "tensor w: dtype is missing");
  EXPECT_EQ(one(kU8 + "," + kOffsets), "tensor w: shape is missing");
  EXPECT_EQ(one(kU8 + "," + kShape), "tensor w: data_offsets is missing");
  EXPECT_EQ(one(kU8 + "," + kShape + "," + kOffsets + ",\"strides\":[1]"),
            "tensor w: unknown key \"strides\"");
  EXPECT_EQ(one(kU8 + "," + kU8), "tensor w: the key \"dtype\" stands twice");
  EXPECT_EQ(one(kShape + "," + kShape), "tensor w: the key \"shape\" stands twice");
  EXPECT_EQ(one(kOffsets + "," + kOffsets), "tensor w: the key \"data_offsets\" stands twice");
}

TEST(SafetensorsHeader, EveryKeyStandsOnce) {
  EXPECT_EQ(refusal(R"({"__metadata__":{},"__metadata__":{}})", 0),
            "the key \"__metadata__\" stands twice in the header");
  EXPECT_EQ(refusal(R"({"__metadata__":{"a":"1","b":"2","a":"1"}})", 0),
            "__metadata__: the key \"a\" stands twice");
  // One key in two spellings.
  EXPECT_EQ(refusal(R"({"__metadata__":{"a":"1","\u0061":"1"}})", 0),
            "__metadata__: the key \"a\" stands twice");
}

TEST(SafetensorsHeader, MetadataIsAnObjectOfStrings) {
  EXPECT_EQ(refusal(R"({"__metadata__":{"a":"{\"b\":1}"}})", 0), "accepted");
  EXPECT_EQ(refusal(R"({"__metadata__":"a"})", 0), "__metadata__ is a string, not an object");
  EXPECT_EQ(refusal(R"({"__metadata__":null})", 0), "__metadata__ is null, not an object");
  EXPECT_EQ(refusal(R"({"__metadata__":[]})", 0), "__metadata__ is an array, not an object");
  EXPECT_EQ(refusal(R"({"__metadata__":{"a":1}})", 0),
            "__metadata__: a value is a number, not a string");
  EXPECT_EQ(refusal(R"({"__metadata__":{"a":{}}})", 0),
            "__metadata__: a value is an object, not a string");
  EXPECT_EQ(refusal(R"({"__metadata__":{"a":null}})", 0),
            "__metadata__: a value is null, not a string");
}

TEST(SafetensorsHeader, ATensorIsAnObject) {
  EXPECT_EQ(refusal(R"({"w":1})", 0), "tensor w: is described by a number, not by an object");
  EXPECT_EQ(refusal(R"({"w":[{}]})", 0), "tensor w: is described by an array, not by an object");
}

TEST(SafetensorsHeader, DtypeIsTheNameOfOne) {
  EXPECT_EQ(with_dtype("\"I8\""), "accepted");
  EXPECT_EQ(with_dtype("\"u8\""), "tensor w: unknown dtype \"u8\"");
  EXPECT_EQ(with_dtype("\"\""), "tensor w: unknown dtype \"\"");
  EXPECT_EQ(with_dtype("\"U8\\u0000\""), "tensor w: unknown dtype \"U8\\x00\"");
  EXPECT_EQ(with_dtype("8"), "tensor w: dtype is a number, not a string");
  EXPECT_EQ(with_dtype("{}"), "tensor w: dtype is an object, not a string");
}

TEST(SafetensorsHeader, ShapeIsAnArrayOfSizes) {
  EXPECT_EQ(with_shape("[]"), "accepted");
  EXPECT_EQ(with_shape("[1,1,1]"), "accepted");
  EXPECT_EQ(with_shape("1"), "tensor w: shape is a number, not an array");
  EXPECT_EQ(with_shape("null"), "tensor w: shape is null, not an array");
  EXPECT_EQ(with_shape("[-1]"), "tensor w: shape holds a negative number");
  EXPECT_EQ(with_shape("[1.0]"),
            "tensor w: shape holds a number that is not an integer below 2^64");
  EXPECT_EQ(with_shape("[18446744073709551616]"),
            "tensor w: shape holds a number that is not an integer below 2^64");
  EXPECT_EQ(with_shape("[1e999]"), "the header is not valid JSON at its byte 33");
  EXPECT_EQ(with_shape("[true]"), "tensor w: shape holds true or false");
  EXPECT_EQ(with_shape("[\"1\"]"), "tensor w: shape holds a string");
  EXPECT_EQ(with_shape("[[1]]"), "tensor w: shape holds an array");
  EXPECT_EQ(with_shape("[9223372036854775808]"),
            "tensor w: a dimension of 9223372036854775808 is too large");
}

TEST(SafetensorsHeader, TheSizeOfAShapeDoesNotOverflow) {
  EXPECT_EQ(with_shape("[9223372036854775807,2]"),
            "tensor w: the size of shape [9223372036854775807, 2] overflows");
  // 2^64 + 1 elements, which would wrap to the one byte that is there.
  EXPECT_EQ(with_shape("[274177,67280421310721]"),
            "tensor w: the size of shape [274177, 67280421310721] overflows");
  EXPECT_EQ(with_shape("[4611686018427387904,4,0]"),
            "tensor w: the size of shape [4611686018427387904, 4, 0] overflows");
}

TEST(SafetensorsHeader, RankIsCapped) {
  EXPECT_EQ(with_shape("[" + repeated("1,", 63) + "1]"), "accepted");
  EXPECT_EQ(with_shape("[" + repeated("1,", 64) + "1]"), "tensor w: has more than 64 dimensions");
}

TEST(SafetensorsHeader, TheNumberOfTensorsIsCapped) {
  std::string json = "{\"0\":{}";
  for (int i = 1; i <= 1'000'000; ++i) {
    json += ",\"" + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  json.replace(json.find("{}"), 2, R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})");
  EXPECT_EQ(refusal(json + "}", 0), "more than 1000000 tensors");
}

TEST(SafetensorsHeader, DataOffsetsAreBeginAndEnd) {
  EXPECT_EQ(with_offsets("[0]"), "tensor w: data_offsets are not two numbers");
  EXPECT_EQ(with_offsets("[]"), "tensor w: data_offsets are not two numbers");
  EXPECT_EQ(with_offsets("[0,1,1]"), "tensor w: data_offsets are not two numbers");
  EXPECT_EQ(with_offsets("1"), "tensor w: data_offsets are a number, not an array");
  EXPECT_EQ(with_offsets("[0,[1]]"), "tensor w: data_offsets hold an array");
  EXPECT_EQ(with_offsets("[-1,0]"), "tensor w: data_offsets hold a negative number");
  EXPECT_EQ(with_offsets("[1,0]"), "tensor w: data_offsets [1, 0] end before they begin");
  EXPECT_EQ(with_offsets("[18446744073709551615,0]"),
            "tensor w: data_offsets [18446744073709551615, 0] end before they begin");
  EXPECT_EQ(with_offsets("[0,18446744073709551615]"),
            "tensor w: data_offsets [0, 18446744073709551615] reach beyond the 1 bytes of data in "
            "the file");
}

TEST(SafetensorsHeader, TheRangeHasTheSizeOfDtypeAndShape) {
  EXPECT_EQ(with_offsets("[0,0]"), "tensor w: data_offsets [0, 0] hold 0 bytes, but U8 [1] has 1");
  EXPECT_EQ(with_shape("[2]"), "tensor w: data_offsets [0, 1] hold 1 bytes, but U8 [2] has 2");
  EXPECT_EQ(with_dtype("\"F32\""), "tensor w: data_offsets [0, 1] hold 1 bytes, but F32 [1] has 4");
}

TEST(SafetensorsHeader, TheRangesCoverTheDataExactly) {
  const auto two = [](const std::string& a, const std::string& b, std::uint64_t data_bytes) {
    const auto tensor = [](const std::string& name, const std::string& offsets) {
      return "\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" + offsets + "}";
    };
    return refusal("{" + tensor("a", a) + "," + tensor("b", b) + "}", data_bytes);
  };
  EXPECT_EQ(two("[0,2]", "[2,4]", 4), "accepted");
  EXPECT_EQ(two("[0,2]", "[0,2]", 2), "tensor b: overlaps tensor a in the file");
  EXPECT_EQ(two("[0,2]", "[1,3]", 3), "tensor b: overlaps tensor a in the file");
  EXPECT_EQ(two("[0,2]", "[3,5]", 5),
            "tensor b: a hole of 1 bytes that belong to no tensor lies before it");
  EXPECT_EQ(two("[0,2]", "[2,4]", 8), "4 bytes at the end of the file belong to no tensor");
}

TEST(SafetensorsHeader, SubByteDtypesComeToWholeBytes) {
  EXPECT_EQ(safetensors_byte_count("w", DType::kF4, {2, 3}), 3u);
  EXPECT_EQ(safetensors_byte_count("w", DType::kF6E2M3, {4}), 3u);
  EXPECT_THROW(safetensors_byte_count("w", DType::kF6E3M2, {2}), Error);
  EXPECT_EQ(with_dtype("\"F4\""), "tensor w: F4 [1] does not come to whole bytes");
}

TEST(SafetensorsHeader, EmptyTensorsStandBetweenTheOthers) {
  const auto file = [](const char* place) {
    return refusal(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                   R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]},)"
                   R"("e":{"dtype":"F32","shape":[0,9],"data_offsets":)" +
                       std::string(place) + "}}",
                   4);
  };
  EXPECT_EQ(file("[0,0]"), "accepted");
  EXPECT_EQ(file("[2,2]"), "accepted");
  EXPECT_EQ(file("[4,4]"), "accepted");
  EXPECT_EQ(file("[1,1]"), "tensor e: overlaps tensor a in the file");
  EXPECT_EQ(file("[5,5]"),
            "tensor e: data_offsets [5, 5] reach beyond the 4 bytes of data in the file");
}

TEST(SafetensorsHeader, ANameCanStandInAReport) {
  EXPECT_EQ(with_name("gr\u00f6\u00dfe \\\"x\\\" \\\\"), "accepted");
  EXPECT_EQ(with_name(""), "a tensor has the empty name");
  EXPECT_EQ(with_name("a\\nb"), "tensor a\\x0ab: the name holds a control character");
  EXPECT_EQ(with_name("a\\u0000"), "tensor a\\x00: the name holds a control character");
  EXPECT_EQ(with_name("a\x7f"), "tensor a\\x7f: the name holds a control character");
  EXPECT_EQ(with_name("\\u009b1m"), "tensor \\xc2\\x9b1m: the name holds a control character");
  EXPECT_EQ(with_name(std::string(200, 'n') + "\\n"),
            "tensor " + std::string(120, 'n') + "...: the name holds a control character");
}

TEST(SafetensorsHeader, IsJsonInUtf8) {
  EXPECT_EQ(refusal("{", 0), "the header is not valid JSON at its byte 2");
  EXPECT_EQ(refusal("{}}", 0), "the header is not valid JSON at its byte 3");
  EXPECT_EQ(refusal("{} {}", 0), "the header is not valid JSON at its byte 4");
  EXPECT_EQ(refusal("{,}", 0), "the header is not valid JSON at its byte 2");
  EXPECT_EQ(refusal("{/**/}", 0), "the header is not valid JSON at its byte 2");
  EXPECT_EQ(with_name("\xff"), "the header is not valid JSON at its byte 3");
  EXPECT_EQ(with_name("\xc0\x80"), "the header is not valid JSON at its byte 3");
  EXPECT_EQ(with_name("\\ud800"), "the header is not valid JSON at its byte 9");
}

TEST(SafetensorsHeader, DeepNestingIsRefusedAtItsFirstStep) {
  EXPECT_EQ(with_shape(repeated("[", 1'000'000)), "tensor w: shape holds an array");
  EXPECT_EQ(refusal(repeated("{\"w\":", 1'000'000), 0), "tensor w: unknown key \"w\"");
}

// Accepted or refused, never anything else; what is accepted still covers the data exactly.
TEST(SafetensorsHeader, WithAnyOneByteChangedIsRefusedOrStaysInsideTheData) {
  const std::string json =
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"U8","shape":[1],"data_offsets":[8,9]}}  )";
  int accepted = 0, refused = 0;
  for (std::size_t place = 0; place < json.size(); ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = json;
      changed[place] = static_cast<char>(byte);
      try {
        std::uint64_t covered = 0;
        for (const HeaderTensor& tensor : parse_safetensors_header(changed, 9).tensors) {
          EXPECT_LE(tensor.begin + tensor.entry.byte_count, 9u) << changed;
          covered += tensor.entry.byte_count;
        }
        EXPECT_EQ(covered, 9u) << changed;
        ++accepted;
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(accepted, 500);  // other names and metadata, I8 or I32 for U8 or F32
  EXPECT_GT(refused, 20'000);
}

}  // namespace
}  // namespace samebits::checkpoint
