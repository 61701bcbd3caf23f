#include "properties/meddling_backend.h"

#include <algorithm>
#include <utility>

#include "harness/reference_backend.h"

namespace samebits {
namespace {

class MeddlingBackend : public Backend {
 public:
  MeddlingBackend(int threads, const Meddling& meddling)
      : meddling_(meddling), reference_(make_reference_backend(threads)) {}

  std::string_view name() const override { return reference_->name(); }
  Tensor upload(const HostTensor& tensor) override {
    const bool flips = meddling_.flip_uploaded == tensor.dtype;
    return reference_->upload(flips ? flipped(tensor) : tensor);
  }
  HostTensor download(const Tensor& tensor) override { return reference_->download(tensor); }
  Tensor zeros(DType dtype, const Shape& shape) override { return reference_->zeros(dtype, shape); }
  void quantize(const Tensor& source, const QuantizeSpec& spec, QuantizedTensor& out) override {
    reference_->quantize(source, spec, out);
  }
  QuantizedOperand transpose(const QuantizedOperand& operand) override {
    return reference_->transpose(operand);
  }
  bool multiplies(ScaleMode a, ScaleMode b) const override { return reference_->multiplies(a, b); }
  GemmRecord gemm(const GemmSpec& spec, const QuantizedOperand& a, const QuantizedOperand& b,
                  const Tensor& bias, Tensor& d) override {
    GemmRecord record = reference_->gemm(spec, a, b, bias, d);
    record.dropped_terms = meddling_.dropped_terms;
    if (!meddling_.by.empty()) record.by = meddling_.by;
    record.chip = meddling_.chip;
    if (meddling_.flip == spec.operation && !std::exchange(has_flipped_, true)) {
      d = reference_->upload(flipped(reference_->download(d), meddling_.flip_byte));
    }
    if (meddling_.negative_zeros) d = reference_->upload(with_negative_zeros(d));
    return record;
  }
  float amax(const Tensor& tensor) override { return reference_->amax(tensor); }
  Tensor update(const Tensor& weight, const Tensor& main_grad, float learning_rate) override {
    return reference_->update(weight, main_grad, learning_rate);
  }

 private:
  static HostTensor flipped(const HostTensor& tensor, std::size_t byte = 0) {
    std::vector<std::byte> bytes(tensor.bytes.begin(), tensor.bytes.end());
    bytes.at(byte) ^= std::byte{1};
    return HostTensor::own(tensor.dtype, tensor.shape, std::move(bytes));
  }
  HostTensor with_negative_zeros(const Tensor& tensor) {
    const HostTensor host = reference_->download(tensor);
    std::vector<std::byte> bytes(host.bytes.begin(), host.bytes.end());
    const auto width = static_cast<std::ptrdiff_t>(dtype_bits(host.dtype) / 8);
    for (auto element = bytes.begin(); element != bytes.end(); element += width) {
      const bool zero = std::all_of(element, element + width,
                                    [](const std::byte byte) { return byte == std::byte{0}; });
      if (zero) *(element + width - 1) = std::byte{0x80};
    }
    return HostTensor::own(host.dtype, host.shape, std::move(bytes));
  }

  Meddling meddling_;
  std::unique_ptr<Backend> reference_;
  bool has_flipped_ = false;
};

}  // namespace

std::unique_ptr<Backend> meddling_backend(int threads, const Meddling& meddling) {
  return std::make_unique<MeddlingBackend>(threads, meddling);
}

}  // namespace samebits
