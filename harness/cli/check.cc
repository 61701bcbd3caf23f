// samebits check CHECKPOINT: the differential check of a saved checkpoint.
#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "harness/checkpoint/linear_layers.h"
#include "harness/cli/backends.h"
#include "harness/cli/check_options.h"
#include "harness/cli/commands.h"
#include "harness/cli/environment.h"
#include "harness/cli/terminal.h"
#include "harness/cli/write_bundle.h"
#include "harness/core/error.h"
#include "harness/core/printable.h"
#include "harness/core/scenario.h"
#include "harness/evidence/trace_reader.h"
#include "harness/evidence/trace_writer.h"
#include "harness/evidence/write_file.h"
#include "harness/report/json.h"
#include "harness/report/text.h"

namespace samebits::cli {
namespace {

Recipe make_recipe(const CheckArguments& options) {
  Recipe recipe = Recipe::defaults(*recipe_from_name(options.recipe));
  if (!options.scale.empty()) {
    if (recipe.kind == RecipeKind::kMx || recipe.kind == RecipeKind::kDelayed) {
      throw Error("--scale goes with the recipes current and block, not with " + options.recipe);
    }
    recipe.power_of_two = options.scale == "pow2";
  }
  if (!options.formats.empty()) recipe.hybrid = options.formats == "hybrid";
  return recipe;
}

constexpr std::string_view kPinned = "pinned:";

// "follow" is for the second arm alone: the first has nothing to follow.
GemmPolicy make_policy(const std::string& gemm, bool second) {
  if (gemm == "no-split") return GemmPolicy::kNoSplit;
  if (gemm.starts_with(kPinned) || (gemm == "follow" && second)) return GemmPolicy::kFollow;
  if (gemm == "heuristic" || gemm == "follow") return GemmPolicy::kHeuristic;
  throw Error("--gemm is heuristic, no-split, follow or pinned:FILE, not \"" + gemm + "\"");
}

std::pair<Arm, Arm> make_arms(const CheckArguments& options) {
  std::pair<Arm, Arm> arms;
  if (options.arms.empty()) {
    const std::string backend = options.backend == "auto" ? best_backend() : options.backend;
    arms = {{backend, false}, {backend, true}};
  } else {
    const auto comma = options.arms.find(',');
    if (comma == std::string::npos) throw Error("--arms takes two arms, A,B");
    arms = {parse_arm(options.arms.substr(0, comma)), parse_arm(options.arms.substr(comma + 1))};
  }
  for (const bool second : {false, true}) make_policy(options.gemm, second);  // throws, if wrong
  // The reference has no choice to make: it follows the other side's split of K.
  if (arms.first.backend != kReference) arms.first.gemm = make_policy(options.gemm, false);
  if (arms.second.backend != kReference) arms.second.gemm = make_policy(options.gemm, true);
  return arms;
}

std::string describe_inputs(const std::vector<CheckedLayer>& layers,
                            const CheckArguments& options) {
  std::size_t x = 0, dy = 0;
  for (const CheckedLayer& checked : layers) {
    x += checked.inputs.x.has_value();
    dy += checked.inputs.dy.has_value();
  }
  const std::string made = "made from seed " + std::to_string(options.seed);
  if (options.inputs.empty()) return made;
  return fmt::format("{}: x captured for {} of {} layers, dy for {}; the rest {}",
                     printable(options.inputs), x, layers.size(), dy, made);
}

report::Scope make_scope(const CheckArguments& options, const Invocation& invocation,
                         const CheckRequest& request,
                         std::vector<checkpoint::SkippedLayer> skipped) {
  report::Scope scope;
  scope.command = shell_line(invocation.arguments);
  std::vector<std::string> repeat = invocation.arguments;
  const auto is_seed = [](const std::string& argument) { return argument.starts_with("--seed"); };
  if (std::none_of(repeat.begin(), repeat.end(), is_seed)) {
    // Behind the command's name: behind a "--" it would be an argument.
    repeat.insert(repeat.begin() + 2, {"--seed", std::to_string(options.seed)});
  }
  scope.repeat = shell_line(repeat);
  scope.checkpoint = printable(options.checkpoint);
  scope.inputs = describe_inputs(request.layers, options);
  scope.seed = options.seed;
  scope.skipped = std::move(skipped);
  scope.environment = environment();
  return scope;
}

// Throws where the report would take the place of a file that is read or of the trace.
void require_own_file(const std::string& json, const std::string& other) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::equivalent(json, other, ignored) ||
      fs::weakly_canonical(fs::absolute(json)) == fs::weakly_canonical(fs::absolute(other))) {
    throw Error("--json " + printable(json) + " would take the place of " + printable(other));
  }
}

