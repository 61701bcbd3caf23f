#include "harness/cli/check_options.h"

#include <fmt/format.h>

#include "harness/cli/option_values.h"
#include "harness/core/scenario.h"

namespace samebits::cli {
namespace {

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

void add_options(CLI::App& check, CheckArguments& options) {
  check.add_option("CHECKPOINT", options.checkpoint, "a safetensors file")
      ->required()
      ->check(not_empty());
  check.add_option("--recipe", options.recipe, "FP8 recipe")
      ->check(CLI::IsMember({"current", "block", "mx", "delayed"}))
      ->capture_default_str();
  check.add_option("--scale", options.scale, "current, block: FP32 scales or powers of two")
      ->check(CLI::IsMember({"fp32", "pow2"}));
  check.add_option("--formats", options.formats, "E4M3 everywhere, or E5M2 for gradients")
      ->check(CLI::IsMember({"e4m3", "hybrid"}));
  check.add_option("--scenario", options.scenario, "how the loop drives caching, see below")
      ->check(CLI::IsMember(scenario_names()))
      ->capture_default_str();
  auto* arms =
      check
          .add_option("--arms", options.arms, "A,B: compare B against A (reference/uncached, ...)")
          ->check(not_empty());
  check.add_option("--backend", options.backend, "the uncached and cached arms of this backend")
      ->check(CLI::IsMember({"auto", "reference", "cuda"}))
      ->capture_default_str()
      ->excludes(arms);
  check
      .add_option("--gemm", options.gemm,
                  "how cuda arms choose algorithms: heuristic, no-split, follow (B takes A's), "
                  "pinned:TRACE (the recorded ones; reference arms take the split of K)")
      ->capture_default_str();
  check.add_option("--main-grad", options.main_grad, "what True does to gradient accumulation")
      ->check(CLI::IsMember({"accumulate", "overwrite-first"}))
      ->capture_default_str();
  check.add_option("--microbatches", options.microbatches, "a step")
      ->transform(whole_number(1, 4096))
      ->capture_default_str();
  check.add_option("--steps", options.steps, "optimizer steps")
      ->transform(whole_number(1, 4096))
      ->capture_default_str();
  check
      .add_option("--tokens", options.tokens, "a microbatch, a multiple of 16 [64, or as captured]")
      ->transform(whole_number<std::int64_t>());
  check.add_option("--layers", options.layers, "only layers that match this glob (repeatable)")
      ->type_size(1)
      ->allow_extra_args(false);
  check
      .add_option("--inputs", options.inputs,
                  "safetensors with <layer>.x, <layer>.dy [slices, tokens, features]")
      ->check(not_empty());
  check.add_option("--seed", options.seed, "of inputs and targets that are not captured")
      ->transform(whole_number<std::uint64_t>())
      ->capture_default_str();
  check.add_option("--lr", options.lr, "learning rate [2^-4 * max|w| / max|main_grad|]")
      ->transform(learning_rate());
  check.add_option("--threads", options.threads, "0: all cores")
      ->transform(whole_number(0, 4096))
      ->capture_default_str();
  check.add_option("--json", options.json, "write the report as JSON")->check(not_empty());
  auto* trace =
      check.add_option("--trace", options.trace, "write both traces into this new folder")
          ->check(not_empty());
  check
      .add_flag("--payload", options.payload,
                "with --trace: keep the bytes of step 0 microbatch 0 too")
      ->needs(trace);
  auto* no_bundle = check.add_flag("--no-bundle", options.no_bundle,
                                   "write no bundle where a difference is found");
  check.add_option("--bundle", options.bundle, "write it into this new folder [bundles/<8 hex>]")
      ->check(not_empty())
      ->excludes(no_bundle);
  check.add_option("--bundle-seconds", options.bundle_seconds, "time to look for a smaller bundle")
      ->transform(whole_number(0, 86400))
      ->capture_default_str();
  check.footer(scenario_help());
}

}  // namespace samebits::cli
