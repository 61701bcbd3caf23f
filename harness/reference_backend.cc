#include "harness/reference_backend.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "harness/core/arm.h"
#include "harness/core/error.h"
#include "harness/core/values.h"
#include "reference/fast/gemm.h"
#include "reference/mutants.h"

namespace samebits {
namespace {

namespace ref = samebits::reference;

// Bytes that may be written in place, so that every handle sees them, as on a device.
struct HostStorage : Storage {
  std::vector<std::byte> bytes;
};

const std::vector<std::byte>& bytes_of(const Tensor& tensor) {
  return static_cast<const HostStorage&>(*tensor.storage).bytes;
}

// Writes into the tensor's storage where it has one of this size, else makes one.
void store(Tensor& tensor, DType dtype, Shape shape, std::vector<std::byte> bytes) {
  auto* storage = static_cast<HostStorage*>(tensor.storage.get());
  if (!storage || storage->bytes.size() != bytes.size()) {
    tensor.storage = std::make_shared<HostStorage>();
    storage = static_cast<HostStorage*>(tensor.storage.get());
  }
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  std::copy(bytes.begin(), bytes.end(),
            (storage->bytes.resize(bytes.size()), storage->bytes.begin()));
}

template <class T>
std::vector<std::byte> to_bytes(const T* values, std::int64_t count) {
  const auto raw = std::as_bytes(std::span(values, static_cast<std::size_t>(count)));
  return {raw.begin(), raw.end()};
}

ref::Matrix widen(const Tensor& tensor) {
  const HostTensor view{tensor.dtype, tensor.shape, bytes_of(tensor), nullptr};
  ref::Matrix matrix(tensor.shape.at(0), tensor.shape.at(1));
  if (tensor.dtype == DType::kF32) {
    std::memcpy(matrix.data(), view.bytes.data(), view.bytes.size());
    return matrix;
  }
  for (std::int64_t i = 0; i < matrix.size(); ++i)
    matrix.data()[i] = static_cast<float>(value_at(view, i));
  return matrix;
}

ref::InputType input_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return ref::InputType::kFP32;
    case DType::kBF16:
      return ref::InputType::kBF16;
    case DType::kF16:
      return ref::InputType::kFP16;
    default:
      throw Error("cannot quantise " + std::string(dtype_name(dtype)) +
                  ": F32, BF16 or F16 is wanted");
  }
}

ref::Fp8 fp8(DType dtype) { return dtype == DType::kF8E5M2 ? ref::Fp8::kE5M2 : ref::Fp8::kE4M3; }

ref::Granularity granularity(ScaleMode mode) {
  switch (mode) {
    case ScaleMode::kRow:
      return ref::Granularity::kRow;
    case ScaleMode::k1x128:
      return ref::Granularity::k1x128;
    case ScaleMode::k128x128:
      return ref::Granularity::k128x128;
    case ScaleMode::k1x32:
      return ref::Granularity::k1x32;
    case ScaleMode::kTensor:
      break;
  }
  return ref::Granularity::kTensor;
}

std::vector<std::byte> scale_bytes(const ref::Quantized& q) {
  if (q.granularity != ref::Granularity::k1x32)
    return to_bytes(q.scale_inv.data(), q.scale_inv.size());
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < q.scale_inv.size(); ++i) {
    bytes.push_back(static_cast<std::byte>(ref::E8M0::round_up(q.scale_inv.data()[i]).bits()));
  }
  return bytes;
}

void store(QuantizedOperand& operand, ScaleMode mode, const ref::Quantized& q) {
  const DType format = q.format == ref::Fp8::kE5M2 ? DType::kF8E5M2 : DType::kF8E4M3;
  const DType scales = mode == ScaleMode::k1x32 ? DType::kF8E8M0 : DType::kF32;
  operand.mode = mode;
  store(operand.codes, format, {q.codes.rows(), q.codes.cols()},
        to_bytes(q.codes.data(), q.codes.size()));
  store(operand.scale_inv, scales, {q.scale_inv.rows(), q.scale_inv.cols()}, scale_bytes(q));
}

ref::Quantized load(const QuantizedOperand& operand) {
  ref::Quantized q;
  q.granularity = granularity(operand.mode);
  q.format = fp8(operand.codes.dtype);
  const auto* codes = reinterpret_cast<const std::uint8_t*>(bytes_of(operand.codes).data());
  q.codes =
      Eigen::Map<const ref::Codes>(codes, operand.codes.shape.at(0), operand.codes.shape.at(1));
  q.scale_inv = widen(operand.scale_inv);
  return q;
}

bool needs_own_quantisation(ScaleMode mode) {
  return mode == ScaleMode::k1x128 || mode == ScaleMode::k1x32 || mode == ScaleMode::kRow;
}

class ReferenceBackend : public Backend {
 public:
  explicit ReferenceBackend(int threads) : threads_(threads) {}

  std::string_view name() const override { return "reference"; }

  Tensor upload(const HostTensor& tensor) override {
    Tensor result;
    store(result, tensor.dtype, tensor.shape, {tensor.bytes.begin(), tensor.bytes.end()});
    return result;
  }

  HostTensor download(const Tensor& tensor) override {
    return HostTensor::own(tensor.dtype, tensor.shape, bytes_of(tensor));
  }

