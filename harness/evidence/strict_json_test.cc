#include "harness/evidence/strict_json.h"

#include <gtest/gtest.h>

#include <string>

#include "harness/core/error.h"

namespace samebits::evidence {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_strict_json(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(StrictJson, ReadsWhatJsonSays) {
  const auto json = parse_strict_json(R"({"a": [1, -2, 1.5, "x", null, true], "b": {"c": {}}})");
  EXPECT_EQ(json["a"][1].get<int>(), -2);
  EXPECT_EQ(json["a"][2].get<double>(), 1.5);
  EXPECT_TRUE(json["b"]["c"].is_object());
}

TEST(StrictJson, RefusesAKeyTwiceAtAnyDepth) {
  EXPECT_EQ(refusal(R"({"a": 1, "a": 2})"), "the key \"a\" stands twice in one object");
  EXPECT_EQ(refusal(R"([{"b": {"a": 1, "a": 1}}])"), "the key \"a\" stands twice in one object");
  EXPECT_EQ(refusal(R"({"a": {"a": 1}})"), "accepted");
}

TEST(StrictJson, RefusesIntegersThatDoNotFit) {
  EXPECT_EQ(refusal("[18446744073709551615]"), "accepted");
  EXPECT_EQ(refusal("[18446744073709551616]"),
            "the integer 18446744073709551616 does not fit 64 bits");
  EXPECT_EQ(refusal("[1e300]"), "accepted");
}

TEST(StrictJson, RefusesDepthBeyondTheCap) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(refusal(nested(kMaxJsonDepth)), "accepted");
  EXPECT_EQ(refusal(nested(kMaxJsonDepth + 1)), "is nested deeper than 16");
}

TEST(StrictJson, RefusesWhatIsNoJson) {
  for (const std::string text : {"", "{", "{} x", "[1,]", "nan", "{\"a\" 1}", "\"\\ud800\""}) {
    EXPECT_NE(refusal(text).find("is not valid JSON"), std::string::npos) << text;
  }
}

TEST(JsonFields, NameTheFieldThatIsNotAsItMustBe) {
  const auto json = parse_strict_json(R"({"n": 7, "s": "x", "big": 18446744073709551615})");
  const JsonFields fields(json);
  EXPECT_EQ(fields.integer("n", 0, 7), 7);
  EXPECT_EQ(fields.text("s"), "x");
  const auto reason = [](const auto& read) -> std::string {
    try {
      read();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(reason([&] { fields.integer("n", 0, 6); }), "\"n\" is not an integer from 0 to 6");
  EXPECT_EQ(reason([&] { fields.integer("big", 0, 9); }), "\"big\" is not an integer from 0 to 9");
  EXPECT_EQ(reason([&] { fields.text("n"); }), "\"n\" is not a string");
  EXPECT_EQ(reason([&] { fields.text("none"); }), "\"none\" is missing");
  EXPECT_EQ(reason([&] { fields.array("s"); }), "\"s\" is not a list");
  EXPECT_EQ(reason([&] { fields.boolean("s"); }), "\"s\" is not true or false");
}

}  // namespace
}  // namespace samebits::evidence
