// Reads a trace that trace_writer, or another program, wrote. Untrusted: strict, capped, no half
// result.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "harness/core/trace.h"

namespace samebits::evidence {

struct LoadedTrace {
  Trace trace;  // keys, tensors, records, provenance; no loss, and no program indices
  Program program;
  std::map<std::string, std::string> environment;
};

// A file's text, and its name for messages.
struct NamedText {
  std::string name;
  std::string_view text;
};

// Of trace.json and events.jsonl. Throws Error that names the file, the line and the reason.
LoadedTrace parse_trace(const NamedText& head, const NamedText& events);
LoadedTrace read_trace(const std::filesystem::path& directory);

}  // namespace samebits::evidence
