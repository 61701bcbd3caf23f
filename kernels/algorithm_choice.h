// From a problem to one algorithm of the library, and back to its record.
#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "kernels/algorithm_record.h"
#include "kernels/gemm_descriptors.h"

namespace samebits::kernels {

// How an algorithm is chosen. The preferences declared to the library are those that Transformer
// Engine declares, and no others: MAX_WORKSPACE_BYTES and MIN_ALIGNMENT_{A,B,C,D}_BYTES, the latter
// from the pointers. The library also looks at the bias pointer's alignment. All are in the record.
struct Heuristic {};  // the library's first choice, as a framework takes it
// The first of all offered ones that does not split K; where all do, the first that the library
// accepts in one slice.
struct NoSplit {};
using GemmPolicy = std::variant<Heuristic, NoSplit, AlgorithmRecord>;  // the last: exactly this one

struct Algorithm {
  cublasLtMatmulAlgo_t opaque{};
  AlgorithmRecord record;
};

// A problem, checked, in the library's terms, with what the choice looks at.
struct GemmQuery {
  const CublasLt& lt;
  const GemmProblem& problem;
  const GemmOperands& operands;
  const GemmDescriptors& descriptors;
  std::size_t workspace_bytes;
};

// Throws NoAlgorithm where there is none; for a pinned one std::invalid_argument where the record
// is of another version of the library or of stricter alignments, CublasError where the library
// refuses it or it needs more workspace than there is.
Algorithm choose(const GemmQuery& query, const GemmPolicy& policy);

// All that the library offers, its first choice first. Throws NoAlgorithm where that is none.
std::vector<Algorithm> offered(const GemmQuery& query);

// Sets the alignments of the record, and nothing else.
void record_alignments(AlgorithmRecord& record, const GemmProblem& problem,
                       const GemmOperands& operands);

}  // namespace samebits::kernels
