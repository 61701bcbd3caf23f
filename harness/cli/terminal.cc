#include "harness/cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "harness/cli/interrupt.h"
#include "harness/core/error.h"

namespace samebits::cli {
namespace {

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

// Quoted for a shell. What is not printable ASCII must neither reach the terminal nor be lost in a
// file of UTF-8, so $'...' spells it in hex.
std::string quoted(const std::string& argument) {
  if (std::all_of(argument.begin(), argument.end(), is_printable)) {
    std::string text = "'";
    for (const char c : argument) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
  }
  std::string text = "$'";
  for (const char c : argument) {
    if (c == '\'' || c == '\\') text += '\\';
    text += is_printable(c) ? std::string(1, c)
                            : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text + "'";
}

}  // namespace

void flush_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    throw Error("standard output cannot be written");
  }
}

bool wants_color() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

ProgressBar::ProgressBar() : on_(isatty(STDERR_FILENO)), start_(Clock::now()), last_(start_) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::show(double done) {
  throw_if_interrupted();
  const auto now = Clock::now();
  if (!on_ || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  done = std::clamp(done, 0.0, 1.0);
  constexpr int kWidth = 40;
  const int full = static_cast<int>(done * kWidth);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double left = done > 0 ? elapsed * (1 - done) / done : 0;
  fmt::print(stderr, "\r  [{:#<{}}{:<{}}] {:3.0f} %  {:.0f} s left \x1b[K", "", full, "",
             kWidth - full, 100 * done, left);
  std::fflush(stderr);
}

std::string shell_line(const std::vector<std::string>& arguments) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=+:,@%";
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty()) line += ' ';
    const bool plain = !argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos;
    line += plain ? argument : quoted(argument);
  }
  return line;
}

}  // namespace samebits::cli
