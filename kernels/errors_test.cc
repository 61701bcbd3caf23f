// What is refused, and the words for it. Nothing here needs a GPU.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <type_traits>

#include "kernels/compare.h"
#include "kernels/device/buffer.h"
#include "kernels/device/device_info.h"
#include "kernels/device/pool.h"
#include "kernels/device/stream.h"
#include "kernels/quantize_128x128.h"
#include "kernels/quantize_1x128.h"
#include "kernels/quantize_1x32.h"
#include "kernels/quantize_cast_sums.h"
#include "kernels/quantize_tensorwise.h"
#include "kernels/quantize_transpose.h"
#include "kernels/update.h"

namespace samebits::kernels {
namespace {

// The message of the std::invalid_argument that the call must throw.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was refused";
}

// An address that nobody may follow.
template <class T>
T* at(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

TEST(CudaErrors, NameTheFileTheLineTheCallAndTheReason) {
  check_cuda(cudaSuccess, "f()", "kernels/f.cc", 1);
  try {
    check_cuda(cudaErrorInvalidValue, "f(x)", "kernels/f.cc", 12);
    FAIL() << "nothing was thrown";
  } catch (const CudaError& error) {
    EXPECT_STREQ(error.what(), "kernels/f.cc:12: f(x): invalid argument (cudaErrorInvalidValue)");
    EXPECT_EQ(error.code(), cudaErrorInvalidValue);
  }
}

TEST(CudaErrors, OutOfMemorySaysHowMuchIsWantedAndFree) {
  EXPECT_STREQ(OutOfMemory(5000, 300).what(),
               "out of device memory: 5000 bytes are wanted, 300 are free");
}

TEST(CudaErrors, GuardDamageNamesTheSideAndTheDistance) {
  EXPECT_EQ(describe({GuardDamage::Side::kBefore, 3, 0x0f}),
            "the guard byte 3 bytes before the start of a buffer was overwritten with 0x0f");
  EXPECT_EQ(describe({GuardDamage::Side::kAfter, 0, 0x7e}),
            "the guard byte 0 bytes after the end of a buffer was overwritten with 0x7e");
}

TEST(CudaErrors, AskingForAGpuNeverThrows) {
  const auto reason = why_unusable();
  EXPECT_TRUE(!reason || !reason->empty());
}

TEST(OwningTypes, OnlyMoveAndNeverThrowWhenTheyDo) {
  const auto only_moves = [](auto type) {
    using T = typename decltype(type)::type;
    return !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> &&
           std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>;
  };
  EXPECT_TRUE(only_moves(std::type_identity<Buffer>{}));
  EXPECT_TRUE(only_moves(std::type_identity<Stream>{}));
  EXPECT_TRUE(only_moves(std::type_identity<Event>{}));
}

TEST(Refused, AFormatThatCannotBeQuantisedFromOrTo) {
  const MatrixView codes{at<void>(256), Format::kE4M3, 4, 4};
  const MatrixView x{at<void>(256), Format::kBF16, 4, 4};
  const Quantized<float> out{at<std::uint8_t>(256), at<float>(256)};
  const Quantized<std::uint8_t> mx_out{at<std::uint8_t>(256), at<std::uint8_t>(256)};
  EXPECT_EQ(refusal([&] { quantize_1x128(codes, Format::kE4M3, {}, out, {}, nullptr); }),
            "quantize_1x128: the source is E4M3; FP32, BF16 or FP16 is wanted");
  EXPECT_EQ(refusal([&] { quantize_128x128(x, Format::kBF16, {}, out, {}, nullptr); }),
            "quantize_128x128: the target is BF16; E4M3 or E5M2 is wanted");
  EXPECT_EQ(refusal([&] { quantize_1x32(x, Format::kE8M0, mx_out, {}, nullptr); }),
            "quantize_1x32: the target is E8M0; E4M3 or E5M2 is wanted");
  EXPECT_EQ(refusal([&] { cast_sums(Format::kFP32, at<std::uint64_t>(256), nullptr); }),
            "cast_sums: the target is FP32; E4M3 or E5M2 is wanted");
  EXPECT_EQ(refusal([&] { amax(at<void>(256), Format::kE8M0, 4, at<float>(256), nullptr); }),
            "amax: the source is E8M0; FP32, BF16 or FP16 is wanted");
}

TEST(Refused, AShapeThatIsNone) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max() / 2;
  const Quantized<float> out{at<std::uint8_t>(256), at<float>(256)};
  const auto quantize = [&](std::int64_t rows, std::int64_t cols) {
    const MatrixView x{at<void>(256), Format::kBF16, rows, cols};
    return refusal([&] { quantize_128x128(x, Format::kE4M3, {}, out, {}, nullptr); });
  };
  EXPECT_EQ(quantize(-1, 4), "quantize_128x128: the shape [-1, 4] has a negative size");
  EXPECT_EQ(quantize(kHuge, 2), "quantize_128x128: the shape [" + std::to_string(kHuge) +
                                    ", 2] has more bytes than can be counted");
  EXPECT_EQ(
      refusal([] { compare(at<void>(256), at<void>(256), -1, 4, at<Comparison>(256), nullptr); }),
      "compare: the shape [1, -1] has a negative size");
}

TEST(Refused, APointerThatIsNullOrSplitsAnElement) {
  const auto source_at = [](std::uintptr_t address, Format format) {
    return MatrixView{at<void>(address), format, 4, 4};
  };
  const Quantized<float> out{at<std::uint8_t>(256), at<float>(256)};
  const auto quantize = [](const MatrixView& x, const Quantized<float>& rowwise) {
    return refusal([&] { quantize_1x128(x, Format::kE4M3, {}, rowwise, {}, nullptr); });
  };
  EXPECT_EQ(quantize(source_at(0, Format::kBF16), out), "quantize_1x128: source: null pointer");
  EXPECT_EQ(quantize(source_at(257, Format::kBF16), out),
            "quantize_1x128: source: misaligned, the address is not a multiple of 2 bytes");
  EXPECT_EQ(quantize(source_at(258, Format::kFP32), out),
            "quantize_1x128: source: misaligned, the address is not a multiple of 4 bytes");
  EXPECT_EQ(quantize(source_at(256, Format::kBF16), {}), "quantize_1x128: codes: null pointer");
  EXPECT_EQ(quantize(source_at(256, Format::kBF16), {at<std::uint8_t>(256), at<float>(254)}),
            "quantize_1x128: scale_inv: misaligned, the address is not a multiple of 4 bytes");
  EXPECT_EQ(refusal([&] {
              cast_tensorwise(source_at(256, Format::kBF16), nullptr, nullptr, {}, nullptr);
            }),
            "cast_tensorwise: scale: null pointer");
  EXPECT_EQ(refusal([] {
              update(at<void>(256), Format::kBF16, at<float>(258), 4, 1, at<std::uint16_t>(256),
                     nullptr);
            }),
            "update: gradient: misaligned, the address is not a multiple of 4 bytes");
  EXPECT_EQ(refusal([] { transpose_codes(nullptr, 4, 4, at<std::uint8_t>(256), nullptr); }),
            "transpose_codes: codes: null pointer");
}

TEST(Refused, AnElementSizeThatIsNone) {
  EXPECT_EQ(
      refusal([] { compare(at<void>(256), at<void>(256), 4, 3, at<Comparison>(256), nullptr); }),
      "compare: elements of 3 bytes; 1, 2, 4 or 8 are wanted");
}

TEST(ScaleLayouts, ArePaddedAsTheGemmLibraryWantsThem) {
  EXPECT_EQ(scale_count_1x128(129, 129), 2 * 132);
  EXPECT_EQ(scale_count_128x128(129, 129), 2 * 4);
  EXPECT_EQ(scale_count_128x128(512, 6144), 4 * 48);
  EXPECT_EQ(scale_count_1x32(3, 33), 3 * 2);
  EXPECT_EQ(scale_count_1x128(0, 128), 0);
}

}  // namespace
}  // namespace samebits::kernels
