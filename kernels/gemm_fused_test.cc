// A layer whose operands were cast and transposed in one pass against one whose operands were cast
// and then transposed: every byte of the copies, y, dx and dw, compared on the device.
#include <gtest/gtest.h>

#include <cstdio>

#include "kernels/gemm_cublaslt.h"
#include "kernels/quantize_tensorwise.h"
#include "kernels/quantize_transpose.h"
#include "properties/device_bytes.h"

namespace samebits::kernels {
namespace {

enum class Form { kFused, kPlain };

std::size_t bytes(std::int64_t rows, std::int64_t cols, Format format) {
  return static_cast<std::size_t>(rows * cols * size_of(format));
}

// A BF16 matrix [rows, cols] in FP8 with one scale, in both directions.
class Copy {
 public:
  Copy(const Buffer& source, std::int64_t rows, std::int64_t cols, Format format, Form form,
       cudaStream_t stream)
      : row(bytes(rows, cols, format), stream),
        col(bytes(rows, cols, format), stream),
        cells(2 * sizeof(float), stream),
        inverse(sizeof(float), stream) {
    auto* amax = cells.as<float>();
    TensorwiseCodes codes{format, row.data(), nullptr, inverse.as<float>()};
    if (form == Form::kFused) codes.columnwise = col.data();
    quantize_tensorwise({source.data(), Format::kBF16, rows, cols}, {}, amax, amax + 1, codes,
                        stream);
    if (form == Form::kPlain) transpose_codes(row.data(), rows, cols, col.data(), stream);
  }

  const float* scale_inv() const { return inverse.as<float>(); }

  Buffer row, col;
  Buffer cells;    // amax, scale
  Buffer inverse;  // scale_inv, aligned as the library wants it
};

struct Layer {
  std::int64_t tokens, in, out;
};

struct Sources {
  Sources(const Layer& layer, cudaStream_t stream)
      : x(properties::repeated_bf16(layer.tokens * layer.in, 1, stream)),
        w(properties::repeated_bf16(layer.out * layer.in, 2, stream)),
        dy(properties::repeated_bf16(layer.tokens * layer.out, 3, stream)) {}

  Buffer x, w, dy;
};

// One step of the layer, x and w in E4M3, dy in E5M2; dw in FP32, the rest in BF16.
class Step {
 public:
  Step(const Layer& layer, const Sources& sources, Form form, const CublasLt& lt,
       const Workspace& workspace, cudaStream_t stream)
      : x(sources.x, layer.tokens, layer.in, Format::kE4M3, form, stream),
        w(sources.w, layer.out, layer.in, Format::kE4M3, form, stream),
        dy(sources.dy, layer.tokens, layer.out, Format::kE5M2, form, stream),
        y(bytes(layer.tokens, layer.out, Format::kBF16), stream),
        dx(bytes(layer.tokens, layer.in, Format::kBF16), stream),
        dw(bytes(layer.out, layer.in, Format::kFP32), stream) {
    // What is not written differs between the forms.
    for (Buffer* d : {&y, &dx, &dw}) d->fill(form == Form::kFused ? 0x11 : 0x22, stream);
    const auto multiply = [&](GemmProblem problem, const Buffer& a, const Copy& of_a,
                              const Buffer& b, const Copy& of_b, const Buffer& d) {
      const GemmOperands operands{.a = a.data(),
                                  .b = b.data(),
                                  .scale_a = of_a.scale_inv(),
                                  .scale_b = of_b.scale_inv(),
                                  .d = d.data()};
      GemmPlan plan(lt, problem, operands);
      plan.run(operands, workspace, stream);
      records += (records.empty() ? "" : "\n") + to_text(plan.record());
    };
    const auto [tokens, in, out] = layer;
    multiply({.m = out, .n = tokens, .k = in}, w.row, w, x.row, x, y);
    multiply({.m = in, .n = tokens, .k = out, .b = Format::kE5M2}, w.col, w, dy.row, dy, dx);
    multiply({.m = in, .n = out, .k = tokens, .b = Format::kE5M2, .output = Format::kFP32}, x.col,
             x, dy.col, dy, dw);
  }

  Copy x, w, dy;
  Buffer y, dx, dw;
  std::string records;  // of y, dx and dw, a line each
};

TEST(FusedCast, GivesTheSameCopiesAndTheSameGemms) {
  SAMEBITS_NEEDS_GPU();
  constexpr std::int64_t kTokens = 131072;
  constexpr Layer kLayers[] = {
      {kTokens, 512, 512}, {kTokens, 512, 2048}, {kTokens, 2048, 512}, {kTokens, 512, 8192}};
  const CublasLt lt;
  const Stream stream;
  const Buffer memory(kWorkspaceBytes, stream);
  const Workspace workspace{memory.data(), memory.size()};
  for (const Layer& layer : kLayers) {
    const Sources sources(layer, stream);
    const Step fused(layer, sources, Form::kFused, lt, workspace, stream);
    const Step plain(layer, sources, Form::kPlain, lt, workspace, stream);
    EXPECT_EQ(fused.records, plain.records);
    std::printf("%lld -> %lld, %lld tokens:", static_cast<long long>(layer.in),
                static_cast<long long>(layer.out), static_cast<long long>(layer.tokens));
    const auto expect_equal = [&](const char* what, const Buffer& a, const Buffer& b, int size) {
      const Comparison found = properties::compared(a, b, size, stream);
      std::printf(" %s %zu of %zu bytes each,", what, a.size() / static_cast<std::size_t>(size),
                  static_cast<std::size_t>(size));
      EXPECT_EQ(found.differing, 0u) << what << ", first " << found.first << "\n" << fused.records;
    };
    for (const auto& [what, a, b] : {std::tuple("x", &fused.x, &plain.x),
                                     {"w", &fused.w, &plain.w},
                                     {"dy", &fused.dy, &plain.dy}}) {
      expect_equal(what, a->row, b->row, 1);
      expect_equal("transposed", a->col, b->col, 1);
      expect_equal("amax and scale", a->cells, b->cells, 4);
      expect_equal("scale_inv", a->inverse, b->inverse, 4);
    }
    expect_equal("y", fused.y, plain.y, 2);
    expect_equal("dx", fused.dx, plain.dx, 2);
    expect_equal("dw", fused.dw, plain.dw, 4);
    std::printf(" compared\n%s\n", fused.records.c_str());
  }
}

}  // namespace
}  // namespace samebits::kernels
