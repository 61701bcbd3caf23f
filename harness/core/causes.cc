#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "harness/core/arm.h"
#include "harness/core/modelled.h"
#include "harness/core/verdict.h"
#include "reference/mutants.h"

namespace samebits {
namespace {

bool stale(const WeightProvenance& weight) {
  return weight.source_now != weight.source_at_fill && !mutant("staleness has no name");
}

// The causes of one trace pair, found event by event: what differed before decides what a
// difference means now.
class CauseFinder {
 public:
  CauseFinder(const Trace& a, const Trace& b) : a_(a), b_(b) {}

  void visit(std::size_t event, const std::set<std::size_t>& different) {
    a_event_ = &a_.events[event];
    b_event_ = &b_.events[event];
    different_ = &different;
    if (!different.empty()) {
      if (const auto found = find()) record(*found, event);
      differed_before_.insert(a_event_->key.layer);
    }
    remember_rowwise();
  }

  std::vector<CauseAt> take() { return std::move(causes_); }

 private:
  using OperandKey =
      std::tuple<std::string, int, int, std::string>;  // layer, step, microbatch, operand
  struct Found {
    Cause cause;
    std::size_t tensor;  // that it shows in: an earlier one may differ for an older reason
  };

  // Whether the event's tensor of this name differs; false where it has none.
  bool differs(const std::string& name) const { return index_of(name, true).has_value(); }
  bool has(const std::string& name) const { return index_of(name, false).has_value(); }
  std::optional<std::size_t> index_of(const std::string& name, bool only_different) const {
    for (std::size_t t = 0; t < a_event_->tensors.size(); ++t) {
      if (a_event_->tensors[t].name == name && (!only_different || different_->count(t))) return t;
    }
    return std::nullopt;
  }
  bool operand_differs(const std::string& name) const {
    return differs(name + " scale_inv") || differs(name + " bytes");
  }
  OperandKey operand_key(const std::string& name) const {
    return {a_event_->key.layer, a_event_->key.step, a_event_->key.microbatch, name};
  }

  std::optional<Found> find() const {
    const bool first = !differed_before_.count(a_event_->key.layer);
    if (differs("x")) return at(Cause::kInputsDiffer, "x");
    if (first && differs("dy")) return at(Cause::kInputsDiffer, "dy");
    if (const auto cause = weight_cause()) return at(*cause, "weight");
    for (const std::string name : {"x", "dy"}) {
      if (const auto cause = operand_cause(name)) return at(*cause, name);
    }
    if (accumulation_mode()) return at(Cause::kAccumulationMode, "main_grad");
    if (const auto cause = result_cause(first)) return Found{*cause, *different_->begin()};
    // An operand, and nothing recorded before it explains why.
    if (first) return Found{Cause::kInputsDiffer, *different_->begin()};
    return std::nullopt;
  }
  // In the first different tensor of this operand.
  Found at(Cause cause, const std::string& operand) const {
    const auto tensor =
        std::find_if(different_->begin(), different_->end(), [&](const std::size_t t) {
          const std::string& name = a_event_->tensors[t].name;
          return name == operand || name.starts_with(operand + " ");
        });
    return {cause, *tensor};
  }

  std::optional<Cause> weight_cause() const {
    if (!a_event_->weight || !b_event_->weight) return std::nullopt;
    if (!operand_differs("weight") && !operand_differs("weight columnwise")) return std::nullopt;
    const WeightProvenance& a = *a_event_->weight;
    const WeightProvenance& b = *b_event_->weight;
    if (a.source_at_fill != b.source_at_fill && (stale(a) || stale(b))) return Cause::kStaleWeight;
    if (a.parameters != b.parameters) return Cause::kStaleRecipe;
    if (a.source_at_fill != b.source_at_fill)
      return std::nullopt;  // each is fresh, of weights that parted earlier
    if (differs("weight scale_inv") || scale_moved_columnwise("weight")) return Cause::kScaleMoved;
    if (differs("weight bytes")) return Cause::kCast;
    return columnwise_cause("weight");
  }

  // x or dy: the source of a rowwise copy is in the event, that of a columnwise copy was in an
  // earlier one.
  std::optional<Cause> operand_cause(const std::string& name) const {
    if (has(name) && !differs(name)) {
      if (differs(name + " scale_inv")) return Cause::kScaleMoved;
      if (differs(name + " bytes")) return Cause::kCast;
    }
    return columnwise_cause(name);
  }

