#include "harness/core/findings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/core/dropped_terms.h"
#include "harness/core/modelled.h"
#include "harness/core/values.h"

namespace samebits {
namespace {

void find_non_finite(const CheckRequest& request, std::vector<Finding>& findings) {
  for (const CheckedLayer& checked : request.layers) {
    const std::int64_t count = count_non_finite(checked.layer.weight);
    if (count == 0) continue;
    findings.push_back(
        {"non-finite weight", checked.layer.name, count,
         "NaN is invisible to amax and becomes the NaN code; one Inf makes its scale 1"});
  }
}

std::optional<evidence::Sha256Value> digest_of(const Event& event, std::string_view name) {
  for (const EventTensor& tensor : event.tensors) {
    if (tensor.name == name) return tensor.digest;
  }
  return std::nullopt;
}

// A weight as a step's first fresh use of it shows: its scales and bytes.
using Quantised =
    std::pair<std::optional<evidence::Sha256Value>, std::optional<evidence::Sha256Value>>;

void find_vacuous(const Trace& trace, std::set<std::pair<std::string, int>>& vacuous) {
  std::map<std::pair<std::string, int>, Quantised> first_use;
  for (const Event& event : trace.events) {
    if (!event.weight || event.key.operation != Operation::kFprop) continue;
    if (event.weight->source_now != event.weight->source_at_fill)
      continue;  // a stale copy says nothing of the weight
    first_use.try_emplace({event.key.layer, event.key.step}, digest_of(event, "weight scale_inv"),
                          digest_of(event, "weight bytes"));
  }
  for (const auto& [key, quantised] : first_use) {
    const auto next = first_use.find({key.first, key.second + 1});
    if (next != first_use.end() && next->second == quantised) vacuous.insert(key);
  }
}

void find_vacuous_updates(const Trace& a, const Trace& b, std::vector<Finding>& findings) {
  std::set<std::pair<std::string, int>> vacuous;  // layer, step
  find_vacuous(a, vacuous);
  find_vacuous(b, vacuous);
  std::map<std::string, std::int64_t> steps;
  for (const auto& [layer, step] : vacuous) ++steps[layer];
  for (const auto& [layer, count] : steps) {
    findings.push_back({"vacuous update", layer, count,
                        "the quantised weight did not change, so a stale copy could not be seen; "
                        "try a larger --lr"});
  }
}

// Layers in which the two arms used a weight with different scales.
std::set<std::string> layers_whose_scale_moved(const Trace& a, const Trace& b) {
  std::set<std::string> layers;
  for (std::size_t e = 0; e < a.events.size(); ++e) {
    if (digest_of(a.events[e], "weight scale_inv") != digest_of(b.events[e], "weight scale_inv")) {
      layers.insert(a.events[e].key.layer);
    }
  }
  return layers;
}

// Why delayed scaling could not part this layer's arms, or nothing: the first scale is 1 and only
// the second microbatch of a step can see another one.
std::optional<std::string> reason_not_exercised(const CheckRequest& request, const Layer& layer) {
  if (request.program.microbatches == 1) return "there is one microbatch";
  float amax = 0;
  for (std::int64_t i = 0; i < element_count(layer.weight.shape); ++i) {
    amax = std::fmax(amax, static_cast<float>(std::abs(value_at(layer.weight, i))));
  }
  if (amax == 0) return "max|W| is 0, which keeps the scale at 1";
  if (std::isinf(amax)) return "max|W| is infinite, which keeps the scale at 1";
  if (amax == std::ldexp(448.0F, -request.program.recipe.margin)) return "max|W| gives the scale 1";
  return std::nullopt;
}

void find_unexercised_controls(const CheckRequest& request, const Trace& a, const Trace& b,
                               std::vector<Finding>& findings) {
  if (request.program.recipe.kind != RecipeKind::kDelayed || request.a.cached == request.b.cached)
    return;
  const auto moved = layers_whose_scale_moved(a, b);
  for (const CheckedLayer& checked : request.layers) {
    if (moved.count(checked.layer.name)) continue;
    if (const auto reason = reason_not_exercised(request, checked.layer)) {
      findings.push_back({"control not exercised", checked.layer.name, 1,
                          "delayed scaling had no scale to move: " + *reason});
    } else {
      findings.push_back(
          {"control did not differ", checked.layer.name, 1,
           "delayed scaling must part cached from uncached and did not: do not trust this run",
           true});
    }
  }
}

}  // namespace

std::vector<Finding> find_findings(const CheckRequest& request, const Trace& a, const Trace& b,
                                   const GemmRecords* followed) {
  std::vector<Finding> findings = find_dropped_terms({&a, &b});
  for (Finding& finding : find_not_modelled({&a, &b}, followed)) {
    findings.push_back(std::move(finding));
  }
  find_unexercised_controls(request, a, b, findings);
  find_vacuous_updates(a, b, findings);
  find_non_finite(request, findings);
  return findings;
}

}  // namespace samebits
