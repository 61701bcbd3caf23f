#include "harness/core/compare.h"

#include <algorithm>
#include <cmath>

#include "harness/core/values.h"
#include "reference/mutants.h"

namespace samebits {
namespace {

bool is_zero(const HostTensor& tensor, std::int64_t index) {
  return is_float(tensor.dtype) && value_at(tensor, index) == 0;
}

// Of nothing but mutants: what a comparison by value would not see.
bool overlooked([[maybe_unused]] const HostTensor& a, [[maybe_unused]] const HostTensor& b,
                [[maybe_unused]] std::int64_t index) {
  const bool nan = mutant("comparer is blind to NaN"), zero = mutant("comparer is blind to -0");
  if (!nan && !zero) return false;
  const double left = value_at(a, index), right = value_at(b, index);
  return nan ? std::isnan(left) || std::isnan(right) : left == right;
}

std::string where(const Event& event) {
  return "step " + std::to_string(event.key.step) + " microbatch " +
         std::to_string(event.key.microbatch) + " " + std::string(pass_name(event.key.pass)) + " " +
         event.key.layer + " " + std::string(operation_name(event.key.operation));
}

std::optional<std::string> mismatch(const Event& a, const Event& b) {
  if (a.key != b.key) return "one trace has " + where(a) + " where the other has " + where(b);
  if (a.tensors.size() != b.tensors.size()) return where(a) + ": other tensors were recorded";
  for (std::size_t t = 0; t < a.tensors.size(); ++t) {
    if (a.tensors[t].name != b.tensors[t].name) {
      return where(a) + ": " + a.tensors[t].name + " against " + b.tensors[t].name;
    }
  }
  return std::nullopt;
}

}  // namespace

Comparison compare(const Trace& a, const Trace& b) {
  Comparison result;
  if (a.events.size() != b.events.size()) {
    result.mismatch =
        std::to_string(a.events.size()) + " events against " + std::to_string(b.events.size());
    return result;
  }
  for (std::size_t e = 0; e < a.events.size(); ++e) {
    result.mismatch = mismatch(a.events[e], b.events[e]);
    if (result.mismatch) {
      result.differences.clear();
      return result;
    }
    for (std::size_t t = 0; t < a.events[e].tensors.size(); ++t) {
      if (mutant("comparer skips scales") && a.events[e].tensors[t].name.ends_with("scale_inv"))
        continue;
      // The digest covers dtype, shape and bytes.
      if (a.events[e].tensors[t].digest != b.events[e].tensors[t].digest)
        result.differences.push_back({e, t});
    }
  }
  return result;
}

ElementDifference compare_elements(const HostTensor& a, const HostTensor& b) {
  ElementDifference result;
  if (mutant("comparer is blind to length")) return result;
  if (a.dtype != b.dtype || a.shape != b.shape) {
    result.different = std::max(element_count(a.shape), element_count(b.shape));
    result.index.assign(a.shape.size(), 0);
    return result;
  }
  result.zero_signs_only = true;
  for (std::int64_t i = 0; i < element_count(a.shape); ++i) {
    if (bits_at(a, i) == bits_at(b, i) || overlooked(a, b, i)) continue;
    if (result.different++ == 0) result.first = i;
    result.zero_signs_only = result.zero_signs_only && is_zero(a, i) && is_zero(b, i);
  }
  result.zero_signs_only = result.zero_signs_only && result.different > 0;
  std::int64_t rest = result.first;
  for (auto size = a.shape.rbegin(); size != a.shape.rend(); ++size) {
    result.index.insert(result.index.begin(), *size == 0 ? 0 : rest % *size);
    if (*size != 0) rest /= *size;
  }
  return result;
}

}  // namespace samebits
