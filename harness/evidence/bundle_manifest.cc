#include "harness/evidence/bundle_manifest.h"

#include <cmath>

#include "harness/core/error.h"
#include "harness/core/printable.h"
#include "harness/core/values.h"
#include "harness/evidence/program_json.h"
#include "harness/evidence/strict_json.h"

namespace samebits::evidence {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSchema[] = "samebits-bundle-1";
constexpr std::int64_t kMostCount = 1 << 30;
constexpr std::size_t kMostEnvironment = 256;

std::string_view gemm_name(GemmPolicy policy, bool pinned) {
  switch (policy) {
    case GemmPolicy::kNoSplit:
      return "no-split";
    case GemmPolicy::kFollow:
      return pinned ? "pinned" : "follow";
    case GemmPolicy::kHeuristic:
      break;
  }
  return "heuristic";
}

Json arm_json(const Arm& arm, bool pinned) {
  return {{"arm", arm.name()}, {"gemm", gemm_name(arm.gemm, pinned)}};
}

Arm read_arm(const JsonFields& fields, bool& pinned) {
  fields.require_only({"arm", "gemm"});
  Arm arm = parse_arm(fields.text("arm"));
  if (arm.backend != kReference && arm.backend != "cuda") {
    throw Error("unknown backend \"" + printable(arm.backend, 40) + "\"");
  }
  const std::string gemm = fields.text("gemm");
  for (const GemmPolicy policy :
       {GemmPolicy::kHeuristic, GemmPolicy::kNoSplit, GemmPolicy::kFollow}) {
    for (const bool recorded : {false, true}) {
      if (gemm_name(policy, recorded) != gemm) continue;
      arm.gemm = policy;
      pinned = pinned || gemm == "pinned";
      return arm;
    }
  }
  throw Error("\"gemm\" is \"" + printable(gemm, 40) + "\", which is none");
}

Json element_json(const HostTensor& tensor, std::int64_t index) {
  Json json = {{"bits", bits_text(tensor, index)}};
  if (is_float(tensor.dtype)) json["value"] = value_text(value_at(tensor, index));
  return json;
}

Json first_json(const CheckResult& result) {
  const FirstDifference& first = *result.first;
  const Event& event = result.a.events[first.event];
  return {{"cause", cause_name(first.cause)},
          {"step", event.key.step},
          {"microbatch", event.key.microbatch},
          {"pass", pass_name(event.key.pass)},
          {"occurrence", event.key.occurrence},
          {"layer", event.key.layer},
          {"operation", operation_name(event.key.operation)},
          {"tensor", event.tensors[first.tensor].name},
          {"different", first.elements.different},
          {"elements", element_count(first.a[first.tensor].shape)},
          {"index", first.elements.index},
          {"a", element_json(first.a[first.tensor], first.elements.first)},
          {"b", element_json(first.b[first.tensor], first.elements.first)}};
}

void read_first(const JsonFields& fields, Manifest& manifest) {
  // What it says of elements is for people; the payload is what counts.
  fields.require_only({"cause", "step", "microbatch", "pass", "occurrence", "layer", "operation",
                       "tensor", "different", "elements", "index", "a", "b"});
  const auto count = [&](const char* key) {
    return static_cast<int>(fields.integer(key, 0, kMostCount));
  };
  manifest.cause = fields.named<Cause>("cause", kCauses, cause_name);
  manifest.key.step = count("step");
  manifest.key.microbatch = count("microbatch");
  manifest.key.pass = fields.named<Pass>("pass", 3, pass_name);
  manifest.key.occurrence = count("occurrence");
  manifest.key.layer = fields.text("layer");
  manifest.key.operation = fields.named<Operation>("operation", 4, operation_name);
  manifest.tensor = fields.text("tensor");
}

Sha256Value digest_of(const JsonFields& fields, const char* key) {
  const auto value = parse_hex(fields.text(key));
  if (!value) throw Error("\"" + std::string(key) + "\" is not 64 lower-case hexadecimal digits");
  return *value;
}

}  // namespace

