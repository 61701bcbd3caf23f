// What came of a replay, for people.
#pragma once

#include <string>

#include "harness/evidence/replay.h"

namespace samebits::report {

// Before the run: what the bundle shows.
std::string text_bundle(const evidence::Bundle& bundle);
// After it.
std::string text_replay(const evidence::Bundle& bundle, const evidence::ReplayResult& result,
                        const std::string& command, bool color);

}  // namespace samebits::report
