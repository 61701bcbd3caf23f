#include "kernels/device/buffer.h"

#include <array>
#include <limits>
#include <utility>

namespace samebits::kernels {
namespace {

std::uint8_t* allocate(std::size_t size) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() - 2 * Buffer::kGuardBytes;
  void* base = nullptr;
  const cudaError_t code =
      size > kMost ? cudaErrorMemoryAllocation : cudaMalloc(&base, size + 2 * Buffer::kGuardBytes);
  if (code == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    std::size_t free = 0, total = 0;
    SAMEBITS_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    throw OutOfMemory(size, free);
  }
  check_cuda(code, "cudaMalloc", __FILE__, __LINE__);
  return static_cast<std::uint8_t*>(base);
}

}  // namespace

std::string describe(const GuardDamage& damage) {
  constexpr char kDigits[] = "0123456789abcdef";
  const bool is_before = damage.side == GuardDamage::Side::kBefore;
  return "the guard byte " + std::to_string(damage.offset) + " bytes " +
         (is_before ? "before the start" : "after the end") +
         " of a buffer was overwritten with 0x" + kDigits[damage.found >> 4] +
         kDigits[damage.found & 15];
}

OutOfMemory::OutOfMemory(std::size_t wanted, std::size_t free)
    : CudaError(cudaErrorMemoryAllocation, "out of device memory: " + std::to_string(wanted) +
                                               " bytes are wanted, " + std::to_string(free) +
                                               " are free") {}

Buffer::Buffer(std::size_t size, cudaStream_t stream, bool poisoned)
    : base_(allocate(size)), size_(size) {
  // A constructor that throws runs no destructor.
  try {
    SAMEBITS_CUDA_CHECK(cudaMemsetAsync(base_, kGuardPattern, kGuardBytes, stream));
    SAMEBITS_CUDA_CHECK(cudaMemsetAsync(data() + size, kGuardPattern, kGuardBytes, stream));
    if (poisoned) fill(kPoison, stream);
  } catch (...) {
    static_cast<void>(cudaFree(base_));
    throw;
  }
}

Buffer::Buffer(Buffer&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(size_, other.size_);
  return *this;
}

Buffer::~Buffer() {
  if (base_) static_cast<void>(cudaFree(base_));
}

void Buffer::fill(std::uint8_t value, cudaStream_t stream) {
  if (size_ != 0) SAMEBITS_CUDA_CHECK(cudaMemsetAsync(data(), value, size_, stream));
}

std::optional<GuardDamage> Buffer::verify_guards(cudaStream_t stream) const {
  std::array<std::uint8_t, kGuardBytes> before{}, after{};
  SAMEBITS_CUDA_CHECK(
      cudaMemcpyAsync(before.data(), base_, kGuardBytes, cudaMemcpyDeviceToHost, stream));
  SAMEBITS_CUDA_CHECK(
      cudaMemcpyAsync(after.data(), data() + size_, kGuardBytes, cudaMemcpyDeviceToHost, stream));
  SAMEBITS_CUDA_CHECK(cudaStreamSynchronize(stream));
  for (std::size_t i = 0; i < kGuardBytes; ++i) {
    const std::uint8_t left = before[kGuardBytes - 1 - i], right = after[i];
    if (left != kGuardPattern) return GuardDamage{GuardDamage::Side::kBefore, i, left};
    if (right != kGuardPattern) return GuardDamage{GuardDamage::Side::kAfter, i, right};
  }
  return std::nullopt;
}

}  // namespace samebits::kernels
