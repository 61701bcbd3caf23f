#include "harness/core/trace.h"

#include <array>

namespace samebits {
namespace {

void put(evidence::Sha256& hash, std::uint64_t value) {
  std::array<std::byte, 8> bytes;
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(value & 0xff);
    value >>= 8;
  }
  hash.update(bytes);
}

void put(evidence::Sha256& hash, std::string_view text) {
  put(hash, static_cast<std::uint64_t>(text.size()));
  hash.update(std::as_bytes(std::span(text)));
}

}  // namespace

std::string_view pass_name(Pass pass) {
  constexpr std::array<std::string_view, 3> kNames{"train", "eval", "recompute"};
  return kNames.at(static_cast<std::size_t>(pass));
}

std::size_t Trace::tensor_count() const {
  std::size_t count = 0;
  for (const Event& event : events) count += event.tensors.size();
  return count;
}

std::uint64_t Trace::bit_count() const {
  std::uint64_t bits = 0;
  for (const Event& event : events) {
    for (const EventTensor& tensor : event.tensors) {
      bits += static_cast<std::uint64_t>(element_count(tensor.shape)) *
              static_cast<std::uint64_t>(dtype_bits(tensor.dtype));
    }
  }
  return bits;
}

evidence::Sha256Value trace_digest(const Trace& trace) {
  evidence::Sha256 hash;
  put(hash, "samebits-trace-1");
  for (const Event& event : trace.events) {
    for (const EventTensor& tensor : event.tensors) {
      put(hash, static_cast<std::uint64_t>(event.key.step));
      put(hash, static_cast<std::uint64_t>(event.key.microbatch));
      put(hash, pass_name(event.key.pass));
      put(hash, static_cast<std::uint64_t>(event.key.occurrence));
      put(hash, event.key.layer);
      put(hash, operation_name(event.key.operation));
      put(hash, tensor.name);
      hash.update(tensor.digest);
    }
  }
  return hash.finish();
}

}  // namespace samebits
