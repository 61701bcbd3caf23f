// Text of unknown origin (a tensor's name, a path) made fit for a one-line message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace samebits {

// Printable ASCII as it is, a backslash doubled, any other byte as \xNN; cut with "..." after
// `limit` bytes of `text`.
std::string printable(std::string_view text, std::size_t limit = std::string_view::npos);

}  // namespace samebits
