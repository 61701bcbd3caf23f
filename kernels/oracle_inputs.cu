#include <cuda_bf16.h>

#include "kernels/device/check.h"
#include "kernels/oracle_inputs.h"
#include "kernels/quantize_arguments.h"

namespace samebits::kernels {
namespace {

constexpr int kThreads = 256;
constexpr std::uint32_t kOneIn = 512;  // outliers, and subnormals

// splitmix64 (Steele et al. 2014), its i-th draw.
__device__ std::uint64_t draw(std::uint64_t seed, std::int64_t i) {
  std::uint64_t z = seed + (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

// The sum of four numbers of 16 bits, about normal: centred, 1 is its standard deviation, 2^16 /
// sqrt(3), to a part in a thousand. An integer below 2^17 times a constant: rounded once.
__device__ float about_normal(std::uint64_t bits) {
  const auto part = [bits](int i) { return static_cast<int>(bits >> 16 * i & 0xffff); };
  const int sum = part(0) + part(1) + part(2) + part(3) - 2 * 0xffff;
  return __fmul_rn(static_cast<float>(sum), 0x1.bbp-16f);
}

__global__ void bf16_kernel(std::uint16_t* values, std::int64_t count, std::uint64_t seed) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  float value = about_normal(draw(seed, i));
  const std::uint64_t kind = draw(~seed, i);
  const auto chance = static_cast<std::uint32_t>(kind) % kOneIn;
  if (chance == 0) value *= static_cast<float>(2 << (kind >> 32) % 6);
  std::uint16_t bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
  if (chance == 1) bits = static_cast<std::uint16_t>(kind >> 40 & 0x807f);
  values[i] = bits;
}

__global__ void fp32_kernel(float* values, std::int64_t count, std::uint64_t seed) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const float fraction = static_cast<float>(draw(~seed, i) >> 40) * 0x1p-24f;
  values[i] = __fmul_rn(__fadd_rn(about_normal(draw(seed, i)), __fmul_rn(fraction, 0x1p-8f)), 256);
}

unsigned grid(const char* launcher, const void* values, std::int64_t count, std::int64_t bytes) {
  check_shape(launcher, 1, count, bytes);
  check_pointer(launcher, "output", values, bytes);
  return check_grid(launcher, ceil_div(count, kThreads));
}

}  // namespace

void fill_bf16(std::uint16_t* values, std::int64_t count, std::uint64_t seed, cudaStream_t stream) {
  if (count == 0) return;
  const unsigned blocks = grid("fill_bf16", values, count, sizeof(std::uint16_t));
  bf16_kernel<<<blocks, kThreads, 0, stream>>>(values, count, seed);
  SAMEBITS_CUDA_CHECK_LAUNCH();
}

void fill_fp32(float* values, std::int64_t count, std::uint64_t seed, cudaStream_t stream) {
  if (count == 0) return;
  const unsigned blocks = grid("fill_fp32", values, count, sizeof(float));
  fp32_kernel<<<blocks, kThreads, 0, stream>>>(values, count, seed);
  SAMEBITS_CUDA_CHECK_LAUNCH();
}

}  // namespace samebits::kernels
