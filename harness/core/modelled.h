// Which GEMMs the reference's model of the library was measured for. Of others it is said that they
// are not modelled; nothing is guessed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/gemm_records.h"
#include "harness/core/verdict.h"

namespace samebits {

// What is other than measured in how this GEMM came to be ("cuBLASLt 13.2.0, not 13.1.0"), or
// nothing. The reference's own GEMMs are what they are.
std::optional<std::string> why_not_modelled(const GemmRecord& record);

// "not modelled", a note, for each trace and each such reason, with the number of GEMMs. `followed`
// are the records that all of them were to follow, or null.
std::vector<Finding> find_not_modelled(const std::vector<const Trace*>& traces,
                                       const GemmRecords* followed = nullptr);

}  // namespace samebits
