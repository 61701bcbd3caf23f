// Sixteen neighbouring elements of a row, in the registers of one thread: how they are read, what
// their largest magnitude is, how they are cast and written. All kernels are made of this.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace samebits::kernels {

constexpr int kChunk = 16;  // elements; their codes are one 16-byte access
constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffff;

// Source types. Registers hold their bits, kPerWord elements in a 32-bit word.
//   max_magnitude  of each element of the word, max(most, |element|); NaN is invisible, as in PTX
//                  ISA "max": if one input is NaN the result is the other. Subnormals count.
//   widen          the i-th element of a word; exact
//   kLargest       the largest finite value
struct Fp32 {
  using Element = std::uint32_t;
  static constexpr int kPerWord = 1;
  static constexpr float kLargest = 0x1.fffffep127f;
  static __device__ std::uint32_t max_magnitude(std::uint32_t most, std::uint32_t word) {
    return __float_as_uint(fmaxf(__uint_as_float(most), fabsf(__uint_as_float(word))));
  }
  static __device__ float widen(std::uint32_t word, int) { return __uint_as_float(word); }
};

struct Bf16 {
  using Element = std::uint16_t;
  static constexpr int kPerWord = 2;
  static constexpr float kLargest = 0x1.fep127f;
  static __device__ std::uint32_t max_magnitude(std::uint32_t most, std::uint32_t word) {
    std::uint32_t result;
    asm("max.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(most), "r"(word & 0x7fff7fff));
    return result;
  }
  static __device__ float widen(std::uint32_t word, int i) {
    return __uint_as_float(i == 0 ? word << 16 : word & 0xffff0000);
  }
};

struct Fp16 {
  using Element = std::uint16_t;
  static constexpr int kPerWord = 2;
  static constexpr float kLargest = 65504;
  static __device__ std::uint32_t max_magnitude(std::uint32_t most, std::uint32_t word) {
    std::uint32_t result;
    asm("max.f16x2 %0, %1, %2;" : "=r"(result) : "r"(most), "r"(word & 0x7fff7fff));
    return result;
  }
  static __device__ float widen(std::uint32_t word, int i) {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(word >> 16 * i)));
  }
};

// Target types. kMxReciprocal is RN(1 / kMax).
struct E4m3 {
  static constexpr __nv_fp8_interpretation_t kFormat = __NV_E4M3;
  static constexpr float kMax = 448;
  static constexpr std::uint32_t kMxReciprocal = 0x3b124925;
};
struct E5m2 {
  static constexpr __nv_fp8_interpretation_t kFormat = __NV_E5M2;
  static constexpr float kMax = 57344;
  static constexpr std::uint32_t kMxReciprocal = 0x37924925;
};

template <class Element>
struct Chunk {
  static constexpr int kWords = kChunk * sizeof(Element) / 4;
  std::uint32_t words[kWords];
};

// The first `valid` elements at `p`, zeros beyond them; `valid` may be negative or more than 16.
// kVector: `p` is a multiple of 16 bytes, and there are at least 16 or none.
template <bool kVector, class Element>
__device__ Chunk<Element> load_chunk(const Element* p, std::int64_t valid) {
  Chunk<Element> chunk{};
  if constexpr (kVector) {
    const auto* vectors = reinterpret_cast<const uint4*>(p);
#pragma unroll
    for (int i = 0; i < Chunk<Element>::kWords / 4; ++i) {
      const uint4 v = valid > 0 ? vectors[i] : uint4{0, 0, 0, 0};
      chunk.words[4 * i] = v.x;
      chunk.words[4 * i + 1] = v.y;
      chunk.words[4 * i + 2] = v.z;
      chunk.words[4 * i + 3] = v.w;
    }
  } else {
    constexpr int kPerWord = 4 / sizeof(Element);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      const std::uint32_t bits = i < valid ? p[i] : 0;
      chunk.words[i / kPerWord] |= bits << 32 / kPerWord * (i % kPerWord);
    }
  }
  return chunk;
}

// The largest magnitude at each place of a word, continued from `most`.
template <class Source>
__device__ std::uint32_t max_magnitude(const Chunk<typename Source::Element>& chunk,
                                       std::uint32_t most = 0) {
#pragma unroll
  for (const std::uint32_t word : chunk.words) most = Source::max_magnitude(most, word);
  return most;
}

// Over the places of a word. Never NaN.
template <class Source>
__device__ float amax_of(std::uint32_t most) {
  return fmaxf(Source::widen(most, 0), Source::widen(most, Source::kPerWord - 1));
}

// The saturating cast of RN(x * scale), nearest even: the hardware's instruction gives 0x7f for
// every NaN and keeps the sign of zero. The first argument becomes the lowest byte.
template <class Target>
__device__ std::uint32_t cast_4(float x0, float x1, float x2, float x3, float scale) {
  const float2 low{__fmul_rn(x0, scale), __fmul_rn(x1, scale)};
  const float2 high{__fmul_rn(x2, scale), __fmul_rn(x3, scale)};
  const std::uint32_t bytes_01 = __nv_cvt_float2_to_fp8x2(low, __NV_SATFINITE, Target::kFormat);
  const std::uint32_t bytes_23 = __nv_cvt_float2_to_fp8x2(high, __NV_SATFINITE, Target::kFormat);
  return bytes_01 | bytes_23 << 16;
}

template <class Source, class Target>
__device__ uint4 cast_chunk(const Chunk<typename Source::Element>& chunk, float scale) {
  std::uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const auto x = [&](int k) {
      return Source::widen(chunk.words[(4 * i + k) / Source::kPerWord], k % Source::kPerWord);
    };
    words[i] = cast_4<Target>(x(0), x(1), x(2), x(3), scale);
  }
  return {words[0], words[1], words[2], words[3]};
}

// Writes the first `valid` of 16 bytes, as load_chunk reads.
template <bool kVector>
__device__ void store_codes(std::uint8_t* p, const uint4& codes, std::int64_t valid) {
  if constexpr (kVector) {
    if (valid > 0) *reinterpret_cast<uint4*>(p) = codes;
  } else {
    const std::uint32_t words[] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      if (i < valid) p[i] = static_cast<std::uint8_t>(words[i / 4] >> 8 * (i % 4));
    }
  }
}

// The largest of `magnitude` (not negative, not NaN) over the thread block, for every thread. Such
// floats ascend with their bits. `shared` holds one word a warp.
__device__ inline float block_max(float magnitude, std::uint32_t* shared) {
  const std::uint32_t of_warp = __reduce_max_sync(kAllLanes, __float_as_uint(magnitude));
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = of_warp;
  __syncthreads();
  return __uint_as_float(__reduce_max_sync(kAllLanes, shared[threadIdx.x % (kThreads / kWarp)]));
}

}  // namespace samebits::kernels
