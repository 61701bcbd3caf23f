#include "harness/cli/option_values.h"

#include <fmt/format.h>

#include <cmath>

namespace samebits::cli {

CLI::Validator learning_rate() {
  const auto read = [](std::string& text) -> std::string {
    float value{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || !std::isfinite(value) || value < 0) {
      return "\"" + text + "\" is not a finite number, 0 or more, in FP32's range";
    }
    text = fmt::format("{:a}", value);  // read back exactly
    return {};
  };
  return {read, {}};
}

CLI::Validator not_empty() {
  const auto read = [](const std::string& text) {
    return text.empty() ? std::string("its value is empty") : std::string();
  };
  return {read, {}};
}

}  // namespace samebits::cli
