// Device memory that notices writes beside it and reads of what nobody wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/device/check.h"

namespace samebits::kernels {

// The first guard byte that no longer holds the pattern. `offset` counts away from the payload: 0
// is the byte next to it.
struct GuardDamage {
  enum class Side { kBefore, kAfter } side;
  std::size_t offset;
  std::uint8_t found;
};
std::string describe(const GuardDamage& damage);

// More was wanted than the device has. what() says how many bytes were wanted and how many are
// free.
class OutOfMemory : public CudaError {
 public:
  OutOfMemory(std::size_t wanted, std::size_t free);
};

// `size` bytes of device memory between two guards. The payload starts at a multiple of 256 bytes,
// which is what cudaMalloc promises (alignment steers the GEMM library's choice of algorithm), and
// ends where the second guard begins, whatever `size` is.
class Buffer {
 public:
  static constexpr std::size_t kGuardBytes = 256;
  static constexpr std::uint8_t kGuardPattern = 0xa5;
  static constexpr std::uint8_t kPoison = 0xff;

  // The guards, and the poison if it is wanted, are written in the order of `stream`. Throws
  // OutOfMemory, CudaError.
  Buffer(std::size_t size, cudaStream_t stream, bool poisoned = true);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::uint8_t* data() const { return base_ + kGuardBytes; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }
  std::size_t size() const { return size_; }

  void fill(std::uint8_t value, cudaStream_t stream);
  // Waits for `stream`, on which every write so far was ordered.
  std::optional<GuardDamage> verify_guards(cudaStream_t stream) const;

 private:
  std::uint8_t* base_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace samebits::kernels
