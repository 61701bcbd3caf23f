#include "harness/cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace samebits::cli {

bool wants_color() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

ProgressBar::ProgressBar() : on_(isatty(STDERR_FILENO)), start_(Clock::now()), last_(start_) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::show(double done) {
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
    if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char c : argument) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace samebits::cli
