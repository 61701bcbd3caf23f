// The values that options take. CLI11 by itself reads 010 as 8, lets an unsigned number wrap and
// saturates one that is too large.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <string>
#include <system_error>

namespace samebits::cli {

// The whole text is one decimal number of type T, from `least` to `most`.
template <typename T>
CLI::Validator whole_number(T least, T most) {
  const auto read = [least, most](std::string& text) -> std::string {
    T value{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < least || value > most) {
      return "\"" + text + "\" is not a whole number from " + std::to_string(least) + " to " +
             std::to_string(most);
    }
    text = std::to_string(value);  // without leading zeros
    return {};
  };
  return {read, {}};
}

template <typename T>
CLI::Validator whole_number() {
  return whole_number(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}

// One finite number, not negative and in FP32's range, rounded to FP32 once.
CLI::Validator learning_rate();

CLI::Validator not_empty();

}  // namespace samebits::cli
