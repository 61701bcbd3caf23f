#include "properties/device_gemm.h"

namespace samebits::properties {
namespace {

using kernels::Buffer;

std::vector<std::uint8_t> bytes_of(const reference::Codes& codes) {
  return {codes.data(), codes.data() + codes.size()};
}

std::vector<std::uint8_t> bias_bytes(const HostGemm& host) {
  if (!host.problem.bias) return {};
  return packed_values(host.bias.data(), host.bias.size(), *host.problem.bias);
}

std::vector<std::uint8_t> poison(const kernels::GemmProblem& p) {
  return std::vector<std::uint8_t>(static_cast<std::size_t>(p.m * p.n * size_of(p.output)),
                                   Buffer::kPoison);
}

}  // namespace

PlacedBytes::PlacedBytes(const std::vector<std::uint8_t>& bytes, std::int64_t offset,
                         cudaStream_t stream)
    : offset_(static_cast<std::size_t>(offset)), buffer_(offset_ + bytes.size(), stream) {
  kernels::copy_to_device(data(), bytes, stream);
}

DeviceGemm::DeviceGemm(const HostGemm& host, cudaStream_t stream)
    : stream_(stream),
      problem_(host.problem),
      a_(bytes_of(host.a.codes), host.offset_a, stream),
      b_(bytes_of(host.b.codes), host.offset_b, stream),
      scale_a_(kernels::upload(packed_scales(host.a), stream)),
      scale_b_(kernels::upload(packed_scales(host.b), stream)),
      bias_(kernels::upload(bias_bytes(host), stream)),
      scale_d_(kernels::upload(std::vector<float>{host.scale_d}, stream)),
      c_bytes_(packed_values(host.c.data(), host.c.size(), host.problem.output)),
      c_(c_bytes_, host.offset_c, stream),
      d_(poison(host.problem), host.offset_d, stream) {}

kernels::GemmOperands DeviceGemm::operands() const {
  const bool reads_c = problem_.beta != 0 && !problem_.in_place;
  return {.a = a_.data(),
          .b = b_.data(),
          .scale_a = scale_a_.as<float>(),
          .scale_b = scale_b_.as<float>(),
          .c = reads_c ? c_.data() : nullptr,
          .bias = problem_.bias ? bias_.data() : nullptr,
          .scale_d = problem_.scale_d ? scale_d_.as<float>() : nullptr,
          .d = d_.data()};
}

Bits DeviceGemm::run(kernels::GemmPlan& plan, const kernels::Workspace& workspace) {
  if (problem_.beta != 0 && problem_.in_place) {
    kernels::copy_to_device(d_.data(), c_bytes_, stream_);
  } else {
    SAMEBITS_CUDA_CHECK(cudaMemsetAsync(d_.data(), Buffer::kPoison, d_.size(), stream_));
  }
  plan.run(operands(), workspace, stream_);
  const auto bytes = kernels::copy_to_host(d_.data(), d_.size(), stream_);
  Bits bits = Bits::Zero(problem_.n, problem_.m);
  const auto width = static_cast<std::size_t>(size_of(problem_.output));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bits.data()[i / width] |= std::uint32_t{bytes[i]} << (8 * (i % width));
  }
  return bits;
}

void DeviceGemm::expect_whole_guards() const {
  for (const Buffer* buffer : {&a_.buffer(), &b_.buffer(), &scale_a_, &scale_b_, &bias_, &scale_d_,
                               &c_.buffer(), &d_.buffer()}) {
    const auto damage = buffer->verify_guards(stream_);
    EXPECT_FALSE(damage) << (damage ? describe(*damage) : "") << " by " << describe(problem_);
  }
}

}  // namespace samebits::properties
