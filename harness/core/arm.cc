#include "harness/core/arm.h"

#include "harness/core/error.h"

namespace samebits {

Arm parse_arm(std::string_view text) {
  const auto slash = text.find('/');
  const std::string_view caching = slash == std::string_view::npos ? "" : text.substr(slash + 1);
  if (slash == 0 || (caching != "cached" && caching != "uncached")) {
    throw Error("an arm is BACKEND/cached or BACKEND/uncached, not \"" + std::string(text) + "\"");
  }
  return {std::string(text.substr(0, slash)), caching == "cached"};
}

}  // namespace samebits
