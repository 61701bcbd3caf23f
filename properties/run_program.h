// Runs the samebits program as a user's shell does.
#pragma once

#include <sys/resource.h>

#include <filesystem>
#include <string>
#include <vector>

namespace samebits::properties {

enum class Stream { kCaptured, kClosed, kFull, kTerminal };  // kFull: /dev/full

struct Command {
  std::vector<std::string> arguments{};  // behind the program's name
  std::filesystem::path directory{};     // the current one of the program
  Stream out = Stream::kCaptured;        // standard output
  Stream err = Stream::kCaptured;        // standard error; not kTerminal
  rlim_t file_limit = RLIM_INFINITY;     // bytes a file may have
  bool no_color = false;                 // NO_COLOR=1 in its environment
  bool interrupt = false;                // SIGINT as soon as something is on standard output
};

struct Finished {
  int status = 0;        // the exit status, or minus the signal that ended it
  std::string out, err;  // what was captured, or shown on the terminal
};

Finished run_program(const Command& command);

std::vector<std::string> lines(const std::string& text);

}  // namespace samebits::properties
