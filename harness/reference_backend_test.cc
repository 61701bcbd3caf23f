// The bridge between the harness's tensors and the reference: dtypes, shapes, buffers and refusals.
#include "harness/reference_backend.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/core/error.h"
#include "harness/core/values.h"
#include "harness/evidence/digest.h"
#include "properties/test_layers.h"

namespace samebits {
namespace {

struct ReferenceBackend : testing::Test {
  std::unique_ptr<Backend> backend = make_reference_backend(1);

  QuantizedTensor quantised(const HostTensor& source, const QuantizeParameters& parameters,
                            std::optional<float> scale = {}) {
    QuantizedTensor result;
    backend->quantize(backend->upload(source), {parameters, scale, true, true}, result);
    return result;
  }
  // [16, 16], with a power of two for a scale, so that every sum is exact.
  QuantizedTensor quantised_ones() {
    QuantizeParameters parameters = Recipe::defaults(RecipeKind::kCurrent).quantize(Role::kWeight);
    parameters.power_of_two = true;
    return quantised(HostTensor::of<float>(DType::kF32, {16, 16}, std::vector<float>(256, 1)),
                     parameters);
  }
  std::string bits(const Tensor& tensor) {
    return evidence::hex(evidence::tensor_digest(backend->download(tensor)));
  }
};

QuantizeParameters weight(RecipeKind kind) {
  return Recipe::defaults(kind).quantize(Role::kWeight);
}
QuantizeParameters activation(RecipeKind kind) {
  return Recipe::defaults(kind).quantize(Role::kActivation);
}
HostTensor row(const std::vector<float>& values) {
  return HostTensor::of<float>(DType::kF32, {1, std::ssize(values)}, values);
}

TEST_F(ReferenceBackend, GivesBackWhatWasUploaded) {
  const HostTensor tensor = test_matrix(DType::kBF16, 3, 5, 1);
  EXPECT_EQ(evidence::tensor_digest(backend->download(backend->upload(tensor))),
            evidence::tensor_digest(tensor));
}

TEST_F(ReferenceBackend, MakesZerosOfEachDtype) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF8E4M3}) {
    const HostTensor zeros = backend->download(backend->zeros(dtype, {2, 3}));
    EXPECT_EQ(zeros.dtype, dtype);
    EXPECT_EQ(zeros.bytes.size(), 6U * static_cast<std::size_t>(dtype_bits(dtype)) / 8);
    for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(bits_at(zeros, i), 0U);
  }
}

TEST_F(ReferenceBackend, QuantisesIntoTheShapesOfEachGranularity) {
  const HostTensor source = test_matrix(DType::kBF16, 144, 272, 1);
  const auto shapes = [&](const QuantizeParameters& parameters) {
    const QuantizedTensor q = quantised(source, parameters);
    EXPECT_EQ(q.rowwise.codes.shape, (Shape{144, 272}));
    EXPECT_EQ(q.columnwise.codes.shape, (Shape{272, 144}));
    EXPECT_EQ(q.rowwise.mode, parameters.mode);
    return std::pair(q.rowwise.scale_inv.shape, q.columnwise.scale_inv.shape);
  };
  using Shapes = std::pair<Shape, Shape>;
  EXPECT_EQ(shapes(weight(RecipeKind::kCurrent)), Shapes({1, 1}, {1, 1}));
  EXPECT_EQ(shapes(weight(RecipeKind::kBlock)), Shapes({2, 3}, {3, 2}));
  EXPECT_EQ(shapes(activation(RecipeKind::kBlock)), Shapes({144, 3}, {272, 2}));
  EXPECT_EQ(shapes(weight(RecipeKind::kMx)), Shapes({144, 9}, {272, 5}));
}

TEST_F(ReferenceBackend, QuantisesWithTheRoundedScale) {
  QuantizeParameters parameters = weight(RecipeKind::kCurrent);
  const QuantizedTensor exact = quantised(row({300, 1, -0.0F}), parameters);
  EXPECT_EQ(bits_at(backend->download(exact.rowwise.codes), 0), 0x7eU);  // 448
  parameters.power_of_two = true;
  const QuantizedTensor rounded = quantised(row({300, 1, -0.0F}), parameters);
  const HostTensor codes = backend->download(rounded.rowwise.codes);
  EXPECT_EQ(bits_at(codes, 0), 0x79U);  // 288
  EXPECT_EQ(bits_at(codes, 2), 0x80U);
  EXPECT_EQ(value_at(backend->download(rounded.rowwise.scale_inv), 0), 1);
}

