#include "kernels/algorithm_choice.h"

#include <algorithm>
#include <optional>

namespace samebits::kernels {
namespace {

constexpr int kMostAlgorithms = 256;
constexpr std::uintptr_t kMaxAlignment = 256;

// The library's configuration of an algorithm, but for its id.
struct Config {
  cublasLtMatmulAlgoConfigAttributes_t attribute;
  std::int64_t AlgorithmRecord::*member;
  std::size_t bytes;  // of an unsigned number, or a signed one that is not negative
};
constexpr Config kId{CUBLASLT_ALGO_CONFIG_ID, &AlgorithmRecord::id, 4};
constexpr Config kSplitK{CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &AlgorithmRecord::split_k, 4};
constexpr Config kReduction{CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &AlgorithmRecord::reduction, 4};
constexpr Config kConfigs[] = {
    {CUBLASLT_ALGO_CONFIG_TILE_ID, &AlgorithmRecord::tile, 4},
    {CUBLASLT_ALGO_CONFIG_STAGES_ID, &AlgorithmRecord::stages, 4},
    kSplitK,
    kReduction,
    {CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, &AlgorithmRecord::swizzle, 4},
    {CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, &AlgorithmRecord::custom, 4},
    {CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, &AlgorithmRecord::inner, 2},
    {CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &AlgorithmRecord::cluster, 2},
};

std::string call(const char* function, const Config& config) {
  return std::string(function) + '(' + std::to_string(config.attribute) + ')';
}

// Numbers pass as their low bytes: every host of a Hopper GPU is little-endian.
std::int64_t get(const cublasLtMatmulAlgo_t& algorithm, const Config& config,
                 const GemmProblem& problem) {
  std::int64_t value = 0;
  std::size_t written = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoConfigGetAttribute(
      &algorithm, config.attribute, &value, config.bytes, &written);
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw CublasError(call("cublasLtMatmulAlgoConfigGetAttribute", config), status,
                      describe(problem));
  }
  return value;
}

void set(cublasLtMatmulAlgo_t& algorithm, const Config& config, std::int64_t value,
         const GemmProblem& problem) {
  const cublasStatus_t status =
      cublasLtMatmulAlgoConfigSetAttribute(&algorithm, config.attribute, &value, config.bytes);
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw CublasError(call("cublasLtMatmulAlgoConfigSetAttribute", config), status,
                      "value " + std::to_string(value) + " for " + describe(problem));
  }
}

// Null is aligned to everything, as frameworks have it.
std::int64_t alignment(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer) | kMaxAlignment;
  return static_cast<std::int64_t>(address & (~address + 1));  // the lowest bit
}

AlgorithmRecord read_back(const GemmQuery& query, const cublasLtMatmulAlgo_t& algorithm,
                          std::size_t workspace) {
  AlgorithmRecord record;
  record.id = get(algorithm, kId, query.problem);
  for (const Config& config : kConfigs) {
    record.*config.member = get(algorithm, config, query.problem);
  }
  record.split_k = std::max<std::int64_t>(1, record.split_k);
  record.workspace = static_cast<std::int64_t>(workspace);
  record.version = cublaslt_version();
  record_alignments(record, query.problem, query.operands);
  return record;
}

cublaslt::Preference preference(const GemmQuery& query) {
  const std::string problem = describe(query.problem);
  cublasLtMatmulPreference_t created = nullptr;
  check_cublas(cublasLtMatmulPreferenceCreate(&created), "cublasLtMatmulPreferenceCreate", problem);
  cublaslt::Preference result(created);
  const auto declare = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    check_cublas(
        cublasLtMatmulPreferenceSetAttribute(result.get(), attribute, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute", problem);
  };
  AlgorithmRecord record;
  record_alignments(record, query.problem, query.operands);
  declare(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{query.workspace_bytes});
  const auto declare_alignment = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                                     std::int64_t bytes) {
    declare(attribute, static_cast<std::uint32_t>(bytes));
  };
  declare_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, record.align_a);
  declare_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, record.align_b);
  declare_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, record.align_c);
  declare_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, record.align_d);
  return result;
}

// The first `most` algorithms that the heuristic offers; at least one.
std::vector<Algorithm> ask(const GemmQuery& query, int most) {
  constexpr char kCall[] = "cublasLtMatmulAlgoGetHeuristic";
  const cublaslt::Preference wish = preference(query);
  const GemmDescriptors& d = query.descriptors;
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      query.lt.get(), d.operation.get(), d.a.get(), d.b.get(), d.c.get(), d.d.get(), wish.get(),
      most, results.data(), &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) {
    throw NoAlgorithm(kCall, status, describe(query.problem));
  }
  check_cublas(status, kCall, describe(query.problem));

  std::vector<Algorithm> algorithms;
  results.resize(static_cast<std::size_t>(found));
  for (const cublasLtMatmulHeuristicResult_t& result : results) {
    if (result.state != CUBLAS_STATUS_SUCCESS) continue;
    algorithms.push_back({result.algo, read_back(query, result.algo, result.workspaceSize)});
  }
  if (algorithms.empty()) {
    throw NoAlgorithm(kCall, CUBLAS_STATUS_NOT_SUPPORTED, describe(query.problem));
  }
  return algorithms;
}

