// Trouble the user can act on: a bad file, an option that does not fit, a machine that lacks something. The message
// names the file, the tensor and the reason in one line.
#pragma once

#include <stdexcept>
#include <string>

namespace samebits {

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what) : std::runtime_error(what) {}
};

}  // namespace samebits
