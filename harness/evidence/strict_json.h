// JSON of unknown origin as a tree, read strictly.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

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

 private:
  const nlohmann::json& field(const char* key) const;

  const nlohmann::json& object_;
};

}  // namespace samebits::evidence
