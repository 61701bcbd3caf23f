// A trace on disk: trace.json (what it is), events.jsonl (one event a line),
// payload-000.safetensors (tensors named by their digest).
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/trace.h"

namespace samebits::evidence {

struct StoredTrace {
  const Trace* trace = nullptr;
  const Program* program = nullptr;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<HostTensor> payload;  // none: no payload file
};

// One line of events.jsonl, without the newline.
std::string event_json(const Event& event);

// Writes one trace into `directory`, which is made and must not exist; not undone on an Error.
void write_trace(const std::filesystem::path& directory, const StoredTrace& stored);

// Writes each trace into a folder of its name under `directory`, which must not exist or be empty.
// Everything is written aside and renamed at the end; on an Error nothing is left.
void write_traces(const std::filesystem::path& directory,
                  const std::vector<std::pair<std::string, StoredTrace>>& traces);

// Throws the Error that write_traces would, before a long run: the folder exists and is not empty,
// or its parent cannot be written.
void require_writable_directory(const std::filesystem::path& directory);

}  // namespace samebits::evidence