TEST_F(ReferenceBackend, KeepsAGivenScaleWithTheBytes) {
  const QuantizedTensor q = quantised(row({448, 1}), weight(RecipeKind::kDelayed), 0.5F);
  EXPECT_EQ(value_at(backend->download(q.rowwise.codes), 0), 224);
  EXPECT_EQ(value_at(backend->download(q.rowwise.scale_inv), 0), 2);
  EXPECT_EQ(q.amax, 448);
}

TEST_F(ReferenceBackend, WritesMxScalesAsE8M0Bytes) {
  const auto byte = [&](float amax) {
    const QuantizedTensor q = quantised(row({amax, 0}), weight(RecipeKind::kMx));
    const HostTensor scales = backend->download(q.rowwise.scale_inv);
    EXPECT_EQ(scales.dtype, DType::kF8E8M0);
    return bits_at(scales, 0);
  };
  EXPECT_EQ(byte(224), 126U);
  EXPECT_EQ(byte(225), 127U);
  EXPECT_EQ(byte(0), 0U);
  EXPECT_EQ(byte(INFINITY), 0xfeU);
}

// The largest finite scale of the block recipe is that of the source's type.
TEST_F(ReferenceBackend, KnowsTheTypeOfTheSource) {
  const std::vector<std::uint16_t> tiny{0x0001};  // 2^-133
  QuantizeParameters parameters = weight(RecipeKind::kBlock);
  parameters.power_of_two = false;
  const auto scale_inv = [&](const HostTensor& source) {
    return bits_at(backend->download(quantised(source, parameters).rowwise.scale_inv), 0);
  };
  EXPECT_EQ(scale_inv(HostTensor::of<std::uint16_t>(DType::kBF16, {1, 1}, tiny)), 0x00202020U);
  EXPECT_EQ(scale_inv(row({0x1p-133F})), 0x00200000U);
}

TEST_F(ReferenceBackend, TransposesOnlyWhereThatIsExact) {
  const HostTensor source = test_matrix(DType::kF32, 144, 48, 1);
  for (const RecipeKind kind : {RecipeKind::kCurrent, RecipeKind::kBlock}) {
    const QuantizedTensor q = quantised(source, weight(kind));
    const QuantizedOperand twin = backend->transpose(q.rowwise);
    EXPECT_EQ(bits(twin.codes), bits(q.columnwise.codes));
    EXPECT_EQ(bits(twin.scale_inv), bits(q.columnwise.scale_inv));
  }
  EXPECT_THROW(backend->transpose(quantised(source, activation(RecipeKind::kBlock)).rowwise),
               Error);
  EXPECT_THROW(backend->transpose(quantised(source, weight(RecipeKind::kMx)).rowwise), Error);
}

TEST_F(ReferenceBackend, WritesInPlaceWhereThereIsABuffer) {
  QuantizedTensor q = quantised(row({448, 1}), weight(RecipeKind::kCurrent));
  const QuantizedTensor handles = q;
  QuantizeSpec spec{weight(RecipeKind::kCurrent), {}, true, true};
  backend->quantize(backend->upload(row({1, 448})), spec, q);
  EXPECT_EQ(value_at(backend->download(handles.rowwise.codes), 1), 448);
  EXPECT_EQ(value_at(backend->download(handles.columnwise.codes), 1), 448);
}

TEST_F(ReferenceBackend, LeavesOutTheDirectionsNotAskedFor) {
  QuantizedTensor q;
  backend->quantize(backend->upload(row({1})), {weight(RecipeKind::kMx), {}, false, true}, q);
  EXPECT_FALSE(q.rowwise);
  EXPECT_TRUE(q.columnwise);
}

TEST_F(ReferenceBackend, RefusesToQuantiseOtherTypes) {
  QuantizedTensor q;
  const HostTensor doubles = HostTensor::of<double>(DType::kF64, {1, 1}, std::vector<double>{1});
  for (const RecipeKind kind : {RecipeKind::kCurrent, RecipeKind::kBlock}) {
    EXPECT_THROW(backend->quantize(backend->upload(doubles), {weight(kind), {}, true, true}, q),
                 Error);
  }
}

