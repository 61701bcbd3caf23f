// Device memory: what is written beside a buffer is noticed, and buffers are used again.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/device/pool.h"
#include "kernels/gpu_test.h"

namespace samebits::kernels {
namespace {

bool all_bytes_are(std::uint8_t value, const Buffer& buffer, cudaStream_t stream) {
  const auto bytes = download<std::uint8_t>(buffer, stream);
  return std::ranges::all_of(bytes, [&](std::uint8_t byte) { return byte == value; });
}

TEST(DeviceBuffer, IsAlignedPoisonedAndItsGuardsHold) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  for (const std::size_t size : {0, 1, 15, 255, 256, 257, 4096}) {
    const Buffer buffer(size, stream);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256, 0u) << size;
    EXPECT_TRUE(all_bytes_are(Buffer::kPoison, buffer, stream)) << size;
    EXPECT_FALSE(buffer.verify_guards(stream)) << size;
  }
}

TEST(DeviceBuffer, AWriteOnEitherSideIsNamedByItsDistanceFromThePayload) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  for (const std::size_t offset : {std::size_t{0}, std::size_t{100}, Buffer::kGuardBytes - 1}) {
    Buffer after(1000, stream);
    SAMEBITS_CUDA_CHECK(cudaMemsetAsync(after.data() + 1000 + offset, 0x3c, 1, stream));
    const auto damage_after = after.verify_guards(stream);
    ASSERT_TRUE(damage_after);
    EXPECT_EQ(damage_after->side, GuardDamage::Side::kAfter);
    EXPECT_EQ(damage_after->offset, offset);
    EXPECT_EQ(damage_after->found, 0x3c);

    Buffer before(1000, stream);
    SAMEBITS_CUDA_CHECK(cudaMemsetAsync(before.data() - 1 - offset, 0x3c, 1, stream));
    const auto damage_before = before.verify_guards(stream);
    ASSERT_TRUE(damage_before);
    EXPECT_EQ(damage_before->side, GuardDamage::Side::kBefore);
    EXPECT_EQ(damage_before->offset, offset);
  }
}

TEST(DeviceBuffer, TooMuchMemoryIsRefusedWithWhatWasWantedAndWhatIsFree) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  try {
    const Buffer buffer(std::size_t{1} << 50, stream);
    FAIL() << "a petabyte was allocated";
  } catch (const OutOfMemory& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("1125899906842624 bytes are wanted"), std::string::npos) << text;
    EXPECT_NE(text.find("are free"), std::string::npos) << text;
  }
  // The error leaves nothing behind that a later check would report.
  SAMEBITS_CUDA_CHECK_LAUNCH();
  EXPECT_THROW(Buffer(~std::size_t{0}, stream), OutOfMemory);
}

TEST(DevicePool, ARepeatedRunAllocatesNothingAndIsPoisonedAnew) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  Pool pool(stream, true);
  for (int run = 0; run < 3; ++run) {
    const auto a = pool.take(1000), b = pool.take(1000), c = pool.take(0);
    EXPECT_NE(a->data(), b->data());
    for (const auto* buffer : {&a, &b}) {
      EXPECT_TRUE(all_bytes_are(Buffer::kPoison, **buffer, stream)) << run;
      (*buffer)->fill(0x11, stream);
    }
  }
  EXPECT_EQ(pool.allocations(), 3);
  EXPECT_FALSE(pool.verify_idle_guards());
  pool.free_idle();
  EXPECT_TRUE(all_bytes_are(Buffer::kPoison, *pool.take(1000), stream));
  EXPECT_EQ(pool.allocations(), 4);
}

TEST(DevicePool, DamageToAGuardIsStillSeenWhenTheBufferLiesIdle) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  Pool pool(stream);
  {
    const auto buffer = pool.take(64);
    SAMEBITS_CUDA_CHECK(cudaMemsetAsync(buffer->data() + 64, 0, 1, stream));
  }
  EXPECT_TRUE(pool.verify_idle_guards());
}

TEST(DevicePool, ABufferMayOutliveItsPool) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  Pool::Handle buffer;
  {
    Pool pool(stream);
    buffer = pool.take(64);
  }
  EXPECT_FALSE(buffer->verify_guards(stream));
}

TEST(DeviceInfo, NamesTheChipTheDriverAndTheRuntime) {
  SAMEBITS_NEEDS_GPU();
  const DeviceInfo info = device_info();
  std::printf("%s, compute capability %s, %d multiprocessors, driver %s, runtime %s\n",
              info.name.c_str(), info.compute_capability.c_str(), info.multiprocessors,
              info.driver.c_str(), info.runtime.c_str());
  EXPECT_EQ(info.compute_capability, "9.0");
  EXPECT_GT(info.free_bytes, 0u);
  EXPECT_GE(info.total_bytes, info.free_bytes);
}

}  // namespace
}  // namespace samebits::kernels
