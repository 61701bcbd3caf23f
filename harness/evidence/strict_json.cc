#include "harness/evidence/strict_json.h"

#include <algorithm>
#include <vector>

#include "harness/core/error.h"
#include "harness/core/printable.h"
#include "reference/mutants.h"

namespace samebits::evidence {
namespace {

using Json = nlohmann::json;

// Builds the tree event by event; the open containers are a stack of pointers into it.
class StrictSax : public nlohmann::json_sax<Json> {
 public:
  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(std::int64_t value) override { return put(value); }
  bool number_unsigned(std::uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string& text) override {
    if (text.find_first_of(".eE") == std::string::npos) {
      throw Error("the integer " + printable(text, 40) + " does not fit 64 bits");
    }
    return put(value);
  }
  bool string(std::string& text) override { return put(std::move(text)); }
  bool binary(Json::binary_t&) override { throw Error("binary data"); }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& text) override {
    if (open_.back()->contains(text) && !mutant("the last of equal keys")) {
      throw Error("the key \"" + printable(text, 80) + "\" stands twice in one object");
    }
    key_ = std::move(text);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    throw Error("is not valid JSON at byte " + std::to_string(position));
  }

 private:
  Json* place(Json&& value) {
    if (open_.empty()) return &(root_ = std::move(value));
    Json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    return &(parent[key_] = std::move(value));
  }
  bool put(Json&& value) {
    place(std::move(value));
    return true;
  }
  bool open(Json&& container) {
    if (open_.size() == kMaxJsonDepth) {
      throw Error("is nested deeper than " + std::to_string(kMaxJsonDepth));
    }
    open_.push_back(place(std::move(container)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;
  std::string key_;
};

[[noreturn]] void refuse(const char* key, const std::string& reason) {
  throw Error("\"" + std::string(key) + "\" " + reason);
}

}  // namespace

Json parse_strict_json(std::string_view text) {
  if (text.size() > kMaxJsonBytes) {
    throw Error("is larger than " + std::to_string(kMaxJsonBytes) + " bytes");
  }
  StrictSax sax;
  Json::sax_parse(text, &sax);
  return sax.take();
}

JsonFields::JsonFields(const Json& object) : object_(object) {
  if (!object.is_object()) throw Error("is not a JSON object");
}

const Json& JsonFields::field(const char* key) const {
  const auto found = object_.find(key);
  if (found == object_.end()) refuse(key, "is missing");
  return *found;
}

std::string JsonFields::text(const char* key) const {
  if (!field(key).is_string()) refuse(key, "is not a string");
  return field(key).get<std::string>();
}

std::int64_t JsonFields::integer(const char* key, std::int64_t least, std::int64_t most) const {
  const Json& value = field(key);
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
  if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
    refuse(key, "is not an integer from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value.get<std::int64_t>();
}

double JsonFields::number(const char* key) const {
  if (!field(key).is_number()) refuse(key, "is not a number");
  return field(key).get<double>();
}

bool JsonFields::boolean(const char* key) const {
  if (!field(key).is_boolean()) refuse(key, "is not true or false");
  return field(key).get<bool>();
}

const Json& JsonFields::array(const char* key) const {
  if (!field(key).is_array()) refuse(key, "is not a list");
  return field(key);
}

void JsonFields::require_only(std::initializer_list<const char*> keys) const {
  for (const auto& [key, value] : object_.items()) {
    const bool known = std::any_of(keys.begin(), keys.end(),
                                   [&name = key](const char* each) { return name == each; });
    if (!known) throw Error("has the unknown key \"" + printable(key, 80) + "\"");
  }
}

const Json& JsonFields::object(const char* key) const {
  if (!field(key).is_object()) refuse(key, "is not an object");
  return field(key);
}

}  // namespace samebits::evidence
