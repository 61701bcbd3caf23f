#include "harness/core/part.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

namespace samebits {
namespace {

// [rows, cols] of `matrix` -> the bytes of a block of it.
void append_block(const HostTensor& matrix, Range rows, Range cols, std::vector<std::byte>& data) {
  const std::int64_t size = dtype_bits(matrix.dtype) / 8, width = matrix.shape.at(1);
  for (std::int64_t row = rows.begin; row < rows.begin + rows.size; ++row) {
    const auto first = matrix.bytes.begin() + (row * width + cols.begin) * size;
    data.insert(data.end(), first, first + cols.size * size);
  }
}

HostTensor block(const HostTensor& matrix, Range rows, Range cols) {
  std::vector<std::byte> data;
  append_block(matrix, rows, cols, data);
  return HostTensor::own(matrix.dtype, {rows.size, cols.size}, std::move(data));
}

// One block of each of the matrices that `make` gives: [slices, rows, cols].
HostTensor stacked(const std::vector<std::int64_t>& indices, Range rows, Range cols,
                   const std::function<HostTensor(std::int64_t)>& make) {
  std::vector<std::byte> data;
  DType dtype = DType::kBF16;
  for (const std::int64_t index : indices) {
    const HostTensor matrix = make(index);
    dtype = matrix.dtype;
    append_block(matrix, rows, cols, data);
  }
  return HostTensor::own(dtype, {static_cast<std::int64_t>(indices.size()), rows.size, cols.size},
                         std::move(data));
}

// The steps, microbatches and evaluations that a part keeps, by their number in the whole.
struct Kept {
  std::vector<int> steps, microbatches;
  std::vector<std::int64_t> evaluations;

  Kept(const Program& program, const std::vector<std::size_t>& ops) {
    std::set<int> step_set, microbatch_set;
    for (const std::size_t index : ops) {
      const Op& op = program.ops[index];
      step_set.insert(op.step);
      const bool trains = op.kind == OpKind::kForward || op.kind == OpKind::kRecompute ||
                          op.kind == OpKind::kBackward;
      if (trains) microbatch_set.insert(op.microbatch);
      if (op.kind == OpKind::kEvaluate) {
        evaluations.push_back(std::count_if(
            program.ops.begin(), program.ops.begin() + static_cast<std::ptrdiff_t>(index),
            [](const Op& earlier) { return earlier.kind == OpKind::kEvaluate; }));
      }
    }
    if (microbatch_set.empty()) microbatch_set.insert(0);
    steps.assign(step_set.begin(), step_set.end());
    microbatches.assign(microbatch_set.begin(), microbatch_set.end());
  }

  std::vector<std::int64_t> inputs(const Program& program) const {
    std::vector<std::int64_t> indices;
    for (const int step : steps) {
      for (const int microbatch : microbatches) {
        indices.push_back(std::int64_t{step} * program.microbatches + microbatch);
      }
    }
    return indices;
  }
};

int rank(const std::vector<int>& kept, int number) {
  const auto found = std::lower_bound(kept.begin(), kept.end(), number);
  return static_cast<int>(std::min<std::ptrdiff_t>(found - kept.begin(), std::ssize(kept) - 1));
}

Program take(const Program& whole, const std::vector<std::size_t>& ops, const Kept& kept) {
  Program program = whole;
  program.steps = static_cast<int>(kept.steps.size());
  program.microbatches = static_cast<int>(kept.microbatches.size());
  program.ops.clear();
  for (const std::size_t index : ops) {
    Op op = whole.ops[index];
    op.step = rank(kept.steps, op.step);
    op.microbatch = op.kind == OpKind::kUpdate ? program.microbatches - 1
                                               : rank(kept.microbatches, op.microbatch);
    program.ops.push_back(op);
  }
  return program;
}

LayerInputs take(const CheckRequest& whole, const Part& part, const Kept& kept) {
  const LayerInputs& from = whole.layers[part.layer].inputs;
  const std::vector<std::int64_t> indices = kept.inputs(whole.program);
  LayerInputs inputs;
  inputs.layer = from.layer;
  inputs.tokens = part.tokens.size;
  inputs.in = part.in.size;
  inputs.out = part.out.size;
  inputs.x = stacked(indices, part.tokens, part.in, [&](auto i) { return from.activation(i); });
  if (from.dy) {
    inputs.dy = stacked(indices, part.tokens, part.out, [&](auto i) { return *from.gradient(i); });
  } else {
    inputs.targets =
        stacked(indices, part.tokens, part.out, [&](auto i) { return from.target(i); });
  }
  if (!kept.evaluations.empty()) {
    inputs.evaluations =
        stacked(kept.evaluations, part.tokens, part.in, [&](auto i) { return from.evaluation(i); });
  }
  return inputs;
}

}  // namespace

Part part_up_to(const CheckRequest& whole, std::size_t layer, std::size_t last_op) {
  Part part;
  part.layer = layer;
  part.ops.resize(last_op + 1);
  std::iota(part.ops.begin(), part.ops.end(), std::size_t{0});
  part.tokens = {0, whole.layers[layer].inputs.tokens};
  part.in = {0, whole.layers[layer].layer.in()};
  part.out = {0, whole.layers[layer].layer.out()};
  return part;
}

std::uint64_t byte_count(const CheckRequest& whole, const Part& part) {
  const Kept kept(whole.program, part.ops);
  const CheckedLayer& from = whole.layers[part.layer];
  const auto width = [](const std::optional<HostTensor>& tensor) {
    return tensor ? dtype_bits(tensor->dtype) / 8 : 2;  // made ones are BF16
  };
  const double slices = static_cast<double>(kept.steps.size() * kept.microbatches.size());
  const double tokens = static_cast<double>(part.tokens.size);
  const double in = static_cast<double>(part.in.size), out = static_cast<double>(part.out.size);
  const double bytes = slices * tokens * (in * width(from.inputs.x) + out * width(from.inputs.dy)) +
                       static_cast<double>(kept.evaluations.size()) * tokens * in * 2 +
                       in * out * width(from.layer.weight) + out * 4;
  return static_cast<std::uint64_t>(bytes);
}

CheckRequest take(const CheckRequest& whole, const Part& part) {
  const Kept kept(whole.program, part.ops);
  const Layer& from = whole.layers[part.layer].layer;
  CheckRequest request = whole;
  request.program = take(whole.program, part.ops, kept);
  CheckedLayer checked;
  checked.layer.name = from.name;
  checked.layer.weight = block(from.weight, part.out, part.in);
  if (from.bias) {
    HostTensor row = *from.bias;
    row.shape.insert(row.shape.begin(), 1);
    checked.layer.bias = block(row, {0, 1}, part.out);
    checked.layer.bias->shape = {part.out.size};
  }
  checked.inputs = take(whole, part, kept);
  request.layers = {std::move(checked)};
  return request;
}

}  // namespace samebits
