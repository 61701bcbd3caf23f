#include "kernels/gemm_problem.h"

#include <charconv>
#include <limits>
#include <stdexcept>

namespace samebits::kernels {
namespace {

constexpr std::int64_t kSizeMultiple = 16;
constexpr std::uintptr_t kAlignment = 16;  // bytes, of every matrix and vector

bool is_fp8(Format format) { return format == Format::kE4M3 || format == Format::kE5M2; }

std::string to_text(ScaleMode mode) {
  switch (mode) {
    case ScaleMode::kTensor:
      return "tensor";
    case ScaleMode::kRow:
      return "row";
    case ScaleMode::k1x128:
      return "1x128";
    case ScaleMode::k128x128:
      return "128x128";
    case ScaleMode::k1x32:
      return "1x32";
  }
  return "unknown";
}

// The shortest digits that read back as the same float.
std::string to_text(float value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr};
}

class Checker {
 public:
  explicit Checker(const GemmProblem& problem) : problem_(problem) {}

  [[noreturn]] void fail(const std::string& reason) const {
    throw std::invalid_argument(reason + " (" + describe(problem_) + ")");
  }
  void require(bool holds, const char* reason) const {
    if (!holds) fail(reason);
  }

  void size(std::int64_t value, const std::string& name) const {
    if (value <= 0 || value % kSizeMultiple != 0) fail(name + " is not a positive multiple of 16");
    if (value > std::numeric_limits<std::int32_t>::max()) fail(name + " is 2^31 or more");
  }

  void aligned(const void* pointer, const char* name, std::uintptr_t alignment = kAlignment) const {
    if (pointer == nullptr) fail(std::string(name) + " is missing");
    if (reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0) return;
    fail(std::string(name) + " is not aligned to " + std::to_string(alignment) + " bytes");
  }

 private:
  const GemmProblem& problem_;
};

void check_modes(const GemmProblem& p, const Checker& check) {
  using enum ScaleMode;
  check.require(p.scale_a != k1x32 && p.scale_b != k1x32, "Hopper has no GEMM with 1x32 scales");
  check.require(p.scale_a != k128x128 || p.scale_b != k128x128,
                "the library has no GEMM of 128x128 with 128x128 scales");
  const bool are_alike = p.scale_a == p.scale_b;
  check.require(are_alike || (is_block_scaled(p) && has_128x128_scales(p)),
                "the library has no GEMM of this pair of scale modes");
  check.require(!p.fast_accumulation || !is_block_scaled(p),
                "the library has no fast accumulation with block scales");
}

void check_formats(const GemmProblem& p, const Checker& check) {
  check.require(is_fp8(p.a) && is_fp8(p.b), "an operand is not FP8");
  const bool has_e5m2 = p.a == Format::kE5M2 || p.b == Format::kE5M2;
  check.require(p.a != Format::kE5M2 || p.b != Format::kE5M2,
                "the library has no GEMM of E5M2 with E5M2");
  check.require(p.output != Format::kE8M0, "E8M0 is no output");
  check.require(p.output != Format::kE5M2 || has_e5m2, "E5M2 output needs an E5M2 operand");
  check.require(!is_fp8(p.output) || p.scale_a == ScaleMode::kTensor,
                "FP8 output needs tensorwise scales");
  check.require(!is_fp8(p.output) || p.beta == 0, "FP8 output takes no C of its own type");
  check.require(is_fp8(p.output) || !p.scale_d, "a D scale needs FP8 output");
}

void check_bias(const GemmProblem& p, const Checker& check) {
  if (!p.bias) return;
  check.require(*p.bias == Format::kBF16 || *p.bias == Format::kFP16,
                "the library takes only a BF16 or FP16 bias");
  if (is_fp8(p.output)) return;
  const Format expected = p.output == Format::kFP16 ? Format::kFP16 : Format::kBF16;
  if (*p.bias == expected) return;
  check.fail(std::string(name_of(p.output)) + " output takes a " + name_of(expected) + " bias");
}

}  // namespace

bool is_block_scaled(const GemmProblem& problem) {
  const auto is_block = [](ScaleMode mode) {
    return mode == ScaleMode::k1x128 || mode == ScaleMode::k128x128;
  };
  return is_block(problem.scale_a) && is_block(problem.scale_b);
}

bool has_128x128_scales(const GemmProblem& problem) {
  return problem.scale_a == ScaleMode::k128x128 || problem.scale_b == ScaleMode::k128x128;
}

Format c_format(const GemmProblem& problem) {
  return is_fp8(problem.output) ? problem.bias.value_or(Format::kBF16) : problem.output;
}

const void* c_operand(const GemmProblem& problem, const GemmOperands& operands) {
  if (is_fp8(problem.output)) return nullptr;
  return problem.beta == 0 || problem.in_place ? operands.d : operands.c;
}

std::string describe(const GemmProblem& p) {
  std::string text = "GEMM m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) +
                     " k=" + std::to_string(p.k) + ' ' + name_of(p.a) + '/' + to_text(p.scale_a) +
                     " x " + name_of(p.b) + '/' + to_text(p.scale_b) + " -> " + name_of(p.output);
  if (p.fast_accumulation) text += " fast";
  if (p.alpha != 1) text += " alpha=" + to_text(p.alpha);
  if (p.beta != 0) text += " beta=" + to_text(p.beta);
  if (p.in_place) text += " in place";
  if (p.bias) text.append(" bias=").append(name_of(*p.bias));
  if (p.scale_d) text += " scaled D";
  return text;
}

void check_problem(const GemmProblem& problem) {
  const Checker check(problem);
  check.size(problem.m, "m");
  check.size(problem.n, "n");
  check.size(problem.k, "k");
  check_modes(problem, check);
  check_formats(problem, check);
  check_bias(problem, check);
}

void check_operands(const GemmProblem& problem, const GemmOperands& operands) {
  const Checker check(problem);
  check.aligned(operands.a, "A");
  check.aligned(operands.b, "B");
  check.aligned(operands.d, "D");
  check.aligned(operands.scale_a, "A's scale");
  check.aligned(operands.scale_b, "B's scale");
  if (problem.bias) check.aligned(operands.bias, "the bias");
  if (problem.scale_d) check.aligned(operands.scale_d, "D's scale");
  if (problem.beta == 0) return;
  if (problem.in_place) {
    check.require(operands.c == nullptr || operands.c == operands.d,
                  "C in place is not D's buffer");
  } else {
    check.aligned(operands.c, "C");
    check.require(operands.c != operands.d, "C is D's buffer, but not declared in place");
  }
}

}  // namespace samebits::kernels
