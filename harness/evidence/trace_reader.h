// Reads a trace that trace_writer, or another program, wrote. Untrusted: strict, capped, no half
// result.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "harness/core/trace.h"

namespace samebits::evidence {

struct LoadedTrace {
  Trace trace;      // keys, tensors, records, provenance; no loss, and no program indices
  Program program;  // made again from its scenario's name and parameters
  std::map<std::string, std::string> environment;
};

// Throws Error that names the file, the line and the reason.
LoadedTrace read_trace(const std::filesystem::path& directory);

}  // namespace samebits::evidence
