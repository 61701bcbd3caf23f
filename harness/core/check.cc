#include "harness/core/check.h"

#include <algorithm>

#include "harness/core/findings.h"

namespace samebits {
namespace {

double layer_multiply_adds(const Program& program, const CheckedLayer& checked) {
  double gemms = 0;
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::kForward || op.kind == OpKind::kRecompute ||
        op.kind == OpKind::kEvaluate)
      gemms += 1;
    if (op.kind == OpKind::kBackward) gemms += 2;
  }
  return gemms * static_cast<double>(checked.inputs.tokens) *
         static_cast<double>(checked.layer.in() * checked.layer.out());
}

// What the second run keeps: every tensor of one event.
struct Capture {
  EventKey key;
  std::vector<HostTensor> payload;
};

class Runner {
 public:
  Runner(const CheckRequest& request, const BackendFactory& make_backend, const Progress& progress)
      : request_(request),
        make_backend_(make_backend),
        progress_(progress),
        total_(2 * multiply_adds(request)) {}

  Trace run(const Arm& arm, Capture* capture) {
    Trace trace;
    trace.arm = arm.name();
    trace.loss.assign(static_cast<std::size_t>(request_.program.steps), 0.0);
    const auto backend = make_backend_(arm.backend, request_.threads);
    const EngineOptions options{arm.cached, request_.learning_rate, request_.threads};
    for (const CheckedLayer& checked : request_.layers) {
      const double work = layer_multiply_adds(request_.program, checked);
      const auto ops = static_cast<double>(request_.program.ops.size());
      const EventSink sink = [&](Event&& event, std::span<const HostTensor> payload) {
        progress_((done_ + work * static_cast<double>(event.op + 1) / ops) / total_);
        if (capture && capture->key == event.key)
          capture->payload.assign(payload.begin(), payload.end());
        trace.events.push_back(std::move(event));
      };
      const auto loss =
          run_layer(options, request_.program, checked.layer, checked.inputs, *backend, sink);
      for (std::size_t step = 0; step < loss.size(); ++step) trace.loss[step] += loss[step];
      done_ += work;
    }
    // Layers ran one after the other; program order is by operation, then by layer.
    std::stable_sort(trace.events.begin(), trace.events.end(),
                     [](const Event& left, const Event& right) { return left.op < right.op; });
    return trace;
  }

  void expect_another_run() { total_ *= 2; }

 private:
  const CheckRequest& request_;
  const BackendFactory& make_backend_;
  const Progress& progress_;
  double total_, done_ = 0;
};

// Why the arms did not start equal, or nothing.
std::optional<std::string> unequal_start(const CheckResult& result) {
  if (result.comparison.mismatch)
    return "the arms did not do the same: " + *result.comparison.mismatch;
  std::vector<std::string> seen;
  for (std::size_t e = 0; e < result.a.events.size(); ++e) {
    const Event& a = result.a.events[e];
    const Event& b = result.b.events[e];
    if (!a.weight || std::find(seen.begin(), seen.end(), a.key.layer) != seen.end()) continue;
    seen.push_back(a.key.layer);
    if (a.weight->source_now != b.weight->source_now)
      return "layer " + a.key.layer + ": the weights differ";
  }
  for (const CauseAt& cause : result.causes) {
    if (cause.cause == Cause::kInputsDiffer) {
      return "layer " + result.a.events[cause.event].key.layer + ": the inputs differ";
    }
  }
  return std::nullopt;
}

std::optional<std::string> unrepeated(const Trace& first, const Trace& second) {
  const Comparison comparison = compare(first, second);
  if (comparison.mismatch) return first.arm + " does not repeat: " + *comparison.mismatch;
  if (comparison.differences.empty()) return std::nullopt;
  const auto [event, tensor] = comparison.differences.front();
  const Event& at = first.events[event];
  return first.arm + " does not repeat itself, first at step " + std::to_string(at.key.step) +
         " microbatch " + std::to_string(at.key.microbatch) + " " + at.key.layer + " " +
         std::string(operation_name(at.key.operation)) + " " + at.tensors[tensor].name;
}

}  // namespace

bool CheckResult::has_error() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.error; });
}

double multiply_adds(const CheckRequest& request) {
  double sum = 0;
  for (const CheckedLayer& checked : request.layers)
    sum += layer_multiply_adds(request.program, checked);
  return sum;
}

CheckResult run_check(const CheckRequest& request, const BackendFactory& make_backend,
                      const Progress& progress) {
  Runner runner(request, make_backend, progress);
  CheckResult result;
  result.a = runner.run(request.a, nullptr);
  result.b = runner.run(request.b, nullptr);
  result.comparison = compare(result.a, result.b);
  if (!result.comparison.mismatch) {
    result.causes = find_causes(result.a, result.b, result.comparison);
    result.findings = find_findings(request, result.a, result.b);
  }
  if (const auto reason = unequal_start(result)) {
    result.outcome = Outcome::kNotComparable;
    result.reason = *reason;
    return result;
  }
  if (result.comparison.differences.empty()) return result;

  const auto [event, tensor] = result.comparison.differences.front();
  runner.expect_another_run();
  Capture capture_a{result.a.events[event].key, {}};
  Capture capture_b = capture_a;
  for (const auto& [once, again] : {std::pair{&result.a, runner.run(request.a, &capture_a)},
                                    std::pair{&result.b, runner.run(request.b, &capture_b)}}) {
    if (const auto reason = unrepeated(*once, again)) {
      result.outcome = Outcome::kNotReproducible;
      result.reason = *reason;
      return result;
    }
  }
  result.outcome = Outcome::kDifferent;
  result.first = {event,
                  tensor,
                  result.causes.front().cause,
                  compare_elements(capture_a.payload[tensor], capture_b.payload[tensor]),
                  capture_a.payload,
                  capture_b.payload};
  if (result.first->elements.zero_signs_only) {
    result.findings.push_back(
        {"sign of zero", result.a.events[event].key.layer, result.first->elements.different,
         "the first difference is +0 against -0 alone: 0 + x keeps every value of x but -0"});
  }
  return result;
}

}  // namespace samebits
