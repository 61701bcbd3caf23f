#include "harness/cli/inspect_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "harness/cli/commands.h"
#include "harness/cli/terminal.h"
#include "harness/core/dropped_terms.h"
#include "harness/core/modelled.h"
#include "harness/core/printable.h"
#include "harness/evidence/trace_reader.h"
#include "harness/report/text.h"

namespace samebits::cli {
namespace {

// What the GEMMs of one layer and operation have in common.
using GemmRow = std::tuple<std::string, Operation, std::int64_t, int, std::string>;

void print_gemms(const Trace& trace) {
  std::map<GemmRow, int> gemms;
  std::size_t width = 5;
  for (const Event& event : trace.events) {
    if (!event.gemm) continue;
    const auto shape = split_shape(event);
    ++gemms[{printable(event.key.layer, 60), event.key.operation, shape ? shape->k : 0,
             event.gemm->split_k, printable(event.gemm->by, 40)}];
    width = std::max(width, printable(event.key.layer, 60).size());
  }
  fmt::print("\n  {:{}}  {:5}  {:>10}  {:>6}  {:>5}  by\n", "layer", width, "GEMM", "K", "slices",
             "count");
  for (const auto& [row, count] : gemms) {
    const auto& [layer, operation, k, split_k, by] = row;
    fmt::print("  {:{}}  {:5}  {:>10}  {:>6}  {:>5}  {}\n", layer, width, operation_name(operation),
               k, split_k, count, by);
  }
}

}  // namespace

bool is_trace(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path / "trace.json", ignored);
}

int inspect_trace(const std::filesystem::path& directory) {
  const evidence::LoadedTrace loaded = evidence::read_trace(directory);
  const Program& program = loaded.program;
  fmt::print("{}: the trace of {}, {} events, {} tensors\n", printable(directory.native()),
             printable(loaded.trace.arm, 80), loaded.trace.events.size(),
             loaded.trace.tensor_count());
  fmt::print("  recipe: {}\n", describe(program.recipe));
  fmt::print("  scenario: {}, {} steps of {} microbatches, main_grad {}\n", program.name,
             program.steps, program.microbatches, main_grad_name(program.main_grad));
  for (const auto& [name, value] : loaded.environment) {
    fmt::print("  {}: {}\n", printable(name, 80), printable(value, 200));
  }
  print_gemms(loaded.trace);
  std::vector<Finding> findings = find_dropped_terms({&loaded.trace});
  for (Finding& finding : find_not_modelled({&loaded.trace})) {
    findings.push_back(std::move(finding));
  }
  if (!findings.empty()) fmt::print("\n");
  for (const Finding& finding : findings)
    fmt::print("{}", report::text_finding(finding, wants_color()));
  const bool error = std::any_of(findings.begin(), findings.end(),
                                 [](const Finding& finding) { return finding.error; });
  return error ? kDifferent : kSame;
}

}  // namespace samebits::cli
