// What a backend must be able to do: single operations on tensors that it keeps. Training semantics
// (fprop, dgrad, wgrad, the cache, beta, the order of things) live once, in the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/core/recipe.h"
#include "harness/core/tensor.h"

namespace samebits {

// One direction of a quantised matrix: a GEMM operand [rows, k], K innermost, with its scales.
struct QuantizedOperand {
  Tensor codes;      // F8_E4M3 or F8_E5M2 [rows, k]
  Tensor scale_inv;  // F32, or F8_E8M0 for 1x32: one entry a scale block, partial blocks included
  ScaleMode mode = ScaleMode::kTensor;

  explicit operator bool() const { return static_cast<bool>(codes); }
};

// Both directions of a source [rows, cols]; either may be missing.
struct QuantizedTensor {
  QuantizedOperand rowwise;     // [rows, cols]
  QuantizedOperand columnwise;  // [cols, rows]
  float amax = 0;               // of the source, NaN invisible; kDelayed records it
};

struct QuantizeSpec {
  QuantizeParameters parameters;
  std::optional<float> scale;  // delayed scaling: cast with this scale
  bool rowwise = true;
  bool columnwise = false;
};

// How a result came to be. It travels with the result into the trace.
struct GemmRecord {
  std::string by;         // "reference" or the library's name and version
  std::string algorithm;  // the accumulation model, or the library's algorithm
  int split_k = 1;
  std::int64_t dropped_terms = 0;  // of each sum, by a record whose slices do not cover K
  std::string chip = {};  // compute capability, "9.0"; empty: the reference's, or not recorded

  bool operator==(const GemmRecord&) const = default;
};

struct GemmSpec {
  Operation operation = Operation::kFprop;
  bool fast_accumulation = false;
  DType output = DType::kBF16;
  float alpha = 1;
  float beta = 0;  // not 0: D = ... + beta * C with C in D's buffer
  // Of another run of the same GEMM: take its split of K, and its algorithm where it is this
  // backend's own. Null: the backend's choice.
  const GemmRecord* follow = nullptr;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;

  virtual Tensor upload(const HostTensor& tensor) = 0;
  virtual HostTensor download(const Tensor& tensor) = 0;
  virtual Tensor zeros(DType dtype, const Shape& shape) = 0;

  // Quantises `source` (F32, BF16 or F16 [rows, cols]) in the directions asked for. Buffers that
  // `out` already has are written in place, so every handle to them sees the new bytes; others are
  // made.
  virtual void quantize(const Tensor& source, const QuantizeSpec& spec, QuantizedTensor& out) = 0;
  // The other direction from the bytes of this one: exact for kTensor and k128x128, refused (Error)
  // otherwise.
  virtual QuantizedOperand transpose(const QuantizedOperand& operand) = 0;

  // Whether this backend has a GEMM for operands of these scale modes.
  virtual bool multiplies(ScaleMode a, ScaleMode b) const = 0;
  // D [n, m] from A [m, k] and B [n, k]; `bias` [m] BF16 or empty. Writes into `d` where it is
  // given, which is C too where beta is not 0.
  virtual GemmRecord gemm(const GemmSpec& spec, const QuantizedOperand& a,
                          const QuantizedOperand& b, const Tensor& bias, Tensor& d) = 0;

  // max |x|, NaN invisible.
  virtual float amax(const Tensor& tensor) = 0;
  // RN_bf16(RN(w - RN(lr * g))), every step in FP32: the weight after one step of SGD, BF16.
  virtual Tensor update(const Tensor& weight, const Tensor& main_grad, float learning_rate) = 0;
};

}  // namespace samebits
