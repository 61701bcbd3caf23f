#include "harness/evidence/replay.h"

#include <algorithm>
#include <set>

#include "harness/core/error.h"
#include "harness/core/findings.h"

namespace samebits::evidence {
namespace {

// Does not decide bits.
constexpr std::string_view kCores = "cores";

std::vector<EnvironmentDifference> differences(const std::map<std::string, std::string>& recorded,
                                               const Environment& rows) {
  const std::map<std::string, std::string> here(rows.begin(), rows.end());
  std::set<std::string> names;
  for (const auto* side : {&recorded, &here}) {
    for (const auto& [name, value] : *side) names.insert(name);
  }
  std::vector<EnvironmentDifference> result;
  for (const std::string& name : names) {
    const auto value = [&](const auto& side) {
      const auto found = side.find(name);
      return found == side.end() ? std::string() : found->second;
    };
    if (name != kCores && value(recorded) != value(here)) {
      result.push_back({name, value(recorded), value(here)});
    }
  }
  return result;
}

// Where the bits of `now` are first not those of `recorded`, or nothing.
std::string parts_at(const Trace& recorded, const Trace& now) {
  const Comparison comparison = compare(recorded, now);
  if (comparison.mismatch) return *comparison.mismatch;
  if (comparison.differences.empty()) return {};
  const auto [e, t] = comparison.differences.front();
  const Event& event = recorded.events[e];
  return "step " + std::to_string(event.key.step) + " microbatch " +
         std::to_string(event.key.microbatch) + " " + event.key.layer + " " +
         std::string(operation_name(event.key.operation)) + " " + event.tensors[t].name;
}

class Replayer {
 public:
  Replayer(const Bundle& bundle, const BackendFactory& make_backend, const Progress& progress,
           int threads)
      : bundle_(bundle),
        make_backend_(make_backend),
        progress_(progress),
        request_(bundle.request),
        records_a_(bundle.recorded.a),
        records_b_(bundle.recorded.b) {
    request_.threads = threads;
  }

  ReplayResult run() {
    ReplayResult result;
    const auto missing_a = missing(request_.a), missing_b = missing(request_.b);
    if (!missing_a && !missing_b) {
      CheckOptions run;
      run.progress = progress_;
      if (bundle_.pinned) run.records = &records_a_;
      result.now = run_check(request_, make_backend_, run);
    } else {
      const HowReplayed how =
          missing_a && missing_b ? HowReplayed::kStandIn : HowReplayed::kRecorded;
      if (missing_a) result.a = {how, *missing_a, {}};
      if (missing_b) result.b = {how, *missing_b, {}};
      run_instead(result);
    }
    result.a.other = parts_at(bundle_.recorded.a, result.now.a);
    result.b.other = parts_at(bundle_.recorded.b, result.now.b);
    return result;
  }

 private:
  // Why the arm's backend cannot be had, or nothing.
  std::optional<std::string> missing(const Arm& arm) const {
    try {
      make_backend_(arm, request_.threads);
      return std::nullopt;
    } catch (const Error& error) {
      return error.what();
    }
  }

  // Each arm by itself: following its recording, or taken from there.
  void run_instead(ReplayResult& result) {
    CheckResult& now = result.now;
    const EventKey first = bundle_.recorded.a.events[bundle_.recorded.first->event].key;
    std::vector<HostTensor> bytes_a, bytes_b;
    run_side(result.a, request_.a, bundle_.recorded.a, records_a_, first, bundle_.recorded.first->a,
             now.a, bytes_a);
    run_side(result.b, request_.b, bundle_.recorded.b, records_b_, first, bundle_.recorded.first->b,
             now.b, bytes_b);
    now.comparison = compare(now.a, now.b);
    if (now.comparison.mismatch) {
      now.outcome = Outcome::kNotComparable;
      now.reason = *now.comparison.mismatch;
      return;
    }
    now.causes = find_causes(now.a, now.b, now.comparison);
    if (now.comparison.differences.empty()) return;
    now.outcome = Outcome::kDifferent;
    const auto [event, tensor] = now.comparison.differences.front();
    if (now.a.events[event].key != first) return;  // its bytes were not kept
    now.first = {event,
                 tensor,
                 now.causes.front().cause,
                 compare_elements(bytes_a.at(tensor), bytes_b.at(tensor)),
                 bytes_a,
                 bytes_b};
  }

  void run_side(const ArmReplay& side, const Arm& arm, const Trace& recorded,
                const GemmRecords& records, const EventKey& first,
                const std::vector<HostTensor>& recorded_bytes, Trace& trace,
                std::vector<HostTensor>& bytes) {
    if (side.how == HowReplayed::kRecorded) {
      trace = recorded;
      bytes = recorded_bytes;
      return;
    }
    const Arm mine{std::string(kReference), arm.cached};
    Capture capture{[&](const EventKey& key) { return key == first; }, {}};
    trace = run_arm(request_, mine, make_backend_, {&records, &capture, progress_});
    if (!capture.kept.empty()) bytes = capture.kept.front().tensors;
  }

  const Bundle& bundle_;
  const BackendFactory& make_backend_;
  const Progress& progress_;
  CheckRequest request_;
  GemmRecords records_a_, records_b_;
};

bool repeats(const CheckResult& recorded, const CheckResult& now) {
  if (now.comparison.mismatch || now.comparison.differences.empty()) return false;
  const auto [event, tensor] = now.comparison.differences.front();
  return event == recorded.first->event && tensor == recorded.first->tensor &&
         now.causes.front().cause == recorded.first->cause;
}

}  // namespace

ReplayResult replay(const Bundle& bundle, const BackendFactory& make_backend,
                    const Environment& here, const Progress& progress, int threads) {
  ReplayResult result = Replayer(bundle, make_backend, progress, threads).run();
  result.environment = differences(bundle.environment, here);
  const bool same_bits = result.a.other.empty() && result.b.other.empty();
  if (result.now.outcome == Outcome::kNotReproducible ||
      (result.environment.empty() && !same_bits)) {
    result.outcome = ReplayOutcome::kNotReproducible;
  } else if (repeats(bundle.recorded, result.now)) {
    result.outcome = ReplayOutcome::kRepeats;
  } else {
    result.outcome = result.now.outcome == Outcome::kSame ? ReplayOutcome::kSame
                                                          : ReplayOutcome::kOtherDifference;
  }
  return result;
}

}  // namespace samebits::evidence
