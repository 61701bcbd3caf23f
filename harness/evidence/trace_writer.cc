#include "harness/evidence/trace_writer.h"

#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "harness/checkpoint/safetensors_writer.h"
#include "harness/core/error.h"
#include "harness/core/printable.h"
#include "harness/evidence/digest.h"
#include "harness/evidence/program_json.h"
#include "harness/evidence/write_file.h"

namespace samebits::evidence {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json tensor_json(const EventTensor& tensor) {
  Json json = {{"name", tensor.name},
               {"dtype", dtype_name(tensor.dtype)},
               {"shape", tensor.shape},
               {"digest", hex(tensor.digest)}};
  if (tensor.logical) json["logical_digest"] = hex(*tensor.logical);
  return json;
}

Json trace_json(const StoredTrace& stored) {
  const Program& program = *stored.program;
  Json json = {{"schema", "samebits-trace-1"},
               {"arm", stored.trace->arm},
               {"program", program_json(program)},
               {"recipe", recipe_json(program.recipe)},
               {"events", stored.trace->events.size()},
               {"trace_digest", hex(trace_digest(*stored.trace))},
               {"environment", Json::object()}};
  for (const auto& [name, value] : stored.environment) json["environment"][name] = value;
  return json;
}

[[noreturn]] void refuse(const fs::path& directory, const std::string& reason) {
  throw Error(printable(directory.native()) + ": " + reason);
}

// Inside the folder where there is one (it may be a mount point, a link, the current folder), else
// beside it: a rename stays in one file system. The process id keeps two runs apart.
fs::path aside(const fs::path& directory) {
  if (fs::exists(directory)) return directory / (".partial-" + std::to_string(getpid()));
  fs::path path = fs::absolute(directory).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  path += ".partial-" + std::to_string(getpid());
  return path;
}

}  // namespace

std::string event_json(const Event& event) {
  Json json = {{"step", event.key.step},
               {"microbatch", event.key.microbatch},
               {"pass", pass_name(event.key.pass)},
               {"occurrence", event.key.occurrence},
               {"layer", event.key.layer},
               {"operation", operation_name(event.key.operation)},
               {"tensors", Json::array()}};
  for (const EventTensor& tensor : event.tensors) json["tensors"].push_back(tensor_json(tensor));
  if (event.weight) {
    json["weight"] = {{"source_now", hex(event.weight->source_now)},
                      {"source_at_fill", hex(event.weight->source_at_fill)},
                      {"parameters", describe(event.weight->parameters)},
                      {"flag", flag_name(event.weight->flag)}};
  }
  if (event.gemm) {
    json["gemm"] = {{"by", event.gemm->by},
                    {"algorithm", event.gemm->algorithm},
                    {"split_k", event.gemm->split_k},
                    {"dropped_terms", event.gemm->dropped_terms}};
  }
  if (event.beta) json["beta"] = *event.beta;
  if (event.learning_rate) json["learning_rate"] = *event.learning_rate;
  return line(json);
}

void write_trace(const fs::path& directory, const StoredTrace& stored) {
  fs::create_directory(directory);
  write_file(directory / "trace.json", trace_json(stored).dump(2) + "\n");
  std::string events;
  for (const Event& event : stored.trace->events) events += event_json(event) + "\n";
  write_file(directory / "events.jsonl", events);
  if (stored.payload.empty()) return;
  std::map<std::string, HostTensor> tensors;
  for (const HostTensor& tensor : stored.payload) tensors[hex(tensor_digest(tensor))] = tensor;
  checkpoint::write_safetensors(directory / "payload-000.safetensors", tensors, {});
}

void require_writable_directory(const fs::path& directory) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(directory, error)) &&
      !(fs::is_directory(directory, error) && fs::is_empty(directory, error))) {
    refuse(directory, "exists and is not an empty folder");
  }
  const fs::path probe = aside(directory);
  if (!fs::create_directory(probe, error)) refuse(directory, "cannot be made: " + error.message());
  fs::remove(probe, error);
}

void write_traces(const fs::path& directory,
                  const std::vector<std::pair<std::string, StoredTrace>>& traces) {
  require_writable_directory(directory);
  const bool exists = fs::exists(directory);
  const fs::path partial = aside(directory);
  const auto clean_up = [&] {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    if (!exists) return;
    for (const auto& [name, stored] : traces) fs::remove_all(directory / name, ignored);
  };
  try {
    fs::create_directory(partial);
    for (const auto& [name, stored] : traces) write_trace(partial / name, stored);
    if (exists) {
      for (const auto& [name, stored] : traces) fs::rename(partial / name, directory / name);
      fs::remove(partial);
    } else {
      fs::rename(partial, directory);
    }
  } catch (const fs::filesystem_error& error) {
    clean_up();
    refuse(directory, error.code().message());
  } catch (...) {
    clean_up();
    throw;
  }
}

}  // namespace samebits::evidence
