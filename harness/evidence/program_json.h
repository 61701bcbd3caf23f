// A program as JSON, and back.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/core/program.h"
#include "harness/evidence/strict_json.h"

namespace samebits::evidence {

// {"scenario", "steps", "microbatches", "main_grad"}, and "ops" where they are not the scenario's.
nlohmann::ordered_json program_json(const Program& program);
nlohmann::ordered_json recipe_json(const Recipe& recipe);

// Of an object whose "program" and "recipe" those are. Untrusted: throws Error on whatever no
// engine could run.
Program read_program(const JsonFields& fields);

}  // namespace samebits::evidence
