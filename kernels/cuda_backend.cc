#include "kernels/cuda_backend.h"

#include "harness/core/error.h"
#include "kernels/cuda_backend_tensor.h"
#include "kernels/device/device_info.h"
#include "kernels/device/stream.h"
#include "kernels/gemm_cublaslt.h"
#include "kernels/quantize_128x128.h"
#include "kernels/quantize_1x128.h"
#include "kernels/quantize_1x32.h"
#include "kernels/quantize_tensorwise.h"
#include "kernels/quantize_transpose.h"
#include "kernels/update.h"

namespace samebits::kernels {
namespace {

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(const Arm& arm)
      : policy_(arm.gemm), pool_(stream_), workspace_(pool_.take(kWorkspaceBytes)) {}

  std::string_view name() const override { return "cuda"; }

  Tensor upload(const HostTensor& tensor) override {
    Tensor result;
    place(result, tensor.dtype, tensor.shape);
    SAMEBITS_CUDA_CHECK(cudaMemcpyAsync(pointer(result), tensor.bytes.data(), tensor.bytes.size(),
                                        cudaMemcpyHostToDevice, stream_));
    stream_.synchronize();
    return result;
  }

  HostTensor download(const Tensor& tensor) override {
    const DeviceStorage& storage = storage_of(tensor);
    std::vector<std::byte> bytes(storage.buffer->size());
    SAMEBITS_CUDA_CHECK(cudaMemcpyAsync(bytes.data(), storage.buffer->data(), bytes.size(),
                                        cudaMemcpyDeviceToHost, stream_));
    if (const auto damage = storage.buffer->verify_guards(stream_)) {
      throw Error("a kernel wrote beside a tensor of shape " + shape_text(tensor.shape) + ": " +
                  describe(*damage));
    }
    return HostTensor::own(tensor.dtype, tensor.shape,
                           logical_scales(storage.layout, tensor.shape, std::move(bytes)));
  }

  Tensor zeros(DType dtype, const Shape& shape) override {
    Tensor result;
    place(result, dtype, shape);
    storage_of(result).buffer->fill(0, stream_);
    return result;
  }

  void quantize(const Tensor& source, const QuantizeSpec& spec, QuantizedTensor& out) override {
    const std::int64_t rows = source.shape.at(0), cols = source.shape.at(1);
    if (spec.rowwise) place(out.rowwise, spec.parameters, rows, cols);
    if (spec.columnwise) place(out.columnwise, spec.parameters, cols, rows);
    const QuantizedOperand none;
    const QuantizedOperand& row = spec.rowwise ? out.rowwise : none;
    const QuantizedOperand& column = spec.columnwise ? out.columnwise : none;
    const Format target = format_of(spec.parameters.format);
    const ScaleOptions options{spec.parameters.power_of_two, 0};
    const auto both = [&]<class Scale>(const QuantizedOperand& o, Scale*) {
      return Quantized<Scale>{pointer(o.codes), pointer<Scale>(o.scale_inv)};
    };
    constexpr float* kFloat = nullptr;
    constexpr std::uint8_t* kByte = nullptr;
    switch (spec.parameters.mode) {
      case samebits::ScaleMode::kTensor:
        return quantize_tensor(source, spec, out);
      case samebits::ScaleMode::k1x128:
        return quantize_1x128(view(source), target, options, both(row, kFloat),
                              both(column, kFloat), stream_);
      case samebits::ScaleMode::k128x128:
        return quantize_128x128(view(source), target, options, both(row, kFloat),
                                both(column, kFloat), stream_);
      case samebits::ScaleMode::k1x32:
        return quantize_1x32(view(source), target, both(row, kByte), both(column, kByte), stream_);
      case samebits::ScaleMode::kRow:
        throw Error("no recipe quantises with rowwise scales");
    }
  }