// What cannot be written must not cost a run first.
void require_outputs(const CheckArguments& options) {
  for (const std::string* other : {&options.checkpoint, &options.inputs, &options.trace}) {
    if (!options.json.empty() && !other->empty()) require_own_file(options.json, *other);
  }
  if (!options.json.empty()) evidence::require_writable_file(options.json);
  if (!options.trace.empty()) evidence::require_writable_directory(options.trace);
}

bool is_first_microbatch(const EventKey& key) { return key.step == 0 && key.microbatch == 0; }

std::optional<GemmRecords> pinned_records(const CheckArguments& options) {
  if (!options.gemm.starts_with(kPinned)) return std::nullopt;
  return GemmRecords(evidence::read_trace(options.gemm.substr(kPinned.size())).trace);
}

void add_payload(const std::vector<Capture::Payload>& kept, std::vector<HostTensor>& payload) {
  for (const Capture::Payload& event : kept) {
    payload.insert(payload.end(), event.tensors.begin(), event.tensors.end());
  }
}

void write_outputs(const CheckArguments& options, const CheckRequest& request,
                   const CheckResult& result, const report::Scope& scope) {
  if (!options.trace.empty()) {
    evidence::StoredTrace a{&result.a, &request.program, scope.environment, {}};
    evidence::StoredTrace b{&result.b, &request.program, scope.environment, {}};
    if (result.first) {
      a.payload = result.first->a;
      b.payload = result.first->b;
    }
    add_payload(result.kept_a, a.payload);
    add_payload(result.kept_b, b.payload);
    evidence::write_traces(options.trace, {{"a", a}, {"b", b}});
  }
  if (!options.json.empty()) {
    evidence::write_file(options.json, report::json_report(request, result, scope));
  }
}

int exit_status(const CheckResult& result) {
  switch (result.outcome) {
    case Outcome::kSame:
      return result.has_error() ? kDifferent : kSame;
    case Outcome::kDifferent:
      return kDifferent;
    case Outcome::kNotReproducible:
      return kNotReproducible;
    case Outcome::kNotComparable:
      break;
  }
  return kTrouble;
}

int run_check_command(const CheckArguments& options, const Invocation& invocation) {
  CheckRequest request;
  const MainGrad main_grad =
      options.main_grad == "accumulate" ? MainGrad::kAccumulate : MainGrad::kOverwriteFirst;
  request.program = make_scenario(options.scenario, make_recipe(options), main_grad, options.steps,
                                  options.microbatches);
  std::tie(request.a, request.b) = make_arms(options);
  request.learning_rate = options.lr;
  request.threads = options.threads;
  for (const Arm& arm : {request.a, request.b}) make_backend(arm, options.threads);

  const auto source = checkpoint::open_checkpoint(options.checkpoint);
  auto selection = checkpoint::select_linear_layers(*source, options.layers);
  const auto captured =
      options.inputs.empty() ? nullptr : checkpoint::open_checkpoint(options.inputs);
  request.layers = checkpoint::with_inputs(std::move(selection.layers), captured.get(),
                                           {options.seed, options.tokens});
  const std::optional<GemmRecords> records = pinned_records(options);
  require_outputs(options);

  report::Scope scope = make_scope(options, invocation, request, std::move(selection.skipped));
  fmt::print("{}", report::text_scope(request, scope));
  flush_output();
  CheckResult result;
  {
    ProgressBar bar;
    samebits::CheckOptions run;
    run.progress = [&bar](double done) { bar.show(done); };
    if (records) run.records = &*records;
    if (options.payload) run.keep = is_first_microbatch;
    result = run_check(request, make_backend, run);
  }
  if (result.outcome == Outcome::kDifferent && !options.no_bundle) {
    scope.bundle = write_bundle(
        request, result, {options.bundle, options.bundle_seconds, records ? &*records : nullptr});
  }
  write_outputs(options, request, result, scope);
  fmt::print("{}", report::text_verdict(request, result, scope, wants_color()));
  return exit_status(result);
}

}  // namespace

void add_check(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<CheckArguments>();
  CLI::App& check =
      *app.add_subcommand("check", "Run the differential check of a saved checkpoint");
  add_options(check, *options);
  check.callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run_check_command(*options, invocation); };
  });
}

}  // namespace samebits::cli
