#include "properties/golden_inputs.h"

#include "reference/formats.h"

namespace samebits::golden {
namespace {

using Eigen::Index;
using reference::Granularity;
using reference::Quantized;

void check_tensor(const HostTensor& tensor, const Shape& shape, const Fields& fields) {
  fields.require(tensor.shape == shape,
                 "a tensor has shape " + shape_text(tensor.shape) + ", not " + shape_text(shape));
}

DType dtype_of(reference::OutputType type) {
  using reference::OutputType;
  switch (type) {
    case OutputType::kFP32:
      break;
    case OutputType::kBF16:
      return DType::kBF16;
    case OutputType::kFP16:
      return DType::kF16;
    case OutputType::kE4M3:
      return DType::kF8E4M3;
    case OutputType::kE5M2:
      return DType::kF8E5M2;
  }
  return DType::kF32;
}

std::uint32_t bits_at(const HostTensor& tensor, Index i) {
  switch (dtype_bits(tensor.dtype)) {
    case 8:
      return tensor.at<std::uint8_t>(i);
    case 16:
      return tensor.at<std::uint16_t>(i);
    default:
      return tensor.at<std::uint32_t>(i);
  }
}

constexpr Index blocks(Index size, Index block) { return (size + block - 1) / block; }

std::uint64_t splitmix64(std::uint64_t state) {
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
  return state ^ (state >> 31);
}

std::uint8_t generated_code(std::uint8_t byte, bool narrow) {
  if ((byte & 0x7f) == 0x7f) byte = static_cast<std::uint8_t>((byte & 0x80) | 0x30);
  if (!narrow) return byte;
  const int exponent = (byte >> 3) & 0xf;
  return static_cast<std::uint8_t>((byte & 0x87) | ((4 + exponent % 6) << 3));
}

}  // namespace

reference::MatrixOf<std::uint32_t> bits(const HostTensor& tensor, reference::OutputType type,
                                        const Shape& shape, const Fields& fields) {
  check_tensor(tensor, shape, fields);
  fields.require(tensor.dtype == dtype_of(type), "the output is not of the type `out`");
  reference::MatrixOf<std::uint32_t> result(shape[0], shape[1]);
  for (Index i = 0; i < result.size(); ++i) result.data()[i] = bits_at(tensor, i);
  return result;
}

reference::Matrix values(const HostTensor& tensor, const Shape& shape, const Fields& fields) {
  check_tensor(tensor, shape, fields);
  reference::Matrix result(shape.size() == 1 ? 1 : shape[0], shape.back());
  for (Index i = 0; i < result.size(); ++i) {
    float& value = result.data()[i];
    switch (tensor.dtype) {
      case DType::kF32:
        value = tensor.at<float>(i);
        break;
      case DType::kBF16:
        value = reference::BF16::from_bits(tensor.at<std::uint16_t>(i)).value();
        break;
      case DType::kF16:
        value = reference::FP16::from_bits(tensor.at<std::uint16_t>(i)).value();
        break;
      default:
        fields.fail("a C, bias or scale tensor is not F32, BF16 or F16");
    }
  }
  return result;
}

Quantized quantized(const HostTensor& codes, const Shape& shape, const Fields& fields) {
  check_tensor(codes, shape, fields);
  Quantized result;
  if (codes.dtype == DType::kF8E5M2) {
    result.format = reference::Fp8::kE5M2;
  } else {
    fields.require(codes.dtype == DType::kF8E4M3, "an operand is not FP8");
  }
  result.codes.resize(shape[0], shape[1]);
  for (Index i = 0; i < result.codes.size(); ++i)
    result.codes.data()[i] = codes.at<std::uint8_t>(i);
  return result;
}

void set_scales(Quantized& q, Granularity granularity, const std::optional<HostTensor>& tensor,
                const Fields& fields) {
  const Index rows = q.codes.rows(), k_blocks = blocks(q.codes.cols(), 128);
  const auto grid = reference::block_grid(granularity, rows, q.codes.cols());
  q.granularity = granularity;
  q.scale_inv.setOnes(grid.rows, grid.cols);
  if (!tensor) return;

  fields.require(tensor->dtype == DType::kF32, "a scale tensor is not F32");
  const auto stored = [&](const Shape& shape) { return values(*tensor, shape, fields); };
  switch (granularity) {
    case Granularity::kTensor:
      q.scale_inv = stored({1});
      break;
    case Granularity::kRow:
      q.scale_inv = stored({rows}).transpose();
      break;
    case Granularity::k1x128:
      q.scale_inv = stored({k_blocks, 4 * blocks(rows, 4)}).leftCols(rows).transpose();
      break;
    case Granularity::k128x128:
      q.scale_inv = stored({blocks(rows, 128), 4 * blocks(k_blocks, 4)}).leftCols(k_blocks);
      break;
    case Granularity::k1x32:
      fields.fail("1x32 scales were never recorded");
  }
}

reference::Codes generated_codes(std::uint64_t seed, bool narrow, std::int64_t rows,
                                 std::int64_t cols) {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  reference::Codes codes(rows, cols);
  std::uint64_t draw = 0;
  for (Index i = 0; i < codes.size(); ++i) {
    if (i % 8 == 0) draw = splitmix64(seed += kStep);
    codes.data()[i] = generated_code(static_cast<std::uint8_t>(draw >> (8 * (i % 8))), narrow);
  }
  return codes;
}

}  // namespace samebits::golden
