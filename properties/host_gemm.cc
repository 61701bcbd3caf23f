#include "properties/host_gemm.h"

#include "reference/fast/gemm.h"
#include "reference/formats.h"

namespace samebits::properties {

using Eigen::Index;
using kernels::Format;
using kernels::ScaleMode;
using reference::Granularity;
using reference::OutputType;

Granularity granularity(ScaleMode mode) {
  switch (mode) {
    case ScaleMode::kTensor:
      return Granularity::kTensor;
    case ScaleMode::kRow:
      return Granularity::kRow;
    case ScaleMode::k1x128:
      return Granularity::k1x128;
    case ScaleMode::k128x128:
      return Granularity::k128x128;
    case ScaleMode::k1x32:
      break;
  }
  return Granularity::k1x32;
}

OutputType output_type(Format format) {
  switch (format) {
    case Format::kBF16:
      return OutputType::kBF16;
    case Format::kFP16:
      return OutputType::kFP16;
    case Format::kE4M3:
      return OutputType::kE4M3;
    case Format::kE5M2:
      return OutputType::kE5M2;
    case Format::kFP32:
    case Format::kE8M0:
      break;
  }
  return OutputType::kFP32;
}

reference::MatrixOf<std::uint32_t> expected_bits(const HostGemm& gemm, int slices) {
  const kernels::GemmProblem& p = gemm.problem;
  const OutputType output = output_type(p.output);
  const reference::GemmSpec spec{.model = reference::hopper(p.fast_accumulation),
                                 .output = output,
                                 .alpha = p.alpha,
                                 .beta = p.beta,
                                 .in_place = p.in_place,
                                 .split_k = slices,
                                 .scale_d = p.scale_d ? &gemm.scale_d : nullptr,
                                 .threads = 0};
  const reference::GemmInputs inputs{.a = &gemm.a,
                                     .b = &gemm.b,
                                     .c = p.beta != 0 ? &gemm.c : nullptr,
                                     .bias = p.bias ? &gemm.bias : nullptr};
  return reference::fast::gemm(inputs, spec).unaryExpr([output](float value) {
    return reference::output_bits(value, output);
  });
}

std::vector<float> packed_scales(const reference::Quantized& q) {
  const auto rounded_up_to_4 = [](Index size) { return (size + 3) / 4 * 4; };
  const auto& scales = q.scale_inv;
  const bool rows_fastest = q.granularity == Granularity::k1x128;
  if (!rows_fastest && q.granularity != Granularity::k128x128) {
    return {scales.data(), scales.data() + scales.size()};
  }
  const Index outer = rows_fastest ? scales.cols() : scales.rows();
  const Index inner = rounded_up_to_4(rows_fastest ? scales.rows() : scales.cols());
  std::vector<float> packed(static_cast<std::size_t>(outer * inner), reference::kCanonicalNan);
  for (Index row = 0; row < scales.rows(); ++row) {
    for (Index col = 0; col < scales.cols(); ++col) {
      const Index at = rows_fastest ? col * inner + row : row * inner + col;
      packed[static_cast<std::size_t>(at)] = scales(row, col);
    }
  }
  return packed;
}

std::vector<std::uint8_t> packed_values(const float* values, std::int64_t count, Format format) {
  const std::int64_t bytes = size_of(format);
  std::vector<std::uint8_t> packed;
  packed.reserve(static_cast<std::size_t>(count * bytes));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = reference::output_bits(values[i], output_type(format));
    for (std::int64_t byte = 0; byte < bytes; ++byte) {
      packed.push_back(static_cast<std::uint8_t>(bits >> (8 * byte)));
    }
  }
  return packed;
}

}  // namespace samebits::properties
