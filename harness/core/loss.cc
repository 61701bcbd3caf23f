#include "harness/core/loss.h"

#include <vector>

#include "harness/core/values.h"

namespace samebits {

LossAndGradient loss_and_gradient(const HostTensor& y, const LayerInputs& inputs,
                                  std::int64_t index) {
  const std::int64_t count = element_count(y.shape);
  LossAndGradient result;
  if (auto captured = inputs.gradient(index)) {
    for (std::int64_t i = 0; i < count; ++i) result.loss += value_at(y, i) * value_at(*captured, i);
    result.dy = std::move(*captured);
    return result;
  }
  const HostTensor target = inputs.target(index);
  std::vector<std::uint16_t> dy;
  dy.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const double difference = value_at(y, i) - value_at(target, i);
    result.loss += difference * difference / 2;
    dy.push_back(to_bf16(difference));
  }
  result.dy = HostTensor::of<std::uint16_t>(DType::kBF16, y.shape, dy);
  return result;
}

}  // namespace samebits
