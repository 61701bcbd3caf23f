// samebits: whether two ways of running the same FP8 training step give the same bits.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "harness/cli/commands.h"
#include "harness/core/printable.h"

namespace {

// One line on standard error, whatever is in the message.
int trouble(const std::string& message) {
  fmt::print(stderr, "samebits: {}\n", samebits::printable(message));
  return samebits::cli::kTrouble;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace samebits::cli;
  Invocation invocation{{argv, argv + argc}, {}};
  try {
    CLI::App app{
        "Tells whether two ways of running the same FP8 training step give the same bits, and "
        "where they first part if they do not.",
        "samebits"};
    app.set_version_flag("--version", "samebits " SAMEBITS_VERSION);
    app.require_subcommand(1);
    app.footer(
        "Exit status: 0 same, 1 different (or an error among the findings), 2 trouble, 3 not "
        "reproducible.");
    add_check(app, invocation);
    add_inspect(app, invocation);
    add_digest(app, invocation);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& shown) {  // --help, --version
      return app.exit(shown);
    } catch (const CLI::ParseError& error) {
      return trouble(std::string(error.what()) + " (samebits --help lists the options)");
    }
    const int status = invocation.run();
    if (std::fflush(stdout) != 0) return trouble("standard output cannot be written");
    return status;
  } catch (const std::exception& error) {
    return trouble(error.what());
  }
}
