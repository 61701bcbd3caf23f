// samebits check CHECKPOINT: the differential check of a saved checkpoint.
#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "harness/checkpoint/linear_layers.h"
#include "harness/cli/backends.h"
#include "harness/cli/commands.h"
#include "harness/cli/environment.h"
#include "harness/cli/option_values.h"
#include "harness/cli/terminal.h"
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

struct Options {
  std::string checkpoint;
  std::string recipe = "block";
  std::string scale, formats;  // empty: the recipe's default
  std::string scenario = "train";
  std::string main_grad = "accumulate";
  std::string arms, backend = "auto";
  std::string gemm = "heuristic";
  int microbatches = 4, steps = 2;
  std::optional<std::int64_t> tokens;
  std::vector<std::string> layers;
  std::string inputs;
  std::uint64_t seed = 0;
  std::optional<float> lr;
  int threads = 0;
  std::string json, trace;
  bool payload = false;
};

Recipe make_recipe(const Options& options) {
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

std::pair<Arm, Arm> make_arms(const Options& options) {
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

std::string describe_inputs(const std::vector<CheckedLayer>& layers, const Options& options) {
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

report::Scope make_scope(const Options& options, const Invocation& invocation,
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
      fs::weakly_canonical(json) == fs::weakly_canonical(other)) {
    throw Error("--json " + printable(json) + " would take the place of " + printable(other));
  }
}

// What cannot be written must not cost a run first.
void require_outputs(const Options& options) {
  for (const std::string* other : {&options.checkpoint, &options.inputs, &options.trace}) {
    if (!options.json.empty() && !other->empty()) require_own_file(options.json, *other);
  }
  if (!options.json.empty()) evidence::require_writable_file(options.json);
  if (!options.trace.empty()) evidence::require_writable_directory(options.trace);
}

bool is_first_microbatch(const EventKey& key) { return key.step == 0 && key.microbatch == 0; }

std::optional<GemmRecords> pinned_records(const Options& options) {
  if (!options.gemm.starts_with(kPinned)) return std::nullopt;
  return GemmRecords(evidence::read_trace(options.gemm.substr(kPinned.size())).trace);
}

void add_payload(const std::vector<Capture::Payload>& kept, std::vector<HostTensor>& payload) {
  for (const Capture::Payload& event : kept) {
    payload.insert(payload.end(), event.tensors.begin(), event.tensors.end());
  }
}

void write_outputs(const Options& options, const CheckRequest& request, const CheckResult& result,
                   const report::Scope& scope) {
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

int run_check_command(const Options& options, const Invocation& invocation) {
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

  const report::Scope scope =
      make_scope(options, invocation, request, std::move(selection.skipped));
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
  write_outputs(options, request, result, scope);
  fmt::print("{}", report::text_verdict(request, result, scope, wants_color()));
  return exit_status(result);
}

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const ScenarioRow& row : scenarios()) names.emplace_back(row.name);
  return names;
}

std::string scenario_help() {
  std::string text = "Scenarios:\n";
  for (const ScenarioRow& row : scenarios())
    text += fmt::format("  {:18} {}\n", row.name, row.what);
  return text;
}

}  // namespace

void add_check(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App& check =
      *app.add_subcommand("check", "Run the differential check of a saved checkpoint");
  check.add_option("CHECKPOINT", options->checkpoint, "a safetensors file")
      ->required()
      ->check(not_empty());
  check.add_option("--recipe", options->recipe, "FP8 recipe")
      ->check(CLI::IsMember({"current", "block", "mx", "delayed"}))
      ->capture_default_str();
  check.add_option("--scale", options->scale, "current, block: FP32 scales or powers of two")
      ->check(CLI::IsMember({"fp32", "pow2"}));
  check.add_option("--formats", options->formats, "E4M3 everywhere, or E5M2 for gradients")
      ->check(CLI::IsMember({"e4m3", "hybrid"}));
  check.add_option("--scenario", options->scenario, "how the loop drives caching, see below")
      ->check(CLI::IsMember(scenario_names()))
      ->capture_default_str();
  auto* arms =
      check
          .add_option("--arms", options->arms, "A,B: compare B against A (reference/uncached, ...)")
          ->check(not_empty());
  check.add_option("--backend", options->backend, "the uncached and cached arms of this backend")
      ->check(CLI::IsMember({"auto", "reference", "cuda"}))
      ->capture_default_str()
      ->excludes(arms);
  check
      .add_option("--gemm", options->gemm,
                  "how cuda arms choose algorithms: heuristic, no-split, follow (B takes A's), "
                  "pinned:TRACE (the recorded ones; reference arms take the split of K)")
      ->capture_default_str();
  check.add_option("--main-grad", options->main_grad, "what True does to gradient accumulation")
      ->check(CLI::IsMember({"accumulate", "overwrite-first"}))
      ->capture_default_str();
  check.add_option("--microbatches", options->microbatches, "a step")
      ->transform(whole_number(1, 4096))
      ->capture_default_str();
  check.add_option("--steps", options->steps, "optimizer steps")
      ->transform(whole_number(1, 4096))
      ->capture_default_str();
  check
      .add_option("--tokens", options->tokens,
                  "a microbatch, a multiple of 16 [64, or as captured]")
      ->transform(whole_number<std::int64_t>());
  check.add_option("--layers", options->layers, "only layers that match this glob (repeatable)")
      ->type_size(1)
      ->allow_extra_args(false);
  check
      .add_option("--inputs", options->inputs,
                  "safetensors with <layer>.x, <layer>.dy [slices, tokens, features]")
      ->check(not_empty());
  check.add_option("--seed", options->seed, "of inputs and targets that are not captured")
      ->transform(whole_number<std::uint64_t>())
      ->capture_default_str();
  check.add_option("--lr", options->lr, "learning rate [2^-4 * max|w| / max|main_grad|]")
      ->transform(learning_rate());
  check.add_option("--threads", options->threads, "0: all cores")
      ->transform(whole_number(0, 4096))
      ->capture_default_str();
  check.add_option("--json", options->json, "write the report as JSON")->check(not_empty());
  auto* trace =
      check.add_option("--trace", options->trace, "write both traces into this new folder")
          ->check(not_empty());
  check
      .add_flag("--payload", options->payload,
                "with --trace: keep the bytes of step 0 microbatch 0 too")
      ->needs(trace);
  check.footer(scenario_help());
  check.callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run_check_command(*options, invocation); };
  });
}

}  // namespace samebits::cli
