// How a program is run: on which backend, with weight caching or without.
#pragma once

#include <string>
#include <string_view>

namespace samebits {

struct Arm {
  std::string backend = "reference";
  bool cached = false;

  std::string name() const { return backend + (cached ? "/cached" : "/uncached"); }
};

// "reference/uncached" -> Arm. Throws Error on any other form.
Arm parse_arm(std::string_view text);

}  // namespace samebits
