#include "harness/core/dropped_terms.h"

#include <map>
#include <string>
#include <utility>

#include "harness/core/arm.h"
#include "reference/gemm.h"

namespace samebits {
namespace {

namespace ref = samebits::reference;

constexpr std::int64_t kPadding = 128;

const EventTensor* tensor(const Event& event, const std::string& name) {
  for (const EventTensor& tensor : event.tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

std::int64_t summed(std::int64_t k, bool tiles, int split_k) {
  return ref::summed_k(k, split_k, tiles ? ref::Granularity::k128x128 : ref::Granularity::kTensor,
                       ref::Granularity::kTensor);
}

std::string advice(const Event& event, const SplitShape& shape, int split_k) {
  const std::int64_t padded = (shape.k + kPadding - 1) / kPadding * kPadding;
  const std::int64_t helps = covering_k(shape, split_k);
  const std::int64_t left_out = terms_left_out({padded, shape.tiles}, split_k);
  const bool tokens = event.key.operation == Operation::kWgrad;
  std::string text = "of the " + std::to_string(shape.k) +
                     " terms of each sum: " + std::to_string(split_k) +
                     " slices do not cover them, and the result is wrong";
  if (left_out > 0) {
    text += "; padded to " + std::to_string(padded) + ", a multiple of 128, it still loses " +
            std::to_string(left_out);
  }
  text += "; pad " + std::string(tokens ? "the tokens" : "K") + " to " + std::to_string(helps) +
          ", of which as many slices lose nothing, or take another algorithm (--gemm no-split)";
  return text;
}

struct Dropped {
  std::int64_t terms = 0;
  std::string advice;
};

// The record's own count, or what its split leaves out where that is more and its library is known
// to cut so.
Dropped dropped_by(const Event& event) {
  const GemmRecord& record = *event.gemm;
  Dropped dropped{record.dropped_terms,
                  "of each sum, by the record: the result is wrong; take another algorithm (--gemm "
                  "no-split)"};
  const auto shape = split_shape(event);
  if (!shape || record.split_k > shape->k) return dropped;
  const std::int64_t left_out = terms_left_out(*shape, record.split_k);
  const bool known = record.by == kReference || record.by.starts_with("cuBLASLt ");
  if (left_out == 0 || (!known && left_out != record.dropped_terms)) return dropped;
  return {std::max(left_out, record.dropped_terms), advice(event, *shape, record.split_k)};
}

}  // namespace

std::optional<SplitShape> split_shape(const Event& event) {
  SplitShape shape;
  for (const std::string name :
       {"x", "dy", "weight", "x columnwise", "dy columnwise", "weight columnwise"}) {
    const EventTensor* codes = tensor(event, name + " bytes");
    const EventTensor* scales = tensor(event, name + " scale_inv");
    if (!codes || !scales || codes->shape.size() != 2 || scales->shape.size() != 2) continue;
    shape.k = codes->shape[1];
    // One scale for several rows, and more than one along K: of the modes, that is 128x128 alone.
    shape.tiles |= scales->shape[0] < codes->shape[0] && scales->shape[1] > 1;
  }
  if (shape.k == 0) return std::nullopt;
  return shape;
}

std::int64_t terms_left_out(const SplitShape& shape, int split_k) {
  return shape.k - summed(shape.k, shape.tiles, split_k);
}

std::int64_t covering_k(const SplitShape& shape, int split_k) {
  // One slice's length more, at the latest, is reached after split_k elements.
  std::int64_t k = shape.k / kPadding * kPadding + kPadding;
  while (summed(k, shape.tiles, split_k) < k) k += kPadding;
  return k;
}

std::vector<Finding> find_dropped_terms(const std::vector<const Trace*>& traces) {
  std::map<std::pair<std::string, Operation>, Dropped> most;
  for (const Trace* trace : traces) {
    for (const Event& event : trace->events) {
      if (!event.gemm) continue;
      Dropped dropped = dropped_by(event);
      if (dropped.terms == 0) continue;
      Dropped& known = most[{event.key.layer, event.key.operation}];
      if (dropped.terms > known.terms) known = std::move(dropped);
    }
  }
  std::vector<Finding> findings;
  for (const auto& [gemm, dropped] : most) {
    findings.push_back({"library drops terms",
                        gemm.first + " " + std::string(operation_name(gemm.second)), dropped.terms,
                        dropped.advice, true});
  }
  return findings;
}

}  // namespace samebits