  QuantizedOperand transpose(const QuantizedOperand& operand) override {
    if (operand.mode != samebits::ScaleMode::kTensor &&
        operand.mode != samebits::ScaleMode::k128x128) {
      throw Error(std::string(scale_mode_name(operand.mode)) + " scales cannot be transposed");
    }
    const std::int64_t rows = operand.codes.shape.at(0), cols = operand.codes.shape.at(1);
    QuantizeParameters parameters;
    parameters.format = operand.codes.dtype;
    parameters.mode = operand.mode;
    QuantizedOperand result;
    place(result, parameters, cols, rows);
    transpose_codes(pointer(operand.codes), rows, cols, pointer(result.codes), stream_);
    if (operand.mode == samebits::ScaleMode::kTensor) {
      result.scale_inv = operand.scale_inv;
    } else {
      transpose_scales_128x128(pointer<float>(operand.scale_inv), rows, cols,
                               pointer<float>(result.scale_inv), stream_);
    }
    return result;
  }

  bool multiplies(samebits::ScaleMode a, samebits::ScaleMode b) const override {
    return a != samebits::ScaleMode::k1x32 && b != samebits::ScaleMode::k1x32;
  }

  GemmRecord gemm(const GemmSpec& spec, const QuantizedOperand& a, const QuantizedOperand& b,
                  const Tensor& bias, Tensor& d) override {
    GemmProblem problem;
    problem.m = a.codes.shape.at(0);
    problem.n = b.codes.shape.at(0);
    problem.k = a.codes.shape.at(1);
    problem.a = format_of(a.codes.dtype);
    problem.b = format_of(b.codes.dtype);
    problem.output = format_of(spec.output);
    problem.scale_a = mode_of(a.mode);
    problem.scale_b = mode_of(b.mode);
    problem.fast_accumulation = spec.fast_accumulation;
    problem.alpha = spec.alpha;
    problem.beta = spec.beta;
    problem.in_place = spec.beta != 0;
    if (bias) problem.bias = format_of(bias.dtype);
    if (!d) place(d, spec.output, {problem.n, problem.m});

    GemmOperands operands;
    operands.a = pointer(a.codes);
    operands.b = pointer(b.codes);
    operands.scale_a = pointer<float>(a.scale_inv);
    operands.scale_b = pointer<float>(b.scale_inv);
    operands.bias = pointer(bias);
    operands.d = pointer(d);
    GemmPlan plan(lt_, problem, operands, policy(spec));
    plan.run(operands, {workspace_->data(), workspace_->size()}, stream_);
    return record(problem, plan.record());
  }

  float amax(const Tensor& tensor) override {
    const Pool::Handle cell = pool_.take(sizeof(float));
    kernels::amax(pointer(tensor), format_of(tensor.dtype), element_count(tensor.shape),
                  cell->as<float>(), stream_);
    return read(*cell);
  }

  Tensor update(const Tensor& weight, const Tensor& main_grad, float learning_rate) override {
    Tensor result;
    place(result, DType::kBF16, weight.shape);
    kernels::update(pointer(weight), format_of(weight.dtype), pointer<float>(main_grad),
                    element_count(weight.shape), learning_rate, pointer<std::uint16_t>(result),
                    stream_);
    return result;
  }

 private:
  // Gives the tensor a buffer of this many bytes, or leaves it the one that it has.
  void place(Tensor& tensor, DType dtype, Shape shape, ScaleLayout layout, std::size_t bytes) {
    if (!tensor || storage_of(tensor).buffer->size() != bytes) {
      auto storage = std::make_shared<DeviceStorage>();
      storage->buffer = pool_.take(bytes);
      tensor.storage = std::move(storage);
    }
    storage_of(tensor).layout = layout;
    tensor.dtype = dtype;
    tensor.shape = std::move(shape);
  }
  void place(Tensor& tensor, DType dtype, const Shape& shape) {
    place(tensor, dtype, shape, ScaleLayout::kPlain, bytes_of(dtype, element_count(shape)));
  }
  // An operand [rows, k] and its scales.
  void place(QuantizedOperand& operand, const QuantizeParameters& parameters, std::int64_t rows,
             std::int64_t k) {
    operand.mode = parameters.mode;
    place(operand.codes, parameters.format, {rows, k});
    const ScaleBlock block = scale_block(parameters.mode, {rows, k});
    const Shape scales{ceil_div(rows, block.rows), ceil_div(k, block.cols)};
    const ScaleLayout layout = layout_of(mode_of(parameters.mode));
    const DType dtype =
        parameters.mode == samebits::ScaleMode::k1x32 ? DType::kF8E8M0 : DType::kF32;
    place(operand.scale_inv, dtype, scales, layout, bytes_of(dtype, padded_count(layout, scales)));
  }