TEST_F(ReferenceBackend, AddsOntoTheBufferOrOverwritesItAsBetaSays) {
  const QuantizedTensor q = quantised_ones();
  Tensor d = backend->zeros(DType::kF32, {16, 16});
  GemmSpec spec;
  spec.operation = Operation::kWgrad;
  spec.output = DType::kF32;
  const auto run = [&](float beta) {
    spec.beta = beta;
    backend->gemm(spec, q.rowwise, q.rowwise, {}, d);
    return value_at(backend->download(d), 255);
  };
  EXPECT_EQ(run(1), 16);
  EXPECT_EQ(run(1), 32);
  EXPECT_EQ(run(0), 16);
}

TEST_F(ReferenceBackend, AddsTheBiasOfEachOutput) {
  const QuantizedTensor q = quantised_ones();
  std::vector<std::uint16_t> bias;
  for (int i = 0; i < 16; ++i) bias.push_back(to_bf16(i));
  Tensor y;
  backend->gemm({}, q.rowwise, q.rowwise,
                backend->upload(HostTensor::of<std::uint16_t>(DType::kBF16, {16}, bias)), y);
  const HostTensor host = backend->download(y);
  EXPECT_EQ(host.dtype, DType::kBF16);
  for (std::int64_t i = 0; i < 256; ++i) {
    EXPECT_EQ(value_at(host, i), 16 + static_cast<double>(i % 16));
  }
}

TEST_F(ReferenceBackend, RecordsWhichModelMadeAResult) {
  const HostTensor source = test_matrix(DType::kF32, 16, 32, 1);
  Tensor y;
  const auto record = [&](RecipeKind kind) {
    const QuantizedTensor q = quantised(source, activation(kind));
    return backend->gemm({}, q.rowwise, q.rowwise, {}, y);
  };
  EXPECT_EQ(record(RecipeKind::kBlock).by, "reference");
  EXPECT_NE(record(RecipeKind::kBlock).algorithm.find("hopper"), std::string::npos);
  EXPECT_EQ(record(RecipeKind::kBlock).algorithm.find("not measured"), std::string::npos);
  EXPECT_EQ(record(RecipeKind::kMx).algorithm, "blackwell, not measured");
}

// RN(lr * g) makes the difference fall on the midpoint 1 + 2^-8, which goes to the even 1; one
// rounding less leaves it above.
TEST_F(ReferenceBackend, UpdatesInThreeRoundings) {
  const Tensor w = backend->upload(row({0x1.0e7988p+2F}));
  const Tensor g = backend->upload(row({0x1.bdc008p+0F}));
  const HostTensor updated = backend->download(backend->update(w, g, 0x1.d9cp+0F));
  EXPECT_EQ(bits_at(updated, 0), 0x3f80U);
}

// ceil(2192 / 17 / 128) * 128 = 128, and 17 slices of 128 cover 2176.
TEST_F(ReferenceBackend, CountsTheTermsThatAFollowedSplitDrops) {
  const HostTensor source = test_matrix(DType::kF32, 16, 2192, 1);
  const QuantizedTensor q = quantised(source, activation(RecipeKind::kCurrent));
  GemmRecord followed;
  followed.split_k = 17;
  GemmSpec spec;
  spec.follow = &followed;
  Tensor y;
  const GemmRecord record = backend->gemm(spec, q.rowwise, q.rowwise, {}, y);
  EXPECT_EQ(record.split_k, 17);
  EXPECT_EQ(record.dropped_terms, 16);
}

TEST_F(ReferenceBackend, AmaxDoesNotSeeNanButSeesTheSignlessLargest) {
  EXPECT_EQ(backend->amax(backend->upload(row({NAN, -3, 2}))), 3);
  EXPECT_EQ(backend->amax(backend->upload(row({NAN}))), 0);
}

TEST_F(ReferenceBackend, TheNumberOfThreadsChangesNoBit) {
  const HostTensor source = test_matrix(DType::kF32, 272, 144, 1);
  const auto digest = [&](int threads) {
    backend = make_reference_backend(threads);
    const QuantizedTensor q = quantised(source, activation(RecipeKind::kBlock));
    Tensor y;
    backend->gemm({}, q.rowwise, q.rowwise, {}, y);
    return bits(q.columnwise.codes) + bits(q.rowwise.scale_inv) + bits(y);
  };
  EXPECT_EQ(digest(2), digest(1));
  EXPECT_EQ(digest(3), digest(1));
}

}  // namespace
}  // namespace samebits
