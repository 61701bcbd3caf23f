// Gathers the tensors of one operation, as the backend used them, into an event.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/core/engine.h"

namespace samebits {

class EventBuilder {
 public:
  EventBuilder(Backend& backend, int threads, Event event)
      : backend_(backend), threads_(threads), event_(std::move(event)) {}

  Event& event() { return event_; }
  void tensor(std::string name, HostTensor tensor);
  // The operand's scales, then its bytes: where both differ, the scale is what moved first.
  void operand(const std::string& name, const QuantizedOperand& operand);
  void finish(const EventSink& sink);

 private:
  struct Logical {
    std::size_t codes, scale_inv;  // indices into payload_
    ScaleBlock block;
  };

  Backend& backend_;
  int threads_;
  Event event_;
  std::vector<HostTensor> payload_;
  std::vector<Logical> logical_;
};

}  // namespace samebits
