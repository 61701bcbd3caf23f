#include "harness/evidence/trace_reader.h"

#include <limits>

#include "harness/checkpoint/mapped_file.h"
#include "harness/core/arm.h"
#include "harness/core/error.h"
#include "harness/core/printable.h"
#include "harness/core/scenario.h"
#include "harness/evidence/strict_json.h"

namespace samebits::evidence {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max();

std::string text_of(const std::filesystem::path& path) {
  const auto file = checkpoint::MappedFile::open(path);
  const auto bytes = file->bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

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

// The inverse of one of the _name functions.
template <class Value, class Name>
Value named(const JsonFields& fields, const char* key, int count, const Name& name) {
  const std::string text = fields.text(key);
  for (int i = 0; i < count; ++i) {
    if (name(static_cast<Value>(i)) == text) return static_cast<Value>(i);
  }
  throw Error("\"" + std::string(key) + "\" is \"" + printable(text, 40) + "\", which is none");
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
  tensor.digest = digest(fields, "digest");
  if (fields.has("logical_digest")) tensor.logical = digest(fields, "logical_digest");
  return tensor;
}

GemmRecord read_record(const Json& json) {
  const JsonFields fields(json);
  GemmRecord record;
  record.by = fields.text("by");
  record.algorithm = fields.text("algorithm");
  record.split_k = static_cast<int>(fields.integer("split_k", 1, kMaxCount));
  record.dropped_terms = fields.integer("dropped_terms", 0, kMaxCount);
  return record;
}

Event read_event(const Json& json) {
  const JsonFields fields(json);
  Event event;
  event.key.step = static_cast<int>(fields.integer("step", 0, kMaxCount));
  event.key.microbatch = static_cast<int>(fields.integer("microbatch", 0, kMaxCount));
  event.key.pass = named<Pass>(fields, "pass", 3, pass_name);
  event.key.occurrence = static_cast<int>(fields.integer("occurrence", 0, kMaxCount));
  event.key.layer = fields.text("layer");
  event.key.operation = named<Operation>(fields, "operation", 4, operation_name);
  for (const Json& tensor : fields.array("tensors")) event.tensors.push_back(read_tensor(tensor));
  if (fields.has("gemm")) event.gemm = read_record(fields.object("gemm"));
  if (fields.has("beta")) event.beta = static_cast<float>(fields.number("beta"));
  return event;
}

Recipe read_recipe(const JsonFields& fields) {
  Recipe recipe;
  recipe.kind = named<RecipeKind>(fields, "kind", 4, recipe_name);
  recipe.power_of_two = fields.boolean("power_of_two");
  recipe.hybrid = fields.boolean("hybrid");
  recipe.margin = static_cast<int>(fields.integer("margin", 0, 64));
  recipe.history_length = static_cast<int>(fields.integer("history_length", 1, 1 << 20));
  recipe.most_recent = fields.boolean("most_recent");
  return recipe;
}

Program read_program(const JsonFields& trace) {
  const JsonFields fields(trace.object("program"));
  return make_scenario(fields.text("scenario"), read_recipe(JsonFields(trace.object("recipe"))),
                       named<MainGrad>(fields, "main_grad", 2, main_grad_name),
                       static_cast<int>(fields.integer("steps", 1, 4096)),
                       static_cast<int>(fields.integer("microbatches", 1, 4096)));
}

}  // namespace

LoadedTrace read_trace(const std::filesystem::path& directory) {
  LoadedTrace loaded;
  const auto head = directory / "trace.json";
  naming(printable(head.native()), [&] {
    const Json json = parse_strict_json(text_of(head));
    const JsonFields fields(json);
    if (fields.text("schema") != "samebits-trace-1") throw Error("is no samebits-trace-1");
    loaded.trace.arm = fields.text("arm");
    loaded.program = read_program(fields);
    for (const auto& [name, value] : fields.object("environment").items()) {
      if (!value.is_string()) throw Error("\"environment\" holds more than strings");
      loaded.environment[name] = value.get<std::string>();
    }
  });
  const auto chip = loaded.environment.find("compute capability");
  const auto events = directory / "events.jsonl";
  const std::string text = text_of(events);
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = text.find('\n', begin);
    naming(printable(events.native()) + " line " + std::to_string(line + 1), [&] {
      if (end == std::string::npos) throw Error("is cut short");
      const Json json = parse_strict_json(std::string_view(text).substr(begin, end - begin));
      Event event = read_event(json);
      // One environment for the whole run: the events do not repeat it.
      if (event.gemm && event.gemm->by != kReference && chip != loaded.environment.end()) {
        event.gemm->chip = chip->second;
      }
      loaded.trace.events.push_back(std::move(event));
    });
    begin = end + 1;
  }
  return loaded;
}

}  // namespace samebits::evidence
