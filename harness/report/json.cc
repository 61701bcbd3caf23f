#include "harness/report/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/core/values.h"

namespace samebits::report {
namespace {

using Json = nlohmann::ordered_json;

// A number where JSON can hold it exactly, else its text: NaN, infinities, -0.
Json number(double value) {
  if (!std::isfinite(value) || (value == 0 && std::signbit(value))) return value_text(value);
  return value;
}

Json place(const Event& event, const EventTensor& tensor) {
  return {{"step", event.key.step},
          {"microbatch", event.key.microbatch},
          {"pass", pass_name(event.key.pass)},
          {"layer", event.key.layer},
          {"operation", operation_name(event.key.operation)},
          {"tensor", tensor.name}};
}

Json element(const HostTensor& tensor, std::int64_t index) {
  Json value = is_float(tensor.dtype) ? number(value_at(tensor, index)) : Json();
  return {{"bits", bits_text(tensor, index)}, {"value", std::move(value)}};
}

Json first(const CheckResult& result) {
  if (!result.first) return nullptr;
  const FirstDifference& first = *result.first;
  const Event& event = result.a.events[first.event];
  const HostTensor& a = first.a[first.tensor];
  const HostTensor& b = first.b[first.tensor];
  Json json = place(event, event.tensors[first.tensor]);
  json["cause"] = cause_name(first.cause);
  const std::string& detail = result.causes.front().detail;
  if (!detail.empty()) json["cause_detail"] = detail;
  json["different"] = first.elements.different;
  json["elements"] = element_count(a.shape);
  json["index"] = first.elements.index;
  json["a"] = element(a, first.elements.first);
  json["b"] = element(b, first.elements.first);
  return json;
}

Json causes(const CheckResult& result) {
  Json list = Json::array();
  for (const CauseAt& found : result.causes) {
    const Event& event = result.a.events[found.event];
    Json json = {{"cause", cause_name(found.cause)}};
    json.update(place(event, event.tensors[found.tensor]));
    if (!found.detail.empty()) json["cause_detail"] = found.detail;
    json["events"] = found.events;
    list.push_back(std::move(json));
  }
  return list;
}

Json losses(const Trace& trace) {
  Json list = Json::array();
  for (const double loss : trace.loss) list.push_back(number(loss));
  return list;
}

}  // namespace

std::string json_report(const CheckRequest& request, const CheckResult& result,
                        const Scope& scope) {
  Json json = {{"schema", "samebits-report-1"}, {"verdict", outcome_name(result.outcome)}};
  if (!result.reason.empty()) json["reason"] = result.reason;
  json["first"] = first(result);
  json["causes"] = causes(result);
  json["findings"] = Json::array();
  for (const Finding& finding : result.findings) {
    json["findings"].push_back({{"kind", finding.kind},
                                {"severity", finding.error ? "error" : "note"},
                                {"where", finding.where},
                                {"count", finding.count},
                                {"advice", finding.advice}});
  }
  json["layers"] = request.layers.size();
  json["events"] = result.a.events.size();
  json["tensors"] = result.a.tensor_count();
  json["bits"] = result.a.bit_count();
  json["skipped"] = Json::array();
  for (const auto& [layer, reason] : scope.skipped) {
    json["skipped"].push_back({{"layer", layer}, {"reason", reason}});
  }
  json["loss"] = {{"a", losses(result.a)}, {"b", losses(result.b)}};
  json["trace_digest"] = {{"a", evidence::hex(trace_digest(result.a))},
                          {"b", evidence::hex(trace_digest(result.b))}};
  json["arms"] = {{"a", result.a.arm}, {"b", result.b.arm}};
  json["recipe"] = describe(request.program.recipe);
  json["scenario"] = request.program.name;
  json["steps"] = request.program.steps;
  json["microbatches"] = request.program.microbatches;
  json["main_grad"] = main_grad_name(request.program.main_grad);
  json["seed"] = scope.seed;
  json["command"] = scope.command;
  json["repeat"] = scope.repeat;
  json["bundle"] = scope.bundle.empty() ? Json() : Json(scope.bundle);
  json["environment"] = Json::object();
  for (const auto& [name, value] : scope.environment) json["environment"][name] = value;
  // A layer's name may be any UTF-8 that the reader allows; whatever is not is replaced, not fatal.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace samebits::report
