#include "harness/core/check.h"

#include <algorithm>
#include <tuple>

#include "harness/core/error.h"
#include "harness/core/exact_distance.h"
#include "harness/core/findings.h"
#include "harness/core/values.h"

namespace samebits {
namespace {

bool follows_other(const Arm& arm, const Arm& other) {
  return arm.gemm == GemmPolicy::kFollow ||
         (arm.backend == kReference && other.backend != kReference);
}

// Runs the two arms, the followed one first, and says how far the whole is.
class Runner {
 public:
  Runner(const CheckRequest& request, const BackendFactory& make_backend,
         const CheckOptions& options)
      : request_(request), make_backend_(make_backend), options_(options) {
    if (!options.records && follows_other(request.a, request.b) &&
        follows_other(request.b, request.a)) {
      throw Error("both arms are to follow the other one's GEMMs");
    }
  }

  std::pair<Trace, Trace> run(Capture& a, Capture& b) {
    std::pair<Trace, Trace> traces;
    if (follows_other(request_.a, request_.b)) {
      traces.second = run(request_.b, b, options_.records);
      const GemmRecords records(traces.second);
      traces.first = run(request_.a, a, options_.records ? options_.records : &records);
    } else {
      traces.first = run(request_.a, a, options_.records);
      const GemmRecords records(traces.first);
      const bool follows = !options_.records && follows_other(request_.b, request_.a);
      traces.second = run(request_.b, b, follows ? &records : options_.records);
    }
    return traces;
  }

  void expect_another_run() { expected_ = 4; }

 private:
  Trace run(const Arm& arm, Capture& capture, const GemmRecords* follow) {
    const ArmRun run{follow, &capture,
                     [this](double done) { options_.progress((done_ + done) / expected_); }};
    Trace trace = run_arm(request_, arm, make_backend_, run);
    done_ += 1;
    return trace;
  }

  const CheckRequest& request_;
  const BackendFactory& make_backend_;
  const CheckOptions& options_;
  double done_ = 0, expected_ = 2;  // arms run
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

// Of a first difference that is not modelled: whether rounding could have made it.
std::optional<Finding> find_distance(const CheckRequest& request, const CheckResult& result) {
  const FirstDifference& first = *result.first;
  if (first.cause != Cause::kGemmNotModelled) return std::nullopt;
  const Event& event = result.a.events[first.event];
  const auto distance =
      exact_distance(request, event, first.a, first.b[first.tensor], first.elements.first);
  if (!distance) return std::nullopt;
  const bool within = distance->a <= distance->bound && distance->b <= distance->bound;
  return Finding{"not modelled",
                 event.key.layer + " " + std::string(operation_name(event.key.operation)) + " " +
                     event.tensors[first.tensor].name + " " + shape_text(first.elements.index),
                 1,
                 "from the exact result " + result.a.arm + " is " + value_text(distance->a) + ", " +
                     result.b.arm + " is " + value_text(distance->b) +
                     ", and the measured arithmetic is within " + value_text(distance->bound) +
                     (within ? ": its rounding could have made both"
                             : ": its rounding could not have made both")};
}

}  // namespace

bool CheckResult::has_error() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.error; });
}

CheckResult run_check(const CheckRequest& request, const BackendFactory& make_backend,
                      const CheckOptions& options) {
  Runner runner(request, make_backend, options);
  CheckResult result;
  Capture kept_a{options.keep, {}}, kept_b{options.keep, {}};
  std::tie(result.a, result.b) = runner.run(kept_a, kept_b);
  result.kept_a = std::move(kept_a.kept);
  result.kept_b = std::move(kept_b.kept);
  result.comparison = compare(result.a, result.b);
  if (!result.comparison.mismatch) {
    result.causes = find_causes(result.a, result.b, result.comparison);
    result.findings = find_findings(request, result.a, result.b, options.records);
  }
  if (const auto reason = unequal_start(result)) {
    result.outcome = Outcome::kNotComparable;
    result.reason = *reason;
    return result;
  }
  if (result.comparison.differences.empty()) return result;

  const auto [event, tensor] = result.comparison.differences.front();
  runner.expect_another_run();
  const auto is_first = [key = result.a.events[event].key](const EventKey& k) { return k == key; };
  Capture a{is_first, {}}, b{is_first, {}};
  const auto [again_a, again_b] = runner.run(a, b);
  for (const auto& [once, again] : {std::pair{&result.a, &again_a}, {&result.b, &again_b}}) {
    if (const auto reason = unrepeated(*once, *again)) {
      result.outcome = Outcome::kNotReproducible;
      result.reason = *reason;
      return result;
    }
  }
  const std::vector<HostTensor>& bytes_a = a.kept.front().tensors;
  const std::vector<HostTensor>& bytes_b = b.kept.front().tensors;
  result.outcome = Outcome::kDifferent;
  result.first = {event,
                  tensor,
                  result.causes.front().cause,
                  compare_elements(bytes_a[tensor], bytes_b[tensor]),
                  bytes_a,
                  bytes_b};
  if (auto finding = find_distance(request, result)) {
    result.findings.push_back(std::move(*finding));
  }
  if (result.first->elements.zero_signs_only) {
    result.findings.push_back(
        {"sign of zero", result.a.events[event].key.layer, result.first->elements.different,
         "the first difference is +0 against -0 alone: 0 + x keeps every value of x but -0"});
  }
  return result;
}

}  // namespace samebits