  Tensor zeros(DType dtype, const Shape& shape) override {
    Tensor result;
    const auto bytes = static_cast<std::size_t>(element_count(shape)) *
                       static_cast<std::size_t>(dtype_bits(dtype)) / 8;
    store(result, dtype, shape, std::vector<std::byte>(bytes));
    return result;
  }

  void quantize(const Tensor& source, const QuantizeSpec& spec, QuantizedTensor& out) override {
    const ref::Matrix x = widen(source);
    const ScaleMode mode = spec.parameters.mode;
    ref::QuantizeSpec rule;
    rule.granularity = granularity(mode);
    rule.rule.format = fp8(spec.parameters.format);
    rule.rule.power_of_two = spec.parameters.power_of_two;
    const ref::InputType type = input_type(source.dtype);
    if (spec.parameters.kind == RecipeKind::kBlock) rule.rule.largest = ref::largest_finite(type);
    if (spec.scale) rule.given_scale = &*spec.scale;
    rule.threads = threads_;

    out.amax = ref::amax(x);
    const ref::Quantized rowwise = ref::quantize(x, rule);
    if (spec.rowwise) store(out.rowwise, mode, rowwise);
    if (spec.columnwise) {
      store(out.columnwise, mode,
            needs_own_quantisation(mode) ? ref::quantize(x.transpose(), rule)
                                         : ref::transpose(rowwise));
    }
  }

  QuantizedOperand transpose(const QuantizedOperand& operand) override {
    if (needs_own_quantisation(operand.mode)) {
      throw Error(std::string(scale_mode_name(operand.mode)) + " scales cannot be transposed");
    }
    QuantizedOperand result;
    store(result, operand.mode, ref::transpose(load(operand)));
    return result;
  }

  bool multiplies(ScaleMode, ScaleMode) const override { return true; }

  GemmRecord gemm(const GemmSpec& spec, const QuantizedOperand& a, const QuantizedOperand& b,
                  const Tensor& bias, Tensor& d) override {
    const ref::Quantized left = load(a);
    const ref::Quantized right = load(b);
    ref::GemmSpec gemm;
    gemm.model =
        a.mode == ScaleMode::k1x32 ? ref::blackwell() : ref::hopper(spec.fast_accumulation);
    gemm.output = spec.output == DType::kF32 ? ref::OutputType::kFP32 : ref::OutputType::kBF16;
    gemm.alpha = spec.alpha;
    gemm.beta = spec.beta;
    gemm.in_place = spec.beta != 0;
    gemm.threads = threads_;
    if (spec.follow) gemm.split_k = spec.follow->split_k;
    ref::GemmInputs inputs;
    inputs.a = &left;
    inputs.b = &right;
    ref::Matrix c;
    if (spec.beta != 0) {
      c = widen(d);
      inputs.c = &c;
    }
    Eigen::VectorXf bias_values;
    if (bias) {
      bias_values = widen({bias.dtype, {1, bias.shape.at(0)}, bias.storage}).row(0).transpose();
      inputs.bias = &bias_values;
    }
    store(d, spec.output, {b.codes.shape.at(0), a.codes.shape.at(0)},
          encode(ref::fast::gemm(inputs, gemm), spec.output));

    GemmRecord record;
    record.by = kReference;
    record.split_k = gemm.split_k;
    const std::int64_t k = a.codes.shape.at(1);
    record.dropped_terms =
        mutant("dropped terms are not counted")
            ? 0
            : k - ref::summed_k(k, gemm.split_k, granularity(a.mode), granularity(b.mode));
    record.algorithm = std::string(gemm.model.name) + (gemm.model.measured ? "" : ", not measured");
    return record;
  }

  float amax(const Tensor& tensor) override { return ref::amax(widen(tensor)); }

  Tensor update(const Tensor& weight, const Tensor& main_grad, float learning_rate) override {
    const ref::Matrix w = widen(weight);
    const ref::Matrix g = widen(main_grad);
    ref::Matrix updated(w.rows(), w.cols());
    for (std::int64_t i = 0; i < w.size(); ++i) {
      const float step = learning_rate * g.data()[i];
      updated.data()[i] = w.data()[i] - step;
      if (mutant("update is fused")) {
        updated.data()[i] = std::fma(-learning_rate, g.data()[i], w.data()[i]);
      }
    }
    Tensor result;
    store(result, DType::kBF16, weight.shape, encode(updated, DType::kBF16));
    return result;
  }

 private:
  // Rounds to the storage type; NaN is canonical.
  static std::vector<std::byte> encode(const ref::Matrix& values, DType dtype) {
    if (dtype == DType::kF32) {
      std::vector<std::uint32_t> bits;
      for (const float value : values.reshaped<Eigen::RowMajor>()) {
        bits.push_back(ref::output_bits(value, ref::OutputType::kFP32));
      }
      return to_bytes(bits.data(), values.size());
    }
    std::vector<std::uint16_t> bits;
    for (const float value : values.reshaped<Eigen::RowMajor>()) {
      bits.push_back(to_bf16(value));
    }
    return to_bytes(bits.data(), values.size());
  }

  int threads_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend(int threads) {
  return std::make_unique<ReferenceBackend>(threads);
}

}  // namespace samebits
