#include "properties/device_bytes.h"

#include <algorithm>

#include "properties/generators.h"

namespace samebits::properties {

using kernels::Buffer;
using kernels::Comparison;

Buffer repeated_bf16(std::int64_t count, std::uint64_t seed, cudaStream_t stream) {
  constexpr std::int64_t kPeriod = 4194301;  // a prime
  std::vector<std::uint16_t> values(static_cast<std::size_t>(std::min(count, kPeriod)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t random = mixed(seed, i);
    values[i] = static_cast<std::uint16_t>((random & 0x807f) | (120 + (random >> 8 & 15)) << 7);
  }
  Buffer buffer(static_cast<std::size_t>(count) * 2, stream);
  kernels::copy_to_device(buffer.as<std::uint16_t>(), values, stream);
  for (auto done = static_cast<std::int64_t>(values.size()); done < count;) {
    const std::int64_t more = std::min(done, count - done);
    SAMEBITS_CUDA_CHECK(cudaMemcpyAsync(buffer.as<std::uint16_t>() + done, buffer.data(),
                                        static_cast<std::size_t>(more) * 2,
                                        cudaMemcpyDeviceToDevice, stream));
    done += more;
  }
  return buffer;
}

Comparison compared(const Buffer& a, const Buffer& b, int element_bytes, cudaStream_t stream) {
  EXPECT_EQ(a.size(), b.size());
  const Buffer result(sizeof(Comparison), stream);
  kernels::compare(a.data(), b.data(), static_cast<std::int64_t>(a.size()) / element_bytes,
                   element_bytes, result.as<Comparison>(), stream);
  EXPECT_FALSE(a.verify_guards(stream));
  EXPECT_FALSE(b.verify_guards(stream));
  return kernels::download<Comparison>(result, stream).at(0);
}

}  // namespace samebits::properties
