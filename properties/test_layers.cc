#include "properties/test_layers.h"

#include <random>
#include <stdexcept>
#include <utility>

#include "harness/core/engine.h"
#include "harness/reference_backend.h"
#include "reference/formats.h"

namespace samebits {
namespace {

namespace ref = samebits::reference;

template <class Format>
std::vector<std::uint16_t> rounded(const std::vector<float>& values) {
  std::vector<std::uint16_t> bits;
  for (const float value : values) {
    bits.push_back(
        Format::round(value, ref::Rounding::kNearestEven, ref::Overflow::kSaturate).bits());
  }
  return bits;
}

}  // namespace

HostTensor test_matrix(DType dtype, std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                       double spread) {
  std::mt19937_64 bits(seed);  // the standard fixes its numbers, not those of its distributions
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    const double unit = static_cast<double>(bits() >> 11) * 0x1p-52 - 1;  // [-1, 1)
    values.push_back(static_cast<float>(unit * spread));
  }
  switch (dtype) {
    case DType::kF32:
      return HostTensor::of<float>(dtype, {rows, cols}, values);
    case DType::kBF16:
      return HostTensor::of<std::uint16_t>(dtype, {rows, cols}, rounded<ref::BF16>(values));
    case DType::kF16:
      return HostTensor::of<std::uint16_t>(dtype, {rows, cols}, rounded<ref::FP16>(values));
    default:
      throw std::invalid_argument("test_matrix: F32, BF16 or F16 is wanted");
  }
}

CheckedLayer test_layer(const std::string& name, DType dtype, std::int64_t out, std::int64_t in,
                        std::int64_t tokens, std::uint64_t seed) {
  CheckedLayer checked;
  checked.layer.name = name;
  checked.layer.weight = test_matrix(dtype, out, in, seed + 1);
  checked.inputs.seed = seed;
  checked.inputs.layer = name;
  checked.inputs.tokens = tokens;
  checked.inputs.in = in;
  checked.inputs.out = out;
  return checked;
}

CheckRequest caching_check(Program program, std::vector<CheckedLayer> layers) {
  CheckRequest request;
  request.program = std::move(program);
  request.layers = std::move(layers);
  request.a = {"reference", false};
  request.b = {"reference", true};
  request.threads = 1;
  return request;
}

CheckResult check_on_reference(const CheckRequest& request) {
  return run_check(request,
                   [](const Arm&, int threads) { return make_reference_backend(threads); });
}

const HostTensor& RecordedRun::tensor(std::size_t event, const std::string& name) const {
  const std::vector<EventTensor>& tensors = events.at(event).tensors;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (tensors[t].name == name) return payload.at(event).at(t);
  }
  throw std::out_of_range("no tensor \"" + name + "\" in event " + std::to_string(event));
}

RecordedRun record_run(const Program& program, const CheckedLayer& checked, bool cached) {
  RecordedRun run;
  const auto backend = make_reference_backend(1);
  const EngineOptions options{cached, {}, 1};
  run.loss = run_layer(options, program, checked.layer, checked.inputs, *backend,
                       [&](Event&& event, std::span<const HostTensor> payload) {
                         run.events.push_back(std::move(event));
                         run.payload.emplace_back(payload.begin(), payload.end());
                       });
  return run;
}

}  // namespace samebits
