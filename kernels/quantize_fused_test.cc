// Fused forms against plain ones at the sizes of real layers, compared on the device, and one
// matrix of more than 2^31 elements.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/quantize_128x128.h"
#include "kernels/quantize_1x128.h"
#include "kernels/quantize_1x32.h"
#include "kernels/quantize_tensorwise.h"
#include "kernels/quantize_transpose.h"
#include "properties/device_bytes.h"
#include "reference/quantize.h"

namespace samebits::kernels {
namespace {

struct Work {
  Work(std::int64_t rows, std::int64_t cols)
      : x_buffer(properties::repeated_bf16(rows * cols, 11, stream)),
        x{x_buffer.data(), Format::kBF16, rows, cols} {}

  Buffer bytes(std::int64_t count) const { return Buffer(static_cast<std::size_t>(count), stream); }
  void expect_equal(const Buffer& a, const Buffer& b, const char* what) const {
    const Comparison found = properties::compared(a, b, 1, stream);
    EXPECT_EQ(found.differing, 0u)
        << what << " [" << x.rows << ", " << x.cols << "], first byte " << found.first;
  }

  Stream stream;
  Buffer x_buffer;
  MatrixView x;
};

constexpr std::int64_t kTokens = 131072;
constexpr std::int64_t kWidths[] = {512, 2048, 8192};

void expect_fused_cast_equals_plain(const Work& work) {
  const auto [data, format, rows, cols] = work.x;
  const Buffer row = work.bytes(rows * cols), col = work.bytes(rows * cols);
  const Buffer plain_row = work.bytes(rows * cols), plain_col = work.bytes(rows * cols);
  const Buffer cells(4 * sizeof(float), work.stream);
  auto* amax = cells.as<float>();
  quantize_tensorwise(work.x, {}, amax, amax + 1, {Format::kE4M3, row.data(), col.data(), amax + 2},
                      work.stream);
  cast_tensorwise(work.x, amax + 1, amax + 3, {Format::kE4M3, plain_row.data(), nullptr, nullptr},
                  work.stream);
  transpose_codes(plain_row.data(), rows, cols, plain_col.data(), work.stream);
  work.expect_equal(row, plain_row, "tensorwise, rowwise");
  work.expect_equal(col, plain_col, "tensorwise, columnwise");
  const auto values = download<float>(cells, work.stream);
  EXPECT_EQ(values[0], values[3]) << "amax by its own pass and by the cast";
}

TEST(FusedEqualsPlain, TensorwiseCastAndTranspose) {
  SAMEBITS_NEEDS_GPU();
  for (const std::int64_t width : kWidths) expect_fused_cast_equals_plain({kTokens, width});
  expect_fused_cast_equals_plain({1000, 8193});
}

template <class Scale, class Launch>
void expect_both_directions_equal_each_alone(const Work& work, std::int64_t row_scales,
                                             std::int64_t col_scales, const Launch& launch) {
  const std::int64_t count = work.x.rows * work.x.cols;
  const auto size = static_cast<std::int64_t>(sizeof(Scale));
  Buffer codes[4] = {work.bytes(count), work.bytes(count), work.bytes(count), work.bytes(count)};
  Buffer scales[4] = {work.bytes(row_scales * size), work.bytes(col_scales * size),
                      work.bytes(row_scales * size), work.bytes(col_scales * size)};
  const auto out = [&](int i) { return Quantized<Scale>{codes[i].data(), scales[i].as<Scale>()}; };
  launch(out(0), out(1));
  launch(out(2), Quantized<Scale>{});
  launch(Quantized<Scale>{}, out(3));
  work.expect_equal(codes[0], codes[2], "rowwise codes");
  work.expect_equal(codes[1], codes[3], "columnwise codes");
  work.expect_equal(scales[0], scales[2], "rowwise scales");
  work.expect_equal(scales[1], scales[3], "columnwise scales");
}

TEST(FusedEqualsPlain, OneBy128InBothDirections) {
  SAMEBITS_NEEDS_GPU();
  for (const std::int64_t width : {512, 2048}) {
    const Work work(kTokens, width);
    expect_both_directions_equal_each_alone<float>(
        work, scale_count_1x128(kTokens, width), scale_count_1x128(width, kTokens),
        [&](const Quantized<float>& row, const Quantized<float>& col) {
          quantize_1x128(work.x, Format::kE4M3, {true}, row, col, work.stream);
        });
  }
}

TEST(FusedEqualsPlain, OneBy32InBothDirections) {
  SAMEBITS_NEEDS_GPU();
  const Work work(kTokens, 512);
  expect_both_directions_equal_each_alone<std::uint8_t>(
      work, scale_count_1x32(kTokens, 512), scale_count_1x32(512, kTokens),
      [&](const Quantized<std::uint8_t>& row, const Quantized<std::uint8_t>& col) {
        quantize_1x32(work.x, Format::kE5M2, row, col, work.stream);
      });
}

// The columnwise half of a copy that was made without it.
void expect_transposed_copy_equals_fused(const Work& work) {
  const auto [data, format, rows, cols] = work.x;
  const Buffer row = work.bytes(rows * cols), col = work.bytes(rows * cols);
  const Buffer late_col = work.bytes(rows * cols);
  const std::int64_t col_scales = scale_count_128x128(cols, rows);
  const Buffer row_scale = work.bytes(scale_count_128x128(rows, cols) * 4);
  const Buffer col_scale = work.bytes(col_scales * 4), late_scale = work.bytes(col_scales * 4);
  quantize_128x128(work.x, Format::kE4M3, {}, {row.data(), row_scale.as<float>()},
                   {col.data(), col_scale.as<float>()}, work.stream);
  transpose_codes(row.data(), rows, cols, late_col.data(), work.stream);
  transpose_scales_128x128(row_scale.as<float>(), rows, cols, late_scale.as<float>(), work.stream);
  work.expect_equal(col, late_col, "columnwise codes");
  work.expect_equal(col_scale, late_scale, "columnwise scales");
}

TEST(FusedEqualsPlain, Square128AndTheTransposeOfItsRowwiseHalf) {
  SAMEBITS_NEEDS_GPU();
  for (const std::int64_t width : kWidths) expect_transposed_copy_equals_fused({width, 2048});
  expect_transposed_copy_equals_fused({129, 1000});
  expect_transposed_copy_equals_fused({1, 1});
}

// 65552 * 32784 = 2149056768 > 2^31: an index of 32 bits would wrap. The last sixteen rows of every
// result are held against the reference.
TEST(MoreThanTwoToThe31Elements, AreAllReached) {
  SAMEBITS_NEEDS_GPU();
  constexpr std::int64_t kRows = 65552, kCols = 32784, kLast = 16;
  if (device_info().free_bytes < std::size_t{16} << 30) GTEST_SKIP() << "16 GiB are not free";
  const Work work(kRows, kCols);
  expect_fused_cast_equals_plain(work);

  const auto tail = copy_to_host(work.x_buffer.as<const std::uint16_t>() + (kRows - kLast) * kCols,
                                 kLast * kCols, work.stream);
  reference::Matrix x(kLast, kCols);
  for (std::size_t i = 0; i < tail.size(); ++i) {
    x.data()[i] = reference::BF16::from_bits(tail[i]).value();
  }
  reference::QuantizeSpec spec;
  spec.granularity = reference::Granularity::k1x128;
  spec.rule.power_of_two = true;
  spec.threads = 0;
  const reference::Quantized expected = reference::quantize(x, spec);

  const Buffer codes = work.bytes(kRows * kCols);
  const Buffer scales = work.bytes(scale_count_1x128(kRows, kCols) * 4);
  quantize_1x128(work.x, Format::kE4M3, {true}, {codes.data(), scales.as<float>()}, {},
                 work.stream);
  const auto found =
      copy_to_host(codes.data() + (kRows - kLast) * kCols, kLast * kCols, work.stream);
  EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.codes.data()));

  const Buffer updated = work.bytes(kRows * kCols);
  const auto last_column = [&](const Buffer& transposed) {
    return copy_to_host(transposed.data() + kCols * kRows - kLast, kLast, work.stream);
  };
  transpose_codes(codes.data(), kRows, kCols, updated.data(), work.stream);
  const auto column = last_column(updated);
  for (std::int64_t i = 0; i < kLast; ++i) {
    EXPECT_EQ(column[static_cast<std::size_t>(i)], expected.codes(i, kCols - 1)) << i;
  }
}

}  // namespace
}  // namespace samebits::kernels
