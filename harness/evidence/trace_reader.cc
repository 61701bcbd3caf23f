#include "harness/evidence/trace_reader.h"

#include <limits>
#include <map>
#include <vector>

#include "harness/checkpoint/mapped_file.h"
#include "harness/checkpoint/safetensors_header.h"
#include "harness/core/arm.h"
#include "harness/core/error.h"
#include "harness/core/printable.h"
#include "harness/evidence/program_json.h"
#include "harness/evidence/strict_json.h"
#include "reference/mutants.h"

namespace samebits::evidence {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max();

// Runs `body`, and puts where it was in front of what it throws.
template <class Body>
auto naming(const std::string& where, const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(where + ": " + error.what());
  }
}

Sha256Value digest(const JsonFields& fields, const char* key) {
  const auto value = parse_hex(fields.text(key));
  if (!value) throw Error("\"" + std::string(key) + "\" is not 64 lower-case hexadecimal digits");
  return *value;
}

EventTensor read_tensor(const Json& json) {
  const JsonFields fields(json);
  EventTensor tensor;
  tensor.name = fields.text("name");
  const auto dtype = dtype_from_name(fields.text("dtype"));
  if (!dtype) throw Error("unknown dtype \"" + printable(fields.text("dtype"), 40) + "\"");
  tensor.dtype = *dtype;
  for (const Json& size : fields.array("shape")) {
    if (!size.is_number_unsigned() || size.get<std::uint64_t>() > kMaxCount) {
      throw Error("\"shape\" of " + printable(tensor.name, 80) + " has a size that is none");
    }
    tensor.shape.push_back(size.get<std::int64_t>());
  }
  checkpoint::safetensors_byte_count(tensor.name, tensor.dtype, tensor.shape);  // throws: too large
  tensor.digest = digest(fields, "digest");
  if (fields.has("logical_digest")) tensor.logical = digest(fields, "logical_digest");
  return tensor;
}

// The parameters that `describe` gives this text: it names all that decides bytes.
QuantizeParameters read_parameters(const std::string& text) {
  for (int kind = 0; kind < 4; ++kind) {
    for (int mode = 0; mode < 5; ++mode) {
      for (const DType format : {DType::kF8E4M3, DType::kF8E5M2}) {
        // Where the text does not tell, the recipe's own: mx is always, delayed never.
        const bool own = Recipe::defaults(static_cast<RecipeKind>(kind)).power_of_two;
        for (const bool power_of_two : {own, !own}) {
          const QuantizeParameters parameters{static_cast<RecipeKind>(kind), format,
                                              static_cast<ScaleMode>(mode), power_of_two};
          if (describe(parameters) == text) return parameters;
        }
      }
    }
  }
  throw Error("\"parameters\" is \"" + printable(text, 80) + "\", which is none");
}

WeightProvenance read_provenance(const Json& json) {
  const JsonFields fields(json);
  WeightProvenance weight;
  weight.source_now = digest(fields, "source_now");
  weight.source_at_fill = digest(fields, "source_at_fill");
  weight.parameters = read_parameters(fields.text("parameters"));
  weight.flag = fields.named<CacheFlag>("flag", 3, flag_name);
  return weight;
}

GemmRecord read_record(const Json& json) {
  const JsonFields fields(json);
  GemmRecord record;
  record.by = fields.text("by");
  record.algorithm = fields.text("algorithm");
  record.split_k = static_cast<int>(fields.integer("split_k", 1, kMaxCount));
  if (mutant("trace forgets the split")) record.split_k = 1;
  record.dropped_terms = fields.integer("dropped_terms", 0, kMaxCount);
  return record;
}

Event read_event(const Json& json) {
  const JsonFields fields(json);
  Event event;
  event.key.step = static_cast<int>(fields.integer("step", 0, kMaxCount));
  event.key.microbatch = static_cast<int>(fields.integer("microbatch", 0, kMaxCount));
  event.key.pass = fields.named<Pass>("pass", 3, pass_name);
  event.key.occurrence = static_cast<int>(fields.integer("occurrence", 0, kMaxCount));
  event.key.layer = fields.text("layer");
  event.key.operation = fields.named<Operation>("operation", 4, operation_name);
  for (const Json& tensor : fields.array("tensors")) event.tensors.push_back(read_tensor(tensor));
  if (fields.has("gemm")) event.gemm = read_record(fields.object("gemm"));
  if (fields.has("weight")) event.weight = read_provenance(fields.object("weight"));
  if (fields.has("beta")) event.beta = static_cast<float>(fields.number("beta"));
  if (fields.has("learning_rate")) {
    event.learning_rate = static_cast<float>(fields.number("learning_rate"));
  }
  return event;
}

// The start of a step leaves main_grad zero; a layer's first wgrad after it adds to that. Each
// backward has one wgrad, in program order.
void mark_first_gradients(const Program& program, Trace& trace) {
  std::vector<bool> onto_zeros;
  bool zero = true;
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::kBeginStep) zero = true;
    if (op.kind != OpKind::kBackward) continue;
    onto_zeros.push_back(zero);
    zero = false;
  }
  std::map<std::string, std::size_t> next;  // by layer
  for (Event& event : trace.events) {
    if (event.key.operation != Operation::kWgrad) continue;
    const std::size_t index = next[event.key.layer]++;
    event.onto_zeros = index < onto_zeros.size() && onto_zeros[index];
  }
}

void read_head(const std::string_view text, LoadedTrace& loaded) {
  const Json json = parse_strict_json(text);
  const JsonFields fields(json);
  if (fields.text("schema") != "samebits-trace-1") throw Error("is no samebits-trace-1");
  loaded.trace.arm = fields.text("arm");
  loaded.program = read_program(fields);
  for (const auto& [name, value] : fields.object("environment").items()) {
    if (!value.is_string()) throw Error("\"environment\" holds more than strings");
    loaded.environment[name] = value.get<std::string>();
  }
}

}  // namespace

LoadedTrace parse_trace(const NamedText& head, const NamedText& events) {
  LoadedTrace loaded;
  naming(head.name, [&] { read_head(head.text, loaded); });
  const auto chip = loaded.environment.find("compute capability");
  const std::string_view text = events.text;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = text.find('\n', begin);
    naming(events.name + " line " + std::to_string(line + 1), [&] {
      if (end == std::string_view::npos && !mutant("a cut trace is read")) {
        throw Error("is cut short");
      }
      const Json json = parse_strict_json(text.substr(begin, end - begin));
      Event event = read_event(json);
      // One environment for the whole run: the events do not repeat it.
      if (event.gemm && event.gemm->by != kReference && chip != loaded.environment.end()) {
        event.gemm->chip = chip->second;
      }
      loaded.trace.events.push_back(std::move(event));
    });
    begin = end == std::string_view::npos ? text.size() : end + 1;
  }
  mark_first_gradients(loaded.program, loaded.trace);
  return loaded;
}

LoadedTrace read_trace(const std::filesystem::path& directory) {
  const auto head = checkpoint::MappedFile::open(directory / "trace.json");
  const auto events = checkpoint::MappedFile::open(directory / "events.jsonl");
  return parse_trace({printable(head->path().native()), head->text()},
                     {printable(events->path().native()), events->text()});
}

}  // namespace samebits::evidence
