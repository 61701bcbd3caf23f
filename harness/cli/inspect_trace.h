// samebits inspect, of a recorded trace.
#pragma once

#include <filesystem>

namespace samebits::cli {

bool is_trace(const std::filesystem::path& path);

// Prints what the trace holds, its GEMMs by what their records say, and the findings that need
// nothing but the records. Returns the exit status: 1 where one of them is an error.
int inspect_trace(const std::filesystem::path& directory);

}  // namespace samebits::cli
