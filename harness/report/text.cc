#include "harness/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <thread>

#include "harness/core/printable.h"
#include "harness/core/values.h"

namespace samebits::report {
namespace {

// Of whole steps by the reference, as measured on the machines this was written on; it serves the
// estimate alone.
constexpr double kMultiplyAddsASecondAndCore = 1.6e9;
constexpr double kByThePlainForm = 0.15e9;  // mx: 25 bits do not fit the fast one

class Colors {
 public:
  explicit Colors(bool on) : on_(on) {}
  std::string good(std::string_view text) const { return paint("32;1", text); }
  std::string bad(std::string_view text) const { return paint("31;1", text); }
  std::string warn(std::string_view text) const { return paint("33;1", text); }

 private:
  std::string paint(std::string_view code, std::string_view text) const {
    return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  bool on_;
};

std::string place(const Event& event, const EventTensor& tensor) {
  const std::string pass =
      event.key.pass == Pass::kTrain ? "" : std::string(pass_name(event.key.pass)) + " ";
  return fmt::format("step {} microbatch {} {}{} {}", event.key.step, event.key.microbatch, pass,
                     operation_name(event.key.operation), tensor.name);
}

struct LayerRow {
  std::size_t tensors = 0;
  std::size_t different = 0;
  std::string first;
};

std::map<std::string, LayerRow> layer_rows(const CheckResult& result) {
  std::map<std::string, LayerRow> rows;
  for (const Event& event : result.a.events) rows[event.key.layer].tensors += event.tensors.size();
  for (const auto& [e, t] : result.comparison.differences) {
    const Event& event = result.a.events[e];
    LayerRow& row = rows[event.key.layer];
    if (row.different++ == 0) row.first = place(event, event.tensors[t]);
  }
  return rows;
}

std::string layer_table(const CheckRequest& request, const CheckResult& result,
                        const Colors& colors) {
  auto rows = layer_rows(result);
  std::size_t width = 5;
  for (const CheckedLayer& checked : request.layers) {
    width = std::max(width, printable(checked.layer.name, 60).size());
  }
  std::string text = fmt::format("  {:{}}  {:>12}  {:>8}  {:9}  {}\n", "layer", width, "[out, in]",
                                 "tensors", "verdict", "first difference");
  for (const CheckedLayer& checked : request.layers) {
    const LayerRow& row = rows[checked.layer.name];  // a program may leave no event
    const bool same = row.different == 0;
    text += fmt::format("  {:{}}  {:>12}  {:>8}  {}  {}\n", printable(checked.layer.name, 60),
                        width, shape_text(checked.layer.weight.shape), row.tensors,
                        same ? colors.good("same     ") : colors.bad("DIFFERENT"), row.first);
  }
  return text;
}

std::string element(const HostTensor& tensor, std::int64_t index) {
  const std::string bits = bits_text(tensor, index);
  return is_float(tensor.dtype) ? fmt::format("{} ({})", bits, value_text(value_at(tensor, index)))
                                : bits;
}

std::string first_difference(const CheckResult& result, const Colors& colors) {
  const FirstDifference& first = *result.first;
  const Event& event = result.a.events[first.event];
  const HostTensor& a = first.a[first.tensor];
  const HostTensor& b = first.b[first.tensor];
  std::string text = fmt::format(
      "{}  {}  {}   cause: {}\n", colors.bad("DIFFERENT"), printable(event.key.layer),
      place(event, event.tensors[first.tensor]), colors.bad(describe(result.causes.front())));
  text +=
      fmt::format("  {} of {} elements, first at {}: {} {}, {} {}\n", first.elements.different,
                  element_count(a.shape), shape_text(first.elements.index), result.a.arm,
                  element(a, first.elements.first), result.b.arm, element(b, first.elements.first));
  for (const CauseAt& found : result.causes) {
    if (found.cause == first.cause) continue;
    const Event& at = result.a.events[found.event];
    text += fmt::format("  also found: {}, from {} {}, in {} events\n", describe(found),
                        printable(at.key.layer), place(at, at.tensors[found.tensor]), found.events);
  }
  return text;
}

std::string loss_table(const CheckResult& result) {
  std::string text = fmt::format("  {:>4}  {:>22}  {:>22}\n", "step", "loss " + result.a.arm,
                                 "loss " + result.b.arm);
  // A recorded trace has no losses.
  const std::size_t steps = std::min(result.a.loss.size(), result.b.loss.size());
  if (steps == 0) return {};
  for (std::size_t step = 0; step < steps; ++step) {
    text += fmt::format("  {:>4}  {:>22}  {:>22}\n", step, value_text(result.a.loss[step]),
                        value_text(result.b.loss[step]));
  }
  return text;
}

std::string verdict_line(const CheckResult& result, const Colors& colors) {
  switch (result.outcome) {
    case Outcome::kSame:
      return fmt::format("{}  every bit of {} tensors ({} bits) in {} events\n",
                         colors.good("SAME"), result.a.tensor_count(), result.a.bit_count(),
                         result.a.events.size());
    case Outcome::kDifferent:
      return result.first ? first_difference(result, colors)
                          : fmt::format("{}\n", colors.bad("DIFFERENT"));
    case Outcome::kNotReproducible:
      return fmt::format("{}  {}\n", colors.bad("NOT REPRODUCIBLE"), printable(result.reason));
    case Outcome::kNotComparable:
      break;
  }
  return fmt::format("{}  {}\n", colors.bad("NOT COMPARABLE"), printable(result.reason));
}

}  // namespace

std::string_view scope_statement() {
  return "the recipe's semantics, this program's quantise and cache paths and the GEMMs; not your "
         "own framework code";
}

std::string text_finding(const Finding& finding, bool color) {
  const Colors colors(color);
  return fmt::format("  {}: {}: {} ({}): {}\n",
                     finding.error ? colors.bad("error") : colors.warn("note"), finding.kind,
                     printable(finding.where), finding.count, finding.advice);
}

std::string text_scope(const CheckRequest& request, const Scope& scope) {
  const Program& program = request.program;
  const double work = multiply_adds(request);
  const double rate =
      program.recipe.kind == RecipeKind::kMx ? kByThePlainForm : kMultiplyAddsASecondAndCore;
  const double cores =
      request.threads > 0 ? request.threads : std::max(1U, std::thread::hardware_concurrency());
  std::string text = scope.command + "\n";
  const auto row = [&text](std::string_view name, const std::string& value) {
    text += fmt::format("  {:10} {}\n", name, value);
  };
  row("checkpoint", fmt::format("{}: {} linear layers", scope.checkpoint, request.layers.size()));
  for (const auto& [layer, reason] : scope.skipped) {
    row("skipped", printable(layer) + ": " + reason);
  }
  row("recipe", describe(program.recipe));
  row("scenario",
      fmt::format("{}: {} steps of {} microbatches, main_grad {}", program.name, program.steps,
                  program.microbatches, main_grad_name(program.main_grad)));
  row("inputs", scope.inputs);
  row("compared", request.b.name() + " against " + request.a.name());
  row("checked", std::string(scope_statement()));
  row("work", fmt::format("{:.3g} G multiply-adds an arm, about {:.0f} s if the arms agree",
                          work / 1e9, 2 * work / (rate * cores)));
  row("seed", std::to_string(scope.seed));
  return text + "\n";
}

std::string text_verdict(const CheckRequest& request, const CheckResult& result, const Scope& scope,
                         bool color) {
  const Colors colors(color);
  std::string text;
  if (!result.comparison.mismatch) text += layer_table(request, result, colors) + "\n";
  text += verdict_line(result, colors);
  for (const Finding& finding : result.findings) text += text_finding(finding, color);
  text += loss_table(result);
  text += fmt::format("  trace a {}\n  trace b {}\n", evidence::hex(trace_digest(result.a)),
                      evidence::hex(trace_digest(result.b)));
  if (!scope.bundle.empty()) {
    text += fmt::format("  bundle: {0}, to be repeated anywhere by samebits replay {0}\n",
                        printable(scope.bundle));
  }
  return text + "  repeat: " + scope.repeat + "\n";
}

}  // namespace samebits::report
