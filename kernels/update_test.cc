// The update kernel and the amax pass against their definitions.
#include "kernels/update.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/gpu_test.h"
#include "kernels/quantize_tensorwise.h"
#include "properties/generators.h"
#include "reference/quantize.h"

namespace samebits::kernels {
namespace {

using properties::float_of;
using properties::FloatKind;
using properties::mixed;

constexpr std::int64_t kCounts[] = {0, 1, 15, 16, 17, 255, 4096, 4097, 100003};
constexpr Format kSources[] = {Format::kFP32, Format::kBF16, Format::kFP16};

// Every kind of float by turns.
float any_float(std::uint64_t seed, std::int64_t i) {
  const auto index = static_cast<std::uint64_t>(i);
  const auto kinds = properties::every_kind();
  return float_of(kinds[mixed(~seed, index) % kinds.size()], mixed(seed, index));
}

float widened(Format format, std::uint32_t bits) {
  if (format == Format::kFP32) return std::bit_cast<float>(bits);
  const auto half = static_cast<std::uint16_t>(bits);
  return format == Format::kBF16 ? reference::BF16::from_bits(half).value()
                                 : reference::FP16::from_bits(half).value();
}

// `count` elements of any bits, `offset` bytes into a buffer.
struct Elements {
  Elements(Format format, std::int64_t count, std::size_t offset, std::uint64_t seed,
           cudaStream_t stream)
      : buffer(offset + static_cast<std::size_t>(count * size_of(format)), stream) {
    const auto size = static_cast<std::size_t>(size_of(format));
    std::vector<std::uint8_t> bytes(buffer.size());
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint32_t bits = std::bit_cast<std::uint32_t>(any_float(seed, i));
      if (format != Format::kFP32) bits = static_cast<std::uint32_t>(mixed(seed, i)) & 0xffff;
      std::memcpy(&bytes[offset + static_cast<std::size_t>(i) * size], &bits, size);
      values.push_back(widened(format, bits));
    }
    copy_to_device(buffer.data(), bytes, stream);
    data = buffer.data() + offset;
  }

  Buffer buffer;
  std::uint8_t* data = nullptr;
  std::vector<float> values;
};

std::uint16_t rounded_bf16(float v) {
  return reference::BF16::round(v, reference::Rounding::kNearestEven,
                                reference::Overflow::kToInfinityOrNan)
      .bits();
}

void expect_update(Format format, std::int64_t count, std::size_t offset, float learning_rate,
                   cudaStream_t stream) {
  const Elements w(format, count, offset * static_cast<std::size_t>(size_of(format)), 3, stream);
  const Elements g(Format::kFP32, count, offset * 4, 5, stream);
  const Buffer updated(static_cast<std::size_t>(count) * 2, stream);
  update(w.data, format, reinterpret_cast<const float*>(g.data), count, learning_rate,
         updated.as<std::uint16_t>(), stream);
  const auto found = download<std::uint16_t>(updated, stream);
  std::int64_t differ = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const float step = learning_rate * g.values[i];
    differ += found[i] != rounded_bf16(w.values[i] - step);
  }
  EXPECT_EQ(differ, 0) << name_of(format) << ", " << count << " elements, offset " << offset;
  EXPECT_FALSE(updated.verify_guards(stream));
}

TEST(UpdateKernel, RoundsEachStepAndThenOnceToBf16) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  for (const Format format : kSources) {
    for (const std::int64_t count : kCounts) {
      for (const std::size_t offset : {0, 1}) {
        for (const float learning_rate : {0.01F, 1.0F, -0.3F}) {
          expect_update(format, count, offset, learning_rate, stream);
        }
      }
    }
  }
}

TEST(UpdateKernel, MayWriteOverABf16Weight) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  const Elements w(Format::kBF16, 4096, 0, 3, stream), g(Format::kFP32, 4096, 0, 5, stream);
  update(w.data, Format::kBF16, g.buffer.as<float>(), 4096, 0.5F, w.buffer.as<std::uint16_t>(),
         stream);
  const auto found = download<std::uint16_t>(w.buffer, stream);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const float step = 0.5F * g.values[i];
    ASSERT_EQ(found[i], rounded_bf16(w.values[i] - step)) << i;
  }
}

TEST(AmaxKernel, IsTheReferencesAndIgnoresNan) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  for (const Format format : kSources) {
    for (const std::int64_t count : kCounts) {
      for (const std::size_t offset : {0, 1}) {
        for (const std::uint64_t seed : {1, 2, 3}) {
          const Elements x(format, count, offset * static_cast<std::size_t>(size_of(format)), seed,
                           stream);
          const Buffer cell = upload<float>({100}, stream);  // left behind by an earlier call
          amax(x.data, format, count, cell.as<float>(), stream);
          float expected = 0;
          // std::fmax of a number and a signalling NaN is NaN.
          for (const float v : x.values) {
            if (std::fabs(v) > expected) expected = std::fabs(v);
          }
          const float found = download<float>(cell, stream).at(0);
          EXPECT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected))
              << name_of(format) << ", " << count << " elements, offset " << offset;
        }
      }
    }
  }
}

// Whatever the place of the largest element: every lane, block and tail must count.
TEST(AmaxKernel, SeesEveryPlace) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  constexpr std::int64_t kCount = 40007;
  const Buffer cell(sizeof(float), stream);
  for (std::int64_t place = 0; place < kCount; place += 97) {
    std::vector<std::uint16_t> x(kCount, 0xff81);  // NaN
    x[static_cast<std::size_t>(place)] = 0xc000;   // -2
    for (const std::int64_t count : {kCount, (kCount + 15) / 16 * 16}) {
      x.resize(static_cast<std::size_t>(count), 0x8000);
      const Buffer buffer = upload(x, stream);
      amax(buffer.data(), Format::kBF16, count, cell.as<float>(), stream);
      ASSERT_EQ(download<float>(cell, stream).at(0), 2.0F) << place;
    }
  }
}

}  // namespace
}  // namespace samebits::kernels
