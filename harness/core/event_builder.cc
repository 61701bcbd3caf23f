#include "harness/core/event_builder.h"

#include "harness/evidence/digest.h"
#include "reference/parallel.h"

namespace samebits {

void EventBuilder::tensor(std::string name, HostTensor tensor) {
  event_.tensors.push_back({std::move(name), tensor.dtype, tensor.shape, {}, {}});
  payload_.push_back(std::move(tensor));
}

void EventBuilder::operand(const std::string& name, const QuantizedOperand& operand) {
  const ScaleBlock block = scale_block(operand.mode, operand.codes.shape);
  tensor(name + " scale_inv", backend_.download(operand.scale_inv));
  tensor(name + " bytes", backend_.download(operand.codes));
  logical_.push_back({payload_.size() - 1, payload_.size() - 2, block});
}

void EventBuilder::finish(const EventSink& sink) {
  // The logical digests are the long ones; they come first so that the threads end together.
  const auto logicals = static_cast<std::int64_t>(logical_.size());
  const auto tensors = static_cast<std::int64_t>(payload_.size());
  reference::parallel_for(
      threads_, logicals + tensors, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          if (i < logicals) {
            const Logical& pair = logical_[static_cast<std::size_t>(i)];
            event_.tensors[pair.codes].logical = evidence::logical_digest(
                payload_[pair.codes], payload_[pair.scale_inv], pair.block.rows, pair.block.cols);
          } else {
            const auto index = static_cast<std::size_t>(i - logicals);
            event_.tensors[index].digest = evidence::tensor_digest(payload_[index]);
          }
        }
      });
  sink(std::move(event_), payload_);
}

}  // namespace samebits