std::string manifest_json(const BundleContent& content) {
  const CheckRequest& request = *content.request;
  const CheckResult& result = *content.result;
  Json json = {
      {"schema", kSchema},
      {"first", first_json(result)},
      {"program", program_json(request.program)},
      {"recipe", recipe_json(request.program.recipe)},
      {"arms",
       {{"a", arm_json(request.a, content.pinned)}, {"b", arm_json(request.b, content.pinned)}}},
      {"learning_rate", nullptr},
      {"smallest", content.smallest},
      {"trace_digest", {{"a", hex(trace_digest(result.a))}, {"b", hex(trace_digest(result.b))}}}};
  if (request.learning_rate) json["learning_rate"] = *request.learning_rate;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Manifest parse_manifest(std::string_view text) {
  const nlohmann::json json = parse_strict_json(text);
  const JsonFields fields(json);
  if (fields.text("schema") != kSchema) throw Error("is no " + std::string(kSchema));
  fields.require_only({"schema", "first", "program", "recipe", "arms", "learning_rate", "smallest",
                       "trace_digest"});
  Manifest manifest;
  manifest.program = read_program(fields);
  const JsonFields arms(fields.object("arms"));
  arms.require_only({"a", "b"});
  manifest.a = read_arm(JsonFields(arms.object("a")), manifest.pinned);
  manifest.b = read_arm(JsonFields(arms.object("b")), manifest.pinned);
  if (!fields.is_null("learning_rate")) {
    const auto rate = static_cast<float>(fields.number("learning_rate"));
    if (!std::isfinite(rate) || rate < 0) throw Error("\"learning_rate\" is no rate");
    manifest.learning_rate = rate;
  }
  fields.boolean("smallest");
  read_first(JsonFields(fields.object("first")), manifest);
  const JsonFields digests(fields.object("trace_digest"));
  manifest.digest_a = digest_of(digests, "a");
  manifest.digest_b = digest_of(digests, "b");
  return manifest;
}

std::map<std::string, std::string> parse_environment(std::string_view text) {
  const nlohmann::json json = parse_strict_json(text);
  const JsonFields fields(json);
  if (fields.text("schema") != "samebits-environment-1") {
    throw Error("is no samebits-environment-1");
  }
  fields.require_only({"schema", "environment", "gemms"});
  fields.array("gemms");
  std::map<std::string, std::string> rows;
  for (const auto& [name, value] : fields.object("environment").items()) {
    if (!value.is_string()) throw Error("\"environment\" holds more than strings");
    if (rows.size() == kMostEnvironment) throw Error("\"environment\" has too many rows");
    rows[name] = value.get<std::string>();
  }
  return rows;
}

std::string replay_text(const BundleContent& content) {
  const CheckResult& result = *content.result;
  const FirstDifference& first = *result.first;
  const Event& event = result.a.events[first.event];
  const auto side = [&](const Trace& trace, const std::vector<HostTensor>& tensors) {
    const HostTensor& tensor = tensors[first.tensor];
    std::string text = "* " + trace.arm + ": " + bits_text(tensor, first.elements.first);
    if (is_float(tensor.dtype)) {
      text += " (" + value_text(value_at(tensor, first.elements.first)) + ")";
    }
    return text + "\n";
  };
  std::string text =
      "# " + std::string(cause_name(first.cause)) + "\n\n" + printable(event.key.layer, 200) +
      ", step " + std::to_string(event.key.step) + " microbatch " +
      std::to_string(event.key.microbatch) + " " + std::string(pass_name(event.key.pass)) + " " +
      std::string(operation_name(event.key.operation)) + ", " + event.tensors[first.tensor].name +
      ": " + std::to_string(first.elements.different) + " of " +
      std::to_string(element_count(first.a[first.tensor].shape)) + " elements differ, first at " +
      shape_text(first.elements.index) + "\n\n";
  text += side(result.a, first.a) + side(result.b, first.b);
  text += "\nRecipe: " + describe(content.request->program.recipe) + ".\n";
  text += content.smallest ? "Nothing smaller shows it.\n"
                           : "Something smaller may show it too: minimising was stopped.\n";
  text +=
      "\nIn this folder:\n\n"
      "    sha256sum -c SHA256SUMS\n"
      "    samebits replay .\n\n"
      "`samebits replay` exits with 1 where the recorded difference repeats, 0 where another\n"
      "environment now gives the same bits in both arms, 3 where the same environment gives other\n"
      "bits than recorded, and 2 where the bundle is damaged.\n";
  return text;
}

}  // namespace samebits::evidence
