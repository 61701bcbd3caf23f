#include "harness/cli/interrupt.h"

#include <initializer_list>
#include <csignal>
#include <cstdlib>

namespace samebits::cli {
namespace {

volatile std::sig_atomic_t caught = 0;

extern "C" void remember(int signal) { caught = signal; }

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    // Started in the background by a shell: it is to stay ignored.
    if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
  }
}

bool interrupted() { return caught != 0; }

void throw_if_interrupted() {
  if (caught != 0) throw Interrupted{caught};
}

void end_by_signal(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  std::_Exit(128 + signal);
}

}  // namespace samebits::cli
