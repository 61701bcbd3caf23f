// What the terminal can show.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace samebits::cli {

// Throws Error where standard output cannot be written, as on a full disk or when it is closed.
void flush_output();

bool wants_color();  // standard output is a terminal and NO_COLOR is not set

// A bar on standard error, drawn only where that is a terminal and the work takes a while.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();          // wipes the bar
  void show(double done);  // throws Interrupted where there was one

 private:
  using Clock = std::chrono::steady_clock;
  bool on_;
  bool drawn_ = false;
  Clock::time_point start_, last_;
};

// The arguments as one line that a shell reads back to the same arguments, in printable ASCII.
std::string shell_line(const std::vector<std::string>& arguments);

}  // namespace samebits::cli
