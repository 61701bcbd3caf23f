#include "properties/golden_case.h"

#include <charconv>
#include <map>

#include "properties/golden_fields.h"
#include "properties/golden_inputs.h"

namespace samebits::golden {
namespace {

using checkpoint::TensorSource;
using Eigen::Index;
using reference::Granularity;

constexpr std::string_view kCasePrefix = "case.";
constexpr std::int64_t kMaxSize = 1 << 24;
constexpr Index kRowsAtOnce = 256;  // of A: bounds the memory of a run; a multiple of 128

template <class T>
T lookup(Fields& fields, const char* key, const std::map<std::string, T>& table) {
  const std::string text = fields.text(key);
  const auto found = table.find(text);
  if (found == table.end()) fields.fail(std::string(key) + " \"" + text + "\" is unknown");
  return found->second;
}

Granularity granularity(Fields& fields, const char* key) {
  return lookup<Granularity>(fields, key,
                             {{"tensorwise", Granularity::kTensor},
                              {"rowwise", Granularity::kRow},
                              {"1x128", Granularity::k1x128},
                              {"128x128", Granularity::k128x128}});
}

reference::OutputType output_type(Fields& fields) {
  using reference::OutputType;
  return lookup<OutputType>(fields, "out",
                            {{"F32", OutputType::kFP32},
                             {"BF16", OutputType::kBF16},
                             {"F16", OutputType::kFP16},
                             {"F8_E4M3", OutputType::kE4M3},
                             {"F8_E5M2", OutputType::kE5M2}});
}

// `split_k`, or `splitk=` in the algorithm's text, or 1.
int slices(Fields& fields) {
  constexpr std::int64_t kMostSlices = 1 << 16;
  const std::string algorithm = fields.has("algo") ? fields.text("algo") : "";
  if (fields.has("split_k")) return static_cast<int>(fields.integer("split_k", 1, kMostSlices));
  constexpr std::string_view kKey = "splitk=";
  const auto at = algorithm.find(kKey);
  if (at == std::string::npos) return 1;
  int value = 0;
  const char* begin = algorithm.data() + at + kKey.size();
  const auto parsed = std::from_chars(begin, algorithm.data() + algorithm.size(), value);
  fields.require(parsed.ec == std::errc() && value >= 1 && value <= kMostSlices,
                 "algo has no number of slices after splitk=");
  return value;
}

struct Sizes {
  std::int64_t m, n, k;
};

// Reads what P.scale_a and the like hold, P being the output's name up to ".d".
class CaseReader {
 public:
  CaseReader(const TensorSource& source, const std::string& name, Fields& fields)
      : source_(source), prefix_(name.substr(0, name.find(".d"))), fields_(fields) {}

  reference::Quantized operand(const char* side, std::int64_t rows, std::int64_t k,
                               bool unit_scales) {
    const std::string mode_key = std::string("scale_") + side;
    const HostTensor codes = source_.read(fields_.text(side));
    const Granularity mode = granularity(fields_, mode_key.c_str());
    auto result = quantized(codes, {rows, k}, fields_);
    std::optional<HostTensor> scales;
    if (!unit_scales) scales = tensor(mode_key);
    set_scales(result, mode, scales, fields_);
    return result;
  }

  reference::Quantized generated(const char* side, std::int64_t rows, std::int64_t k, bool narrow) {
    const std::string mode_key = std::string("scale_") + side;
    const std::uint64_t seed = fields_.seed((std::string("input_seed_") + side).c_str());
    reference::Quantized result;
    result.codes = generated_codes(seed, narrow, rows, k);
    set_scales(result, granularity(fields_, mode_key.c_str()), std::nullopt, fields_);
    return result;
  }

  HostTensor tensor(const std::string& suffix) const {
    return source_.read(prefix_ + "." + suffix);
  }

