// The subcommands. Each adds itself to the parser; what it returns when it runs is the exit status.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace samebits::cli {

// Exit statuses, as diff(1) extended.
inline constexpr int kSame = 0;
inline constexpr int kDifferent = 1;
inline constexpr int kTrouble = 2;
inline constexpr int kNotReproducible = 3;

struct Invocation {
  std::vector<std::string> arguments;  // argv
  std::function<int()> run;            // set by the subcommand that was given
};

void add_check(CLI::App& app, Invocation& invocation);
void add_inspect(CLI::App& app, Invocation& invocation);
void add_digest(CLI::App& app, Invocation& invocation);
void add_replay(CLI::App& app, Invocation& invocation);
void add_selftest(CLI::App& app, Invocation& invocation);

}  // namespace samebits::cli
