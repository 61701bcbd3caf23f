// The JSON object that describes a golden case, read strictly.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "harness/core/error.h"

namespace samebits::golden {

// A flat object without duplicate keys. Each field is taken once, with its exact type; finish()
// refuses what nobody took.
class Fields {
 public:
  Fields(const std::string& text, std::string where) : where_(std::move(where)) {
    std::set<std::string> keys;
    const auto on_event = [&](int depth, nlohmann::json::parse_event_t event,
                              nlohmann::json& parsed) {
      using Event = nlohmann::json::parse_event_t;
      if (depth > 1 || event == Event::array_start) fail("the description is not a flat object");
      if (event == Event::key && !keys.insert(parsed.get<std::string>()).second) {
        fail("key \"" + parsed.get<std::string>() + "\" twice");
      }
      return true;
    };
    try {
      object_ = nlohmann::json::parse(text, on_event);
    } catch (const nlohmann::json::exception& error) {
      fail(error.what());
    }
    if (!object_.is_object()) fail("the description is not an object");
  }

  [[noreturn]] void fail(const std::string& reason) const { throw Error(where_ + ": " + reason); }
  void require(bool holds, const std::string& reason) const {
    if (!holds) fail(reason);
  }

  bool has(const char* key) const { return object_.contains(key); }

  std::string text(const char* key) {
    const auto value = take(key);
    require(value.is_string(), std::string(key) + " is not a string");
    return value.get<std::string>();
  }
  std::int64_t integer(const char* key, std::int64_t least, std::int64_t most) {
    const auto value = take(key);
    require(value.is_number_integer() && value >= least && value <= most,
            std::string(key) + " is not an integer in range");
    return value.get<std::int64_t>();
  }
  std::uint64_t seed(const char* key) {
    const auto value = take(key);
    require(value.is_number_unsigned(), std::string(key) + " is not a seed");
    return value.get<std::uint64_t>();
  }
  float number(const char* key) {
    const auto value = take(key);
    require(value.is_number(), std::string(key) + " is not a number");
    const double exact = value.get<double>();
    require(std::abs(exact) <= std::numeric_limits<float>::max(), std::string(key) + " is no FP32");
    return static_cast<float>(exact);
  }
  bool boolean(const char* key) {
    const auto value = take(key);
    require(value.is_boolean(), std::string(key) + " is not true or false");
    return value.get<bool>();
  }
  // Drops a field that does not decide bits, or one that is null.
  void ignore(const char* key) { object_.erase(key); }
  bool is_null(const char* key) const { return object_.at(key).is_null(); }

  void finish() const {
    if (!object_.empty()) fail("unknown key \"" + object_.begin().key() + '"');
  }

 private:
  nlohmann::json take(const char* key) {
    if (!has(key)) fail(std::string("no ") + key);
    nlohmann::json value = object_.at(key);
    object_.erase(key);
    return value;
  }

  std::string where_;
  nlohmann::json object_;
};

}  // namespace samebits::golden
