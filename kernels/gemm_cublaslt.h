// FP8 GEMMs through cublasLtMatmul.
#pragma once

#include "kernels/algorithm_choice.h"

namespace samebits::kernels {

// What Transformer Engine gives the library on Hopper: 32 MiB and 1 KiB.
inline constexpr std::size_t kWorkspaceBytes = (std::size_t{32} << 20) + (std::size_t{1} << 10);

// Device memory for the algorithm, aligned to 256 bytes. GEMMs that may overlap need one each.
struct Workspace {
  void* pointer = nullptr;
  std::size_t bytes = 0;
};

// One GEMM ready to run, any number of times. Not for two threads at once.
class GemmPlan {
 public:
  // `operands` stand for all later ones: their alignments steer the choice. Throws
  // std::invalid_argument where the problem or an operand is refused (see gemm_problem.h), else as
  // choose() does. `lt` must outlive the plan.
  GemmPlan(const CublasLt& lt, const GemmProblem& problem, const GemmOperands& operands,
           const GemmPolicy& policy = Heuristic{}, std::size_t workspace_bytes = kWorkspaceBytes);

  const GemmProblem& problem() const { return problem_; }
  const AlgorithmRecord& record() const { return algorithm_.record; }

  // Enqueues the GEMM. Throws std::invalid_argument where an operand is refused or aligned less
  // than those of the plan, or the workspace is too small; CublasError where the library fails.
  void run(const GemmOperands& operands, const Workspace& workspace, cudaStream_t stream);

 private:
  void check(const GemmOperands& operands, const Workspace& workspace) const;

  const CublasLt& lt_;
  GemmProblem problem_;
  GemmDescriptors descriptors_;
  Algorithm algorithm_;
};

// The records of all algorithms that the library offers, its first choice first. Throws as
// GemmPlan.
std::vector<AlgorithmRecord> offered_algorithms(const CublasLt& lt, const GemmProblem& problem,
                                                const GemmOperands& operands,
                                                std::size_t workspace_bytes = kWorkspaceBytes);

}  // namespace samebits::kernels
