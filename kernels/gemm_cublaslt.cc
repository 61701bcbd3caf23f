#include "kernels/gemm_cublaslt.h"

namespace samebits::kernels {
namespace {

GemmDescriptors checked_descriptors(const GemmProblem& problem, const GemmOperands& operands) {
  check_problem(problem);
  check_operands(problem, operands);
  return {problem, operands};
}

}  // namespace

GemmPlan::GemmPlan(const CublasLt& lt, const GemmProblem& problem, const GemmOperands& operands,
                   const GemmPolicy& policy, std::size_t workspace_bytes)
    : lt_(lt),
      problem_(problem),
      descriptors_(checked_descriptors(problem, operands)),
      algorithm_(choose({lt, problem, operands, descriptors_, workspace_bytes}, policy)) {}

void GemmPlan::check(const GemmOperands& operands, const Workspace& workspace) const {
  check_operands(problem_, operands);
  const auto require = [&](bool holds, const char* reason) {
    if (!holds) throw std::invalid_argument(reason + (" (" + describe(problem_) + ")"));
  };
  AlgorithmRecord actual;
  record_alignments(actual, problem_, operands);
  const AlgorithmRecord& planned = record();
  require(actual.align_a >= planned.align_a && actual.align_b >= planned.align_b &&
              actual.align_c >= planned.align_c && actual.align_d >= planned.align_d &&
              actual.align_bias >= planned.align_bias,
          "an operand is aligned less than the plan was made for");
  require(workspace.bytes >= static_cast<std::size_t>(planned.workspace),
          "the workspace is too small");
  require(reinterpret_cast<std::uintptr_t>(workspace.pointer) % 256 == 0,
          "the workspace is not aligned to 256 bytes");
}

void GemmPlan::run(const GemmOperands& operands, const Workspace& workspace, cudaStream_t stream) {
  check(operands, workspace);
  descriptors_.point_at(problem_, operands);
  const cublasStatus_t status = cublasLtMatmul(
      lt_.get(), descriptors_.operation.get(), &problem_.alpha, operands.a, descriptors_.a.get(),
      operands.b, descriptors_.b.get(), &problem_.beta, c_operand(problem_, operands),
      descriptors_.c.get(), operands.d, descriptors_.d.get(), &algorithm_.opaque, workspace.pointer,
      workspace.bytes, stream);
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw CublasError("cublasLtMatmul", status, to_text(record()) + "; " + describe(problem_));
  }
}

std::vector<AlgorithmRecord> offered_algorithms(const CublasLt& lt, const GemmProblem& problem,
                                                const GemmOperands& operands,
                                                std::size_t workspace_bytes) {
  const GemmDescriptors descriptors = checked_descriptors(problem, operands);
  std::vector<AlgorithmRecord> records;
  for (const Algorithm& algorithm :
       offered({lt, problem, operands, descriptors, workspace_bytes})) {
    records.push_back(algorithm.record);
  }
  return records;
}

}  // namespace samebits::kernels
