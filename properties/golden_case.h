// One recorded GEMM of a golden file: its operands, its specification and the bits that came out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/checkpoint/tensor_source.h"
#include "reference/gemm.h"

namespace samebits::golden {

inline constexpr std::string_view kGemmFormat = "samebits-golden-gemm-1";  // metadata "format"

struct GoldenCase {
  std::string name;        // of the output tensor
  reference::Quantized a;  // [m, k]
  reference::Quantized b;  // [rows of D, k]
  std::optional<reference::Matrix> c;
  std::optional<Eigen::VectorXf> bias;
  std::optional<float> scale_d;
  reference::GemmSpec spec;                     // all but scale_d, see run()
  reference::MatrixOf<std::uint32_t> expected;  // bits of D [rows, m]

  // D's bits by reference::gemm or reference::fast::gemm; `model` in place of the case's own where
  // it is given.
  using Gemm = reference::Matrix (*)(const reference::GemmInputs&, const reference::GemmSpec&);
  reference::MatrixOf<std::uint32_t> run(
      Gemm gemm, int threads, const std::optional<reference::AccumulationModel>& model = {}) const;
};

// The output tensors of the file's cases, ascending.
std::vector<std::string> case_names(const checkpoint::TensorSource& source);

// Of a case whose inputs are generated from seeds only the first `generated_rows` rows of D are
// kept. Throws Error "FILE: case NAME: reason" where the description is not exactly of this format.
GoldenCase read_case(const checkpoint::TensorSource& source, const std::string& name,
                     std::int64_t generated_rows);

}  // namespace samebits::golden
