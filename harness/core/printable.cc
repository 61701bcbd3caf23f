#include "harness/core/printable.h"

namespace samebits {

std::string printable(std::string_view text, std::size_t limit) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string result;
  for (const char c : text.substr(0, limit)) {
    if (c == '\\') {
      result += "\\\\";
    } else if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += {'\\', 'x', kHex[byte >> 4], kHex[byte & 0xf]};
    }
  }
  return text.size() > limit ? result + "..." : result;
}

}  // namespace samebits
