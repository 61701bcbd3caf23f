// samebits: whether two ways of running the same FP8 training step give the same bits.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "harness/cli/commands.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/terminal.h"
#include "harness/core/printable.h"

namespace {

// One line on standard error, whatever is in the message. Where that is closed too, the status
// alone tells.
int trouble(const std::string& message) {
  std::fputs(fmt::format("samebits: {}\n", samebits::printable(message)).c_str(), stderr);
  return samebits::cli::kTrouble;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace samebits::cli;
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the limit is an error like a full disk
  catch_interrupts();
  Invocation invocation{{argv, argv + argc}, {}};
  try {
    CLI::App app{
        "Tells whether two ways of running the same FP8 training step give the same bits, and "
        "where they first part if they do not.",
        "samebits"};
    app.set_version_flag("--version", "samebits " SAMEBITS_VERSION);
    app.require_subcommand(0, 1);
    app.footer(
        "Exit status: 0 same, 1 different (or an error among the findings), 2 trouble, 3 not "
        "reproducible.");
    add_check(app, invocation);
    add_inspect(app, invocation);
    add_digest(app, invocation);
    add_replay(app, invocation);
    add_selftest(app, invocation);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& shown) {  // --help, --version
      const int status = app.exit(shown);
      flush_output();
      return status;
    } catch (const CLI::ParseError& error) {
      return trouble(std::string(error.what()) + " (samebits --help lists the options)");
    }
    if (!invocation.run) {
      return trouble(
          "a command is needed: check, inspect, digest, replay or selftest (samebits --help shows "
          "them)");
    }
    const int status = invocation.run();
    flush_output();
    return status;
  } catch (const Interrupted& interruption) {
    trouble("interrupted; nothing half-written is left");
    end_by_signal(interruption.signal);
  } catch (const std::bad_alloc&) {
    return trouble("out of memory");
  } catch (const std::exception& error) {
    return trouble(error.what());
  }
}