  bool rowwise_was_equal(const std::string& name) const {
    const auto found = rowwise_differs_.find(operand_key(name));
    return found != rowwise_differs_.end() && !found->second;
  }
  // The rowwise scale differed too: what moved is the scale, not the twin.
  bool scale_moved_columnwise(const std::string& name) const {
    return differs(name + " columnwise scale_inv") && !rowwise_was_equal(name);
  }
  std::optional<Cause> columnwise_cause(const std::string& name) const {
    if (operand_differs(name + " columnwise") && rowwise_was_equal(name))
      return Cause::kColumnwiseTwin;
    return std::nullopt;
  }

  bool accumulation_mode() const {
    if (!differs("main_grad") || a_event_->beta == b_event_->beta) return false;
    const bool harmless = a_event_->onto_zeros && b_event_->onto_zeros;
    return !harmless || different_->size() == 1;  // else an operand differs, and explains it
  }

  // Only the result differs: the operation itself made the difference.
  std::optional<Cause> result_cause(bool first) const {
    if (a_event_->key.operation == Operation::kUpdate) {
      return first ? std::optional(Cause::kUpdateArithmetic) : std::nullopt;
    }
    if (different_->size() > 1 || *different_->begin() + 1 != a_event_->tensors.size())
      return std::nullopt;
    // main_grad adds to what it was: where that parted earlier, this event is innocent.
    const bool adds = a_event_->beta != 0.0F && !a_event_->onto_zeros;
    if (a_event_->key.operation == Operation::kWgrad && !first && adds) return std::nullopt;
    const GemmRecord a = a_event_->gemm.value_or(GemmRecord{});
    const GemmRecord b = b_event_->gemm.value_or(GemmRecord{});
    if (a.dropped_terms != b.dropped_terms) return Cause::kDroppedTerms;
    const bool same_algorithm =
        a.split_k == b.split_k && (a.by != b.by || a.algorithm == b.algorithm);
    if (!same_algorithm) return Cause::kGemmAlgorithm;
    return not_modelled().empty() ? Cause::kGemmArithmetic : Cause::kGemmNotModelled;
  }
  // Of the event's GEMM, where one side is the reference's: what is not measured of the other.
  std::string not_modelled() const {
    const GemmRecord a = a_event_->gemm.value_or(GemmRecord{});
    const GemmRecord b = b_event_->gemm.value_or(GemmRecord{});
    if (a.by == b.by || (a.by != kReference && b.by != kReference)) return {};
    return why_not_modelled(a.by == kReference ? b : a).value_or("");
  }

  void remember_rowwise() {
    for (const std::string name : {"x", "dy", "weight"}) {
      if (has(name + " bytes")) rowwise_differs_[operand_key(name)] = operand_differs(name);
    }
  }

  void record(const Found& found, std::size_t event) {
    for (CauseAt& known : causes_) {
      if (known.cause == found.cause) {
        ++known.events;
        return;
      }
    }
    const bool names_it = found.cause == Cause::kGemmNotModelled;
    causes_.push_back({found.cause, event, found.tensor, 1, names_it ? not_modelled() : ""});
  }

  const Trace& a_;
  const Trace& b_;
  const Event* a_event_ = nullptr;
  const Event* b_event_ = nullptr;
  const std::set<std::size_t>* different_ = nullptr;  // indices of the event's tensors
  std::set<std::string> differed_before_;             // layers
  std::map<OperandKey, bool> rowwise_differs_;
  std::vector<CauseAt> causes_;
};

}  // namespace

std::vector<CauseAt> find_causes(const Trace& a, const Trace& b, const Comparison& comparison) {
  CauseFinder finder(a, b);
  auto next = comparison.differences.begin();
  for (std::size_t event = 0; event < a.events.size(); ++event) {
    std::set<std::size_t> different;
    for (; next != comparison.differences.end() && next->event == event; ++next)
      different.insert(next->tensor);
    finder.visit(event, different);
  }
  return finder.take();
}

std::string_view cause_name(Cause cause) {
  constexpr std::array<std::string_view, kCauses> kNames{"inputs differ",
                                                    "stale weight",
                                                    "stale recipe",
                                                    "scale moved",
                                                    "cast",
                                                    "columnwise twin",
                                                    "accumulation mode",
                                                    "library drops terms",
                                                    "GEMM algorithm",
                                                    "GEMM arithmetic",
                                                    "GEMM arithmetic, not modelled",
                                                    "update arithmetic"};
  return kNames.at(static_cast<std::size_t>(cause));
}

std::string describe(const CauseAt& found) {
  return std::string(cause_name(found.cause)) + (found.detail.empty() ? "" : ": " + found.detail);
}

std::string_view outcome_name(Outcome outcome) {
  constexpr std::array<std::string_view, 4> kNames{"same", "different", "not-reproducible",
                                                   "not-comparable"};
  return kNames.at(static_cast<std::size_t>(outcome));
}

}  // namespace samebits
