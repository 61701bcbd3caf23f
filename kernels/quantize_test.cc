// Every quantise kernel against the reference, bit for bit: codes, scales, and that nothing else
// was written.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/gpu_test.h"
#include "kernels/quantize_tensorwise.h"
#include "properties/device_quantize.h"

namespace samebits::kernels {
namespace {

using Eigen::Index;
using properties::quantize_difference;
using properties::QuantizeCase;
using properties::stored;
using properties::StoredMatrix;
using reference::Granularity;
using reference::Matrix;

void expect_the_reference(Granularity granularity) {
  const Stream stream;
  const bool ok = rc::check("a kernel writes the reference's bytes, whatever lay there", [&] {
    const QuantizeCase c = properties::any_quantize_case(granularity);
    RC_LOG() << c << '\n';
    const StoredMatrix source = stored(c.x, c.source);
    for (const std::uint8_t poison : {std::uint8_t{0xff}, std::uint8_t{0x5a}}) {
      const std::string text = quantize_difference(c, source, poison, stream);
      if (!text.empty()) RC_FAIL(text);
    }
    RC_CLASSIFY(c.x.rows() % 16 == 0 && c.x.cols() % 16 == 0 && c.row_offset % 16 == 0 &&
                    c.col_offset % 16 == 0,
                "by 16-byte accesses");
    RC_CLASSIFY(c.x.size() == 0, "empty");
  });
  EXPECT_TRUE(ok);
}

TEST(QuantizeKernels, TensorwiseEqualsTheReference) {
  SAMEBITS_NEEDS_GPU();
  expect_the_reference(Granularity::kTensor);
}

TEST(QuantizeKernels, OneBy128EqualsTheReference) {
  SAMEBITS_NEEDS_GPU();
  expect_the_reference(Granularity::k1x128);
}

TEST(QuantizeKernels, Square128EqualsTheReference) {
  SAMEBITS_NEEDS_GPU();
  expect_the_reference(Granularity::k128x128);
}

TEST(QuantizeKernels, OneBy32EqualsTheReference) {
  SAMEBITS_NEEDS_GPU();
  expect_the_reference(Granularity::k1x32);
}

// --- Every scale

// One element a row, the rest zero, in a partial block: each of the values is the amax of its row.
Matrix one_value_a_row(const std::vector<float>& values) {
  Matrix x = Matrix::Zero(static_cast<Index>(values.size()), 32);
  for (Index row = 0; row < x.rows(); ++row)
    x(row, row % 32) = values[static_cast<std::size_t>(row)];
  return x;
}

// Every FP32 exponent, with the mantissas round its ends and round 1.75, that of the targets'
// maxima.
std::vector<float> fp32_amaxes() {
  std::vector<float> values;
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (const std::uint32_t mantissa :
         {0u, 1u, 2u, 0x1fffffu, 0x200000u, 0x200001u, 0x3fffffu, 0x400000u, 0x400001u, 0x5fffffu,
          0x600000u, 0x600001u, 0x600002u, 0x7ffffeu, 0x7fffffu}) {
      values.push_back(std::bit_cast<float>(exponent << 23 | mantissa));
    }
  }
  return values;
}

// BF16 takes the upper half of each, FP16 the value (or what else stored() says).
std::vector<float> every_16_bit_amax(Format format) {
  std::vector<float> values;
  for (std::uint32_t bits = 0; bits < 0x8000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    values.push_back(format == Format::kBF16 ? std::bit_cast<float>(bits << 16)
                                             : reference::FP16::from_bits(half).value());
  }
  return values;
}

TEST(QuantizeKernels, EveryAmaxGetsTheReferencesScale) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  for (const Format format : {Format::kFP32, Format::kBF16, Format::kFP16}) {
    QuantizeCase c;
    c.source = format;
    c.columnwise = false;
    c.x = one_value_a_row(format == Format::kFP32 ? fp32_amaxes() : every_16_bit_amax(format));
    const StoredMatrix source = stored(c.x, format);
    for (const Format target : {Format::kE4M3, Format::kE5M2}) {
      for (const bool power_of_two : {false, true}) {
        for (const Granularity granularity : {Granularity::k1x128, Granularity::k1x32}) {
          c.target = target;
          c.power_of_two = power_of_two;
          c.granularity = granularity;
          EXPECT_EQ(quantize_difference(c, source, 0xff, stream), "") << c;
        }
      }
    }
  }
}

// The scale of a whole tensor: the same rule, but Inf becomes FP32's largest.
TEST(QuantizeKernels, EveryFp32AmaxGetsTheReferencesTensorScale) {
  SAMEBITS_NEEDS_GPU();
  const Stream stream;
  const Buffer amax_cell(sizeof(float), stream), scale_cell(sizeof(float), stream);
  for (const Format target : {Format::kE4M3, Format::kE5M2}) {
    for (const bool power_of_two : {false, true}) {
      for (const float epsilon : {0.0F, 0x1p-140F, 0.5F}) {
        const reference::ScaleRule rule{
            target == Format::kE4M3 ? reference::Fp8::kE4M3 : reference::Fp8::kE5M2, power_of_two,
            epsilon};
        for (const float amax : fp32_amaxes()) {
          if (std::isnan(amax)) continue;
          copy_to_device<float>(amax_cell.as<float>(), {amax}, stream);
          tensor_scale(amax_cell.as<float>(), target, {power_of_two, epsilon},
                       scale_cell.as<float>(), stream);
          const float found = download<float>(scale_cell, stream).at(0);
          const float expected = reference::scale_from_amax(amax, rule);
          ASSERT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected))
              << name_of(target) << " power of two " << power_of_two << " epsilon " << epsilon
              << " amax " << amax;
        }
      }
    }
  }
}

}  // namespace
}  // namespace samebits::kernels
