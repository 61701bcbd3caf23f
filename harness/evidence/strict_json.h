// JSON of unknown origin as a tree, read strictly.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "harness/core/error.h"
#include "harness/core/printable.h"

namespace samebits::evidence {

inline constexpr std::size_t kMaxJsonDepth = 16;
inline constexpr std::size_t kMaxJsonBytes = std::size_t{256} << 20;

// Throws Error with the reason where the text is not JSON, is larger or deeper than the caps, has a
// key twice in one object, or an integer that does not fit 64 bits (which the library would turn
// into a double in silence).
nlohmann::json parse_strict_json(std::string_view text);

// Typed access to one object's fields; every Error names the field.
class JsonFields {
 public:
  // `object` must outlive this. Throws Error where it is no object.
  explicit JsonFields(const nlohmann::json& object);

  std::string text(const char* key) const;
  std::int64_t integer(const char* key, std::int64_t least, std::int64_t most) const;
  double number(const char* key) const;
  bool boolean(const char* key) const;
  const nlohmann::json& array(const char* key) const;
  const nlohmann::json& object(const char* key) const;
  bool has(const char* key) const { return object_.contains(key); }
  bool is_null(const char* key) const { return field(key).is_null(); }
  // The value below `count` that `name` gives this text to: the inverse of one of the _name
  // functions.
  template <class Value, class Name>
  Value named(const char* key, int count, const Name& name) const {
    const std::string text_of_key = text(key);
    for (int i = 0; i < count; ++i) {
      if (name(static_cast<Value>(i)) == text_of_key) return static_cast<Value>(i);
    }
    throw Error("\"" + std::string(key) + "\" is \"" + printable(text_of_key, 40) +
                "\", which is none");
  }
  // Throws where the object has a field that is not among these.
  void require_only(std::initializer_list<const char*> keys) const;

 private:
  const nlohmann::json& field(const char* key) const;

  const nlohmann::json& object_;
};

}  // namespace samebits::evidence
