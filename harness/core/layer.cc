#include "harness/core/layer.h"

#include <vector>

#include "harness/core/values.h"

namespace samebits {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every machine, without a library's
// generator.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t state) : state_(state) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

// A stream of its own for each (seed, layer, purpose, index), so that a layer's data does not
// depend on which other layers are checked.
SplitMix64 stream(const LayerInputs& inputs, std::string_view purpose, std::int64_t index) {
  std::uint64_t state = inputs.seed;
  const auto mix = [&state](std::uint64_t value) { state = SplitMix64(state ^ value).next(); };
  for (const char c : inputs.layer) mix(static_cast<unsigned char>(c));
  mix(inputs.layer.size());
  for (const char c : purpose) mix(static_cast<unsigned char>(c));
  mix(static_cast<std::uint64_t>(index));
  return SplitMix64(state);
}

// The sum of eight 16-bit uniforms, centred and scaled to variance 1: about normal and exact in
// double, where the usual transforms would depend on the C library's log and cos.
double about_normal(SplitMix64& bits) {
  std::int64_t sum = 0;
  for (int draw = 0; draw < 2; ++draw) {
    std::uint64_t word = bits.next();
    for (int part = 0; part < 4; ++part, word >>= 16)
      sum += static_cast<std::int64_t>(word & 0xffff);
  }
  constexpr double kMean = 8 * 65535.0 / 2;
  constexpr double kDeviation = 53510.0;  // 65536 * sqrt(8 / 12)
  return (static_cast<double>(sum) - kMean) / kDeviation;
}

// One channel in 64 is an outlier; which ones depends on the layer, not on the microbatch.
std::vector<double> channel_gains(const LayerInputs& inputs) {
  SplitMix64 bits = stream(inputs, "channels", 0);
  std::vector<double> gains(static_cast<std::size_t>(inputs.in), 1.0);
  for (double& gain : gains) {
    const std::uint64_t draw = bits.next();
    if (draw % 64 == 0) gain = 20.0 + static_cast<double>((draw >> 32) % 41);
  }
  return gains;
}

HostTensor made(SplitMix64 bits, std::int64_t rows, std::int64_t cols,
                const std::vector<double>& gains) {
  std::vector<std::uint16_t> values;
  values.reserve(static_cast<std::size_t>(rows * cols));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      const double gain = gains.empty() ? 1.0 : gains[static_cast<std::size_t>(col)];
      values.push_back(to_bf16(about_normal(bits) * gain));
    }
  }
  return HostTensor::of<std::uint16_t>(DType::kBF16, {rows, cols}, values);
}

HostTensor slice(const HostTensor& captured, std::int64_t index) {
  const std::int64_t slices = captured.shape.at(0);
  const auto size = captured.bytes.size() / static_cast<std::size_t>(slices);
  HostTensor part = captured;
  part.shape.erase(part.shape.begin());
  part.bytes = captured.bytes.subspan(static_cast<std::size_t>(index % slices) * size, size);
  return part;
}

}  // namespace

HostTensor LayerInputs::activation(std::int64_t index) const {
  return x ? slice(*x, index) : made(stream(*this, "x", index), tokens, in, channel_gains(*this));
}

HostTensor LayerInputs::evaluation(std::int64_t index) const {
  if (evaluations) return slice(*evaluations, index);
  return made(stream(*this, "evaluation", index), tokens, in, channel_gains(*this));
}

std::optional<HostTensor> LayerInputs::gradient(std::int64_t index) const {
  if (!dy) return std::nullopt;
  return slice(*dy, index);
}

HostTensor LayerInputs::target(std::int64_t index) const {
  if (targets) return slice(*targets, index);
  return made(stream(*this, "target", index), tokens, out, {});
}

}  // namespace samebits
