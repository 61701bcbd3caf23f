// The comparison that runs on the device finds what was planted, wherever it lies.
#include "kernels/compare.h"

#include <gtest/gtest.h>

#include "kernels/gpu_test.h"
#include "properties/generators.h"

namespace samebits::kernels {
namespace {

using properties::mixed;

std::vector<std::uint8_t> random_bytes(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(mixed(seed, i));
  return bytes;
}

// Of `count` elements `offset` bytes into two copies of the same bytes. Each planted element
// differs in one bit, another one each time.
Comparison compare_with_planted(const std::vector<std::int64_t>& planted, std::int64_t count,
                                int element_bytes, std::size_t offset, cudaStream_t stream) {
  const auto size = offset + static_cast<std::size_t>(count * element_bytes);
  const std::vector<std::uint8_t> left = random_bytes(size, size);
  std::vector<std::uint8_t> right = left;
  for (const std::int64_t index : planted) {
    const auto bit = mixed(7, static_cast<std::uint64_t>(index)) % (8 * element_bytes);
    right[offset + static_cast<std::size_t>(index * element_bytes) + bit / 8] ^=
        static_cast<std::uint8_t>(1 << bit % 8);
  }
  const Buffer a = upload(left, stream), b = upload(right, stream);
  const Buffer result(sizeof(Comparison), stream);
  compare(a.data() + offset, b.data() + offset, count, element_bytes, result.as<Comparison>(),
          stream);
  EXPECT_FALSE(result.verify_guards(stream));
  return download<Comparison>(result, stream).at(0);
}

constexpr std::int64_t kCounts[] = {1, 2, 15, 16, 17, 255, 257, 4096, 70001};

TEST(CompareKernel, EqualBytesAreEqual) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  for (const int element_bytes : {1, 2, 4, 8}) {
    for (const std::int64_t count : kCounts) {
      const Comparison result = compare_with_planted({}, count, element_bytes, 0, stream);
      EXPECT_EQ(result.differing, 0u);
      EXPECT_EQ(result.first, Comparison::kNone);
    }
    EXPECT_EQ(compare_with_planted({}, 0, element_bytes, 0, stream).differing, 0u);
  }
}

TEST(CompareKernel, EveryPlantedBitIsCountedAndTheFirstIsNamed) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  for (const int element_bytes : {1, 2, 4, 8}) {
    for (const std::int64_t count : kCounts) {
      for (const std::size_t elements_in : {0, 1, 16}) {
        const std::size_t offset = elements_in * static_cast<std::size_t>(element_bytes);
        const std::int64_t middle = count / 2;
        for (const std::int64_t first : {std::int64_t{0}, middle, count - 1}) {
          std::vector<std::int64_t> planted;
          for (std::int64_t i = first; i < count; i += 1 + i % 5) planted.push_back(i);
          const Comparison result =
              compare_with_planted(planted, count, element_bytes, offset, stream);
          EXPECT_EQ(result.differing, planted.size()) << element_bytes << " bytes, " << count;
          EXPECT_EQ(result.first, static_cast<std::uint64_t>(first))
              << element_bytes << " bytes, " << count;
        }
      }
    }
  }
}

TEST(CompareKernel, NanEqualsItselfAndTheSignOfZeroCounts) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  const Buffer a = upload<std::uint32_t>({0x7fc00000, 0, 0xffffffff}, stream);
  const Buffer b = upload<std::uint32_t>({0x7fc00000, 0x80000000, 0xffffffff}, stream);
  const Buffer result(sizeof(Comparison), stream);
  compare(a.data(), b.data(), 3, 4, result.as<Comparison>(), stream);
  const Comparison found = download<Comparison>(result, stream).at(0);
  EXPECT_EQ(found.differing, 1u);
  EXPECT_EQ(found.first, 1u);
}

}  // namespace
}  // namespace samebits::kernels
