// Every fault that is made on purpose, and the property that must see it.
#pragma once

#include <span>

namespace samebits::properties {

struct MutantRow {
  const char* mutant;      // its name in the code: mutant("...")
  const char* fault;       // the kind of fault
  const char* properties;  // a GoogleTest filter: one of these must fail
};
std::span<const MutantRow> mutant_table();

}  // namespace samebits::properties