// A configuration that the library did not offer in these words: the workspace that it needs.
// Throws CublasError where the library refuses it or there is less.
std::size_t checked_workspace(const GemmQuery& query, const cublasLtMatmulAlgo_t& algorithm,
                              const std::string& what) {
  const GemmDescriptors& d = query.descriptors;
  cublasLtMatmulHeuristicResult_t result{};
  check_cublas(cublasLtMatmulAlgoCheck(query.lt.get(), d.operation.get(), d.a.get(), d.b.get(),
                                       d.c.get(), d.d.get(), &algorithm, &result),
               "cublasLtMatmulAlgoCheck", what);
  if (result.workspaceSize > query.workspace_bytes) {
    throw CublasError(
        "cublasLtMatmulAlgoCheck", CUBLAS_STATUS_INVALID_VALUE,
        "it needs a workspace of " + std::to_string(result.workspaceSize) + " bytes: " + what);
  }
  return result.workspaceSize;
}

// The same algorithm in one slice, or nothing where the library refuses that.
std::optional<Algorithm> without_split(const GemmQuery& query, const Algorithm& split) {
  cublasLtMatmulAlgo_t algorithm = split.opaque;
  try {
    set(algorithm, kSplitK, 1, query.problem);
    set(algorithm, kReduction, CUBLASLT_REDUCTION_SCHEME_NONE, query.problem);
    const std::size_t workspace = checked_workspace(query, algorithm, describe(query.problem));
    return Algorithm{algorithm, read_back(query, algorithm, workspace)};
  } catch (const CublasError&) {
    return std::nullopt;
  }
}

void check_pinned(const AlgorithmRecord& pinned, const GemmQuery& query) {
  const auto require = [&](bool holds, const std::string& reason) {
    if (holds) return;
    throw std::invalid_argument("pinned algorithm: " + reason + " (" + to_text(pinned) + "; " +
                                describe(query.problem) + ")");
  };
  require(pinned.version == cublaslt_version(),
          "of another cuBLASLt; this one is " + std::to_string(cublaslt_version()));
  AlgorithmRecord actual;
  record_alignments(actual, query.problem, query.operands);
  require(actual.align_a >= pinned.align_a, "A is aligned less");
  require(actual.align_b >= pinned.align_b, "B is aligned less");
  require(actual.align_c >= pinned.align_c, "C is aligned less");
  require(actual.align_d >= pinned.align_d, "D is aligned less");
  require(actual.align_bias >= pinned.align_bias, "the bias is aligned less");
}

struct Chooser {
  const GemmQuery& query;

  Algorithm operator()(Heuristic) const { return ask(query, 1).front(); }

  Algorithm operator()(NoSplit) const {
    const std::vector<Algorithm> algorithms = offered(query);
    for (const Algorithm& algorithm : algorithms) {
      if (algorithm.record.split_k == 1) return algorithm;
    }
    // Where K is long beside M and N, all that are offered split it.
    for (const Algorithm& algorithm : algorithms) {
      if (const auto whole = without_split(query, algorithm)) return *whole;
    }
    throw NoAlgorithm("no-split", CUBLAS_STATUS_NOT_SUPPORTED,
                      "every algorithm splits K: " + describe(query.problem));
  }

  Algorithm operator()(const AlgorithmRecord& pinned) const {
    check_pinned(pinned, query);
    const GemmProblem& p = query.problem;
    const std::string what = to_text(pinned) + "; " + describe(p);
    cublasLtMatmulAlgo_t algorithm{};
    check_cublas(cublasLtMatmulAlgoInit(query.lt.get(), kComputeType, kScaleType, cuda_type(p.a),
                                        cuda_type(p.b), cuda_type(c_format(p)), cuda_type(p.output),
                                        static_cast<int>(pinned.id), &algorithm),
                 "cublasLtMatmulAlgoInit", what);
    for (const Config& config : kConfigs) {
      // Some attributes may not be set at all; what is there already needs no setting.
      const std::int64_t wanted = pinned.*config.member;
      if (get(algorithm, config, p) != wanted) set(algorithm, config, wanted, p);
    }
    return {algorithm, read_back(query, algorithm, checked_workspace(query, algorithm, what))};
  }
};

}  // namespace

Algorithm choose(const GemmQuery& query, const GemmPolicy& policy) {
  return std::visit(Chooser{query}, policy);
}

std::vector<Algorithm> offered(const GemmQuery& query) { return ask(query, kMostAlgorithms); }

void record_alignments(AlgorithmRecord& record, const GemmProblem& problem,
                       const GemmOperands& operands) {
  record.align_a = alignment(operands.a);
  record.align_b = alignment(operands.b);
  record.align_c = alignment(c_operand(problem, operands));
  record.align_d = alignment(operands.d);
  record.align_bias = problem.bias ? alignment(operands.bias) : 0;
}

}  // namespace samebits::kernels
