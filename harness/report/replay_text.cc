#include "harness/report/replay_text.h"

#include <fmt/format.h>

#include "harness/core/printable.h"
#include "harness/report/text.h"

namespace samebits::report {
namespace {

using evidence::HowReplayed;
using evidence::ReplayOutcome;

std::string place(const CheckResult& result) {
  const auto [e, t] = result.comparison.differences.front();
  const Event& event = result.a.events[e];
  return fmt::format("{}  step {} microbatch {} {} {} {}   cause: {}", printable(event.key.layer),
                     event.key.step, event.key.microbatch, pass_name(event.key.pass),
                     operation_name(event.key.operation), event.tensors[t].name,
                     cause_name(result.causes.front().cause));
}

std::string arm_line(const Trace& recorded, const evidence::ArmReplay& arm) {
  std::string text = fmt::format("  {}: ", recorded.arm);
  if (arm.how == HowReplayed::kStandIn) {
    text += fmt::format("the reference, following the recorded GEMMs ({}): ", printable(arm.why));
  } else if (arm.how == HowReplayed::kRecorded) {
    return text + fmt::format("taken from the recording ({})\n", printable(arm.why));
  }
  return text + (arm.other.empty()
                     ? fmt::format("the recorded bits, {} tensors\n", recorded.tensor_count())
                     : "other bits than recorded, from " + printable(arm.other) + "\n");
}

std::string_view outcome_text(ReplayOutcome outcome) {
  switch (outcome) {
    case ReplayOutcome::kRepeats:
      return "REPEATS  the recorded difference";
    case ReplayOutcome::kOtherDifference:
      return "DIFFERENT  but not as recorded";
    case ReplayOutcome::kSame:
      return "SAME  in this environment the arms now agree";
    case ReplayOutcome::kNotReproducible:
      break;
  }
  return "NOT REPRODUCIBLE  the same environment, and other bits than recorded";
}

}  // namespace

std::string text_bundle(const evidence::Bundle& bundle) {
  const CheckRequest& request = bundle.request;
  return fmt::format(
      "  recorded   {}\n  arms       {} against {}\n  program    {} operations, {} steps, {} "
      "microbatches, {} tokens\n  recipe     {}\n\n",
      place(bundle.recorded), request.b.name(), request.a.name(), request.program.ops.size(),
      request.program.steps, request.program.microbatches, request.layers.front().inputs.tokens,
      describe(request.program.recipe));
}

std::string text_replay(const evidence::Bundle& bundle, const evidence::ReplayResult& result,
                        const std::string& command, bool color) {
  Scope scope;
  scope.repeat = command;
  std::string text = text_verdict(bundle.request, result.now, scope, color);
  for (const auto& [name, recorded, here] : result.environment) {
    text += fmt::format("  environment: {}: recorded {}, here {}\n", printable(name, 80),
                        recorded.empty() ? "none" : printable(recorded, 200),
                        here.empty() ? "none" : printable(here, 200));
  }
  text += arm_line(bundle.recorded.a, result.a) + arm_line(bundle.recorded.b, result.b);
  return text + fmt::format("{}\n", outcome_text(result.outcome));
}

}  // namespace samebits::report