 private:
  const TensorSource& source_;
  std::string prefix_;
  Fields& fields_;
};

void read_operands(GoldenCase& result, CaseReader& reader, Fields& fields, const Sizes& size) {
  bool unit_scales = false;
  if (fields.has("scales")) {
    fields.require(fields.text("scales") == "all 1", "scales is not \"all 1\"");
    unit_scales = true;
  }
  const bool is_generated = fields.has("input_seed_a");
  if (!is_generated) {
    result.a = reader.operand("a", size.m, size.k, unit_scales);
    result.b = reader.operand("b", size.n, size.k, unit_scales);
    return;
  }
  fields.require(unit_scales, "generated inputs without \"scales\": \"all 1\"");
  const bool narrow = fields.integer("narrow", 0, 1) != 0;
  result.a = reader.generated("a", size.m, size.k, narrow);
  result.b = reader.generated("b", size.n, size.k, narrow);
}

void read_epilogue(GoldenCase& result, const CaseReader& reader, Fields& fields,
                   const Sizes& size) {
  auto& spec = result.spec;
  spec.alpha = fields.number("alpha");
  if (fields.has("beta")) spec.beta = fields.number("beta");
  if (fields.has("in_place")) spec.in_place = fields.boolean("in_place");
  if (spec.beta != 0) {
    result.c = values(reader.tensor("c"), {size.n, size.m}, fields);
  }
  if (fields.has("bias") && fields.boolean("bias")) {
    result.bias = values(reader.tensor("bias"), {size.m}, fields).row(0).transpose();
  }
  if (fields.has("scale_d")) {
    if (fields.is_null("scale_d")) {
      fields.ignore("scale_d");
    } else {
      result.scale_d = fields.number("scale_d");
    }
  }
}

// Rows [begin, begin + count) of an operand; begin is a multiple of 128.
reference::Quantized rows_of(const reference::Quantized& q, Index begin, Index count) {
  const auto grid = reference::block_grid(q.granularity, q.codes.rows(), q.codes.cols());
  reference::Quantized result{q.granularity, q.format, q.codes.middleRows(begin, count),
                              q.scale_inv};
  if (q.granularity == Granularity::kTensor) return result;
  const Index scale_rows = (count + grid.block_rows - 1) / grid.block_rows;
  result.scale_inv = q.scale_inv.middleRows(begin / grid.block_rows, scale_rows);
  return result;
}

}  // namespace

reference::MatrixOf<std::uint32_t> GoldenCase::run(
    Gemm gemm, int threads, const std::optional<reference::AccumulationModel>& model) const {
  reference::GemmSpec whole = spec;
  whole.threads = threads;
  if (scale_d) whole.scale_d = &*scale_d;
  if (model) whole.model = *model;

  reference::MatrixOf<std::uint32_t> bits(b.codes.rows(), a.codes.rows());
  for (Index begin = 0; begin < a.codes.rows(); begin += kRowsAtOnce) {
    const Index count = std::min(kRowsAtOnce, a.codes.rows() - begin);
    const auto part_a = rows_of(a, begin, count);
    reference::Matrix part_c;
    Eigen::VectorXf part_bias;
    if (c) part_c = c->middleCols(begin, count);
    if (bias) part_bias = bias->segment(begin, count);
    const auto d = gemm(
        {.a = &part_a, .b = &b, .c = c ? &part_c : nullptr, .bias = bias ? &part_bias : nullptr},
        whole);
    bits.middleCols(begin, count) =
        d.unaryExpr([&](float value) { return reference::output_bits(value, spec.output); });
  }
  return bits;
}

std::vector<std::string> case_names(const TensorSource& source) {
  std::vector<std::string> names;
  for (const auto& [key, value] : source.metadata()) {
    if (key.starts_with(kCasePrefix)) names.push_back(key.substr(kCasePrefix.size()));
  }
  return names;
}

GoldenCase read_case(const TensorSource& source, const std::string& name,
                     std::int64_t generated_rows) {
  Fields fields(source.metadata().at(std::string(kCasePrefix) + name),
                source.path().string() + ": case " + name);
  for (const char* key : {"recorded_m", "recorded_n", "tile", "reduction"}) fields.ignore(key);

  Sizes size{fields.integer("m", 1, kMaxSize), fields.integer("n", 1, kMaxSize),
             fields.integer("k", 1, kMaxSize)};
  std::int64_t stored = size.n;
  if (fields.has("first_columns")) {
    stored = fields.integer("first_columns", 1, size.n);
  }
  size.n = fields.has("input_seed_a") ? std::min(stored, generated_rows) : stored;

  GoldenCase result;
  result.name = name;
  result.spec.model = reference::hopper(fields.integer("fast_accum", 0, 1) != 0);
  result.spec.output = output_type(fields);
  result.spec.split_k = slices(fields);
  CaseReader reader(source, name, fields);
  read_operands(result, reader, fields, size);
  read_epilogue(result, reader, fields, size);
  result.expected =
      bits(source.read(name), result.spec.output, {stored, size.m}, fields).topRows(size.n);
  fields.finish();
  return result;
}

}  // namespace samebits::golden
