// Ctrl-C and SIGTERM end a command cleanly: half-written files are removed, then the signal ends
// the program as it would have. A second one ends it at once.
#pragma once

namespace samebits::cli {

void catch_interrupts();
bool interrupted();

// Not a std::exception: nothing but main takes it.
struct Interrupted {
  int signal;
};
void throw_if_interrupted();

// What would have happened without catch_interrupts.
[[noreturn]] void end_by_signal(int signal);

}  // namespace samebits::cli