  // One scale a tensor: from its amax now, or given (delayed scaling, which wants the amax back).
  void quantize_tensor(const Tensor& source, const QuantizeSpec& spec, QuantizedTensor& out) {
    const Pool::Handle amax_cell = pool_.take(sizeof(float));
    const Pool::Handle scale_cell = pool_.take(sizeof(float));
    TensorwiseCodes codes;
    codes.format = format_of(spec.parameters.format);
    if (spec.rowwise) codes.rowwise = pointer(out.rowwise.codes);
    if (spec.columnwise) codes.columnwise = pointer(out.columnwise.codes);
    // Both directions have one scale.
    if (spec.rowwise && spec.columnwise) out.columnwise.scale_inv = out.rowwise.scale_inv;
    codes.scale_inv =
        pointer<float>(spec.rowwise ? out.rowwise.scale_inv : out.columnwise.scale_inv);
    if (!spec.scale) {
      quantize_tensorwise(view(source), {spec.parameters.power_of_two, 0}, amax_cell->as<float>(),
                          scale_cell->as<float>(), codes, stream_);
      return;
    }
    SAMEBITS_CUDA_CHECK(cudaMemcpyAsync(scale_cell->data(), &*spec.scale, sizeof(float),
                                        cudaMemcpyHostToDevice, stream_));
    cast_tensorwise(view(source), scale_cell->as<float>(), amax_cell->as<float>(), codes, stream_);
    out.amax = read(*amax_cell);
  }

  float read(const Buffer& cell) {
    float value = 0;
    SAMEBITS_CUDA_CHECK(
        cudaMemcpyAsync(&value, cell.data(), sizeof value, cudaMemcpyDeviceToHost, stream_));
    stream_.synchronize();
    return value;
  }

  static std::string library() { return "cuBLASLt " + std::to_string(cublaslt_version()); }

  kernels::GemmPolicy policy(const GemmSpec& spec) const {
    if (spec.follow && spec.follow->by == library()) {
      return parse_algorithm(spec.follow->algorithm);
    }
    if (policy_ == samebits::GemmPolicy::kFollow) {
      throw Error("a " + std::string(operation_name(spec.operation)) + " GEMM has no record by " +
                  library() + " to follow");
    }
    if (policy_ == samebits::GemmPolicy::kNoSplit) return NoSplit{};
    return Heuristic{};
  }

  GemmRecord record(const GemmProblem& problem, const AlgorithmRecord& algorithm) const {
    GemmRecord record;
    record.by = library();
    record.chip = chip_;
    record.algorithm = to_text(algorithm);
    record.split_k = static_cast<int>(algorithm.split_k);
    record.dropped_terms = dropped_terms(problem.k, algorithm, has_128x128_scales(problem));
    return record;
  }

  samebits::GemmPolicy policy_;
  std::string chip_ = device_info().compute_capability;
  Stream stream_;
  Pool pool_;  // in the order of stream_
  Pool::Handle workspace_;
  CublasLt lt_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(const Arm& arm) {
  if (const auto reason = why_unusable()) throw Error("backend cuda: " + *reason);
  return std::make_unique<CudaBackend>(arm);
}

std::vector<std::pair<std::string, std::string>> cuda_environment() {
  if (why_unusable()) return {};
  const DeviceInfo info = device_info();
  return {{"gpu", info.name},
          {"compute capability", info.compute_capability},
          {"driver", info.driver},
          {"cuda runtime", info.runtime},
          {"cublaslt", std::to_string(cublaslt_version())}};
}

}  // namespace samebits::kernels
