// samebits selftest: makes each kind of fault on purpose and shows which property sees it. The
// faults are in a program of their own, built and installed beside this one.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "harness/cli/commands.h"
#include "harness/core/error.h"
#include "harness/core/printable.h"

namespace samebits::cli {
namespace {

// Does not return: the other program takes this one's place.
int run_selftest(const std::string& text) {
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string program = (beside / "samebits-selftest").string();
  std::string name = "samebits-selftest", argument = text;
  char* argv[] = {name.data(), text.empty() ? nullptr : argument.data(), nullptr};
  ::execv(program.c_str(), argv);
  throw Error(printable(program) + ": " + std::strerror(errno) +
              " (it is built with the tests: SAMEBITS_TESTS)");
}

}  // namespace

void add_selftest(CLI::App& app, Invocation& invocation) {
  auto text = std::make_shared<std::string>();
  CLI::App& selftest =
      *app.add_subcommand("selftest", "Inject each kind of fault and show that a property sees it");
  selftest.add_option("TEXT", *text, "only the faults with this in their name");
  selftest.callback(
      [text, &invocation] { invocation.run = [text] { return run_selftest(*text); }; });
}

}  // namespace samebits::cli
