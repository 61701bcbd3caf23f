// samebits replay BUNDLE: runs a bundle again.
#include "harness/evidence/replay.h"

#include <fmt/format.h>

#include "harness/cli/backends.h"
#include "harness/cli/commands.h"
#include "harness/cli/environment.h"
#include "harness/cli/option_values.h"
#include "harness/cli/terminal.h"
#include "harness/cli/write_bundle.h"
#include "harness/core/error.h"
#include "harness/core/printable.h"
#include "harness/report/replay_text.h"

namespace samebits::cli {
namespace {

struct ReplayArguments {
  std::string bundle;
  std::string smaller;
  int threads = 0;
};

int exit_status(const evidence::ReplayResult& result) {
  if (result.now.outcome == Outcome::kNotComparable) return kTrouble;
  switch (result.outcome) {
    case evidence::ReplayOutcome::kSame:
      return kSame;
    case evidence::ReplayOutcome::kNotReproducible:
      return kNotReproducible;
    default:
      return kDifferent;
  }
}

int run_replay(const ReplayArguments& options, const Invocation& invocation) {
  const evidence::Bundle bundle = evidence::read_bundle(options.bundle);
  const std::string command = shell_line(invocation.arguments);
  fmt::print("{}\n{}", command, report::text_bundle(bundle));
  flush_output();
  evidence::ReplayResult result;
  {
    ProgressBar bar;
    result = evidence::replay(
        bundle, make_backend, environment(), [&bar](double done) { bar.show(done); },
        options.threads);
  }
  if (!options.smaller.empty() && result.now.outcome == Outcome::kDifferent &&
      result.a.how == evidence::HowReplayed::kRun && result.b.how == evidence::HowReplayed::kRun) {
    CheckRequest request = bundle.request;
    request.threads = options.threads;
    const GemmRecords records(bundle.recorded.a);
    write_bundle(request, result.now, {options.smaller, 30, bundle.pinned ? &records : nullptr});
  }
  fmt::print("{}", report::text_replay(bundle, result, command, wants_color()));
  return exit_status(result);
}

}  // namespace

void add_replay(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<ReplayArguments>();
  CLI::App& replay = *app.add_subcommand("replay", "Run a bundle again");
  replay.add_option("BUNDLE", options->bundle, "the folder that check wrote")
      ->required()
      ->check(not_empty());
  replay
      .add_option("--bundle", options->smaller,
                  "minimise it again, and write that into this new folder")
      ->check(not_empty());
  replay.add_option("--threads", options->threads, "0: all cores")
      ->transform(whole_number(0, 4096))
      ->capture_default_str();
  replay.footer(
      "Exit status: 1 the recorded difference repeats (or another shows), 0 another environment, "
      "and now the same, 2 trouble, 3 the same environment and other bits.");
  replay.callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run_replay(*options, invocation); };
  });
}

}  // namespace samebits::cli
