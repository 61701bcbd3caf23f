// Buffers that come back are used again, so that a repeated run allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/device/buffer.h"

namespace samebits::kernels {

// Whether buffers are to be poisoned: unless SAMEBITS_NO_POISON is set in the environment, as a run
// under a checker of uninitialised reads needs, to which poison is a write like any other.
bool poison_is_wanted();

// All its buffers belong to the order of one stream: one that comes back may still be read by work
// enqueued there, and its next writer comes after. For one thread. The stream must outlive the
// pool; buffers may outlive it too and are then freed.
class Pool {
  struct Shelf;
  struct Return {
    std::weak_ptr<Shelf> shelf;
    void operator()(Buffer* buffer) const noexcept;
  };

 public:
  using Handle = std::unique_ptr<Buffer, Return>;

  explicit Pool(cudaStream_t stream, bool poisoned = poison_is_wanted());
  ~Pool();

  // A buffer of exactly `size` bytes, poisoned anew. Where the device has no room left, what lies
  // idle is freed first. Throws OutOfMemory, CudaError.
  Handle take(std::size_t size);

  std::int64_t allocations() const { return allocations_; }  // since the pool was made
  void free_idle();
  // Of the buffers that lie idle; waits for the stream.
  std::optional<GuardDamage> verify_idle_guards() const;

  cudaStream_t stream() const { return stream_; }

 private:
  std::unique_ptr<Buffer> make(std::size_t size);

  cudaStream_t stream_;
  bool poisoned_;
  std::int64_t allocations_ = 0;
  std::shared_ptr<Shelf> shelf_;
};

}  // namespace samebits::kernels
