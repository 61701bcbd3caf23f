#include "harness/core/engine.h"

#include <cmath>
#include <map>

#include "harness/core/delayed_scaling.h"
#include "harness/core/error.h"
#include "harness/core/event_builder.h"
#include "harness/core/loss.h"
#include "harness/core/values.h"
#include "harness/evidence/digest.h"
#include "reference/mutants.h"

namespace samebits {
namespace {

DType gradient_format(const Recipe& recipe) {
  return recipe.hybrid ? DType::kF8E5M2 : DType::kF8E4M3;
}

// The library adds a bias of the output's type.
HostTensor as_bf16(const HostTensor& bias) {
  std::vector<std::uint16_t> values;
  for (std::int64_t i = 0; i < element_count(bias.shape); ++i) {
    values.push_back(to_bf16(value_at(bias, i)));
  }
  return HostTensor::of<std::uint16_t>(DType::kBF16, bias.shape, values);
}

// 2^-4 * max|w| / max|g|: the largest step moves a weight by a sixteenth of the largest weight. 0
// where there is no such number.
float default_learning_rate(float weight_amax, float gradient_amax) {
  const float rate = 0x1p-4F * weight_amax / gradient_amax;
  return std::isfinite(rate) ? rate : 0.0F;
}

// What a forward leaves for the backward of its microbatch.
struct Saved {
  QuantizedTensor x;
  WeightCopy weight;
  CacheFlag flag = CacheFlag::kNone;
  HostTensor y;
  float x_scale = 1,
        weight_scale = 1;  // delayed scaling: a recomputation uses the scales of its forward
};

class LayerRun {
 public:
  LayerRun(const EngineOptions& options, const Program& program, const Layer& layer,
           const LayerInputs& inputs, Backend& backend, const EventSink& sink)
      : options_(options),
        program_(program),
        layer_(layer),
        inputs_(inputs),
        backend_(backend),
        sink_(sink),
        recipe_(program.recipe),
        x_state_(recipe_.history_length, DType::kF8E4M3),
        weight_state_(recipe_.history_length, DType::kF8E4M3),
        dy_state_(recipe_.history_length, gradient_format(recipe_)),
        loss_(static_cast<std::size_t>(program.steps), 0.0) {
    set_weight(backend_.upload(layer.weight));
    if (layer.bias) bias_ = backend_.upload(as_bf16(*layer.bias));
    main_grad_ = backend_.zeros(DType::kF32, layer.weight.shape);
  }

  std::vector<double> run() {
    for (op_ = 0; op_ < program_.ops.size(); ++op_) step(program_.ops[op_]);
    return loss_;
  }

 private:
  void step(const Op& op) {
    switch (op.kind) {
      case OpKind::kBeginStep:
        if (!mutant("main_grad is not zeroed")) {
          main_grad_ = backend_.zeros(DType::kF32, layer_.weight.shape);
        }
        main_grad_is_zero_ = true;
        break;
      case OpKind::kForward:
        forward(op, Pass::kTrain);
        break;
      case OpKind::kRecompute:
        forward(op, Pass::kRecompute);
        break;
      case OpKind::kEvaluate:
        forward(op, Pass::kEval);
        break;
      case OpKind::kBackward:
        backward(op);
        break;
      case OpKind::kUpdate:
        update(op);
        break;
      case OpKind::kSetRecipe:
        recipe_ = op.recipe;
        break;
    }
  }

  std::int64_t input_index(const Op& op) const {
    return static_cast<std::int64_t>(op.step) * program_.microbatches + op.microbatch;
  }
  bool delayed() const { return recipe_.kind == RecipeKind::kDelayed; }

  void set_weight(Tensor weight) {
    weight_ = std::move(weight);
    weight_digest_ = evidence::tensor_digest(backend_.download(weight_));
  }

  EventBuilder event(const Op& op, Pass pass, Operation operation) {
    Event event;
    event.key = {op.step, op.microbatch, pass, 0, layer_.name, operation};
    event.key.occurrence = occurrences_[{op.step, op.microbatch, pass, operation}]++;
    event.op = op_;
    return {backend_, options_.threads, std::move(event)};
  }

  WeightProvenance provenance(const WeightCopy& copy, CacheFlag flag) const {
    const bool blind = mutant("provenance hides staleness");
    return {weight_digest_, blind ? weight_digest_ : copy.source, copy.parameters, flag};
  }

  GemmSpec gemm_spec(Operation operation, const EventKey& key) const {
    GemmSpec spec;
    spec.operation = operation;
    spec.fast_accumulation = recipe_.fast_accumulation(operation);
    if (options_.follow) spec.follow = options_.follow->find(key);
    return spec;
  }

  GemmRecord multiply(const GemmSpec& spec, const QuantizedOperand& a, const QuantizedOperand& b,
                      const Tensor& bias, Tensor& d) {
    if (backend_.multiplies(a.mode, b.mode)) return backend_.gemm(spec, a, b, bias, d);
    if (!options_.stand_in) {
      throw Error(std::string(backend_.name()) + " has no GEMM with " +
                  std::string(scale_mode_name(a.mode)) + " scales");
    }
    Backend& other = *options_.stand_in;
    const auto moved = [&](const Tensor& tensor) {
      return tensor ? other.upload(backend_.download(tensor)) : Tensor{};
    };
    const auto operand = [&](const QuantizedOperand& o) {
      return QuantizedOperand{moved(o.codes), moved(o.scale_inv), o.mode};
    };
    Tensor result = moved(d);
    const GemmRecord record = other.gemm(spec, operand(a), operand(b), moved(bias), result);
    d = backend_.upload(other.download(result));
    return record;
  }

  void forward(const Op& op, Pass pass) {
    Saved used = pass == Pass::kRecompute ? saved_.at(op.microbatch) : Saved{};
    if (pass != Pass::kRecompute || mutant("recompute takes the scale of now")) {
      used.x_scale = x_state_.scale();
      used.weight_scale = weight_state_.scale();
    }
    const bool columnwise = pass != Pass::kEval;
    const Tensor x = backend_.upload(pass == Pass::kEval ? inputs_.evaluation(evaluations_++)
                                                         : inputs_.activation(input_index(op)));

    QuantizeSpec x_spec{recipe_.quantize(Role::kActivation), {}, true, columnwise};
    WeightRequest request{options_.cached ? op.flag : CacheFlag::kNone,
                          recipe_.quantize(Role::kWeight),
                          {},
                          columnwise};
    if (delayed()) {
      x_spec.scale = used.x_scale;
      request.scale = used.weight_scale;
    }
    used.x = {};
    backend_.quantize(x, x_spec, used.x);
    const WeightUse weight = cache_.use(backend_, weight_, weight_digest_, request);
    used.weight = weight.copy;
    used.flag = request.flag;

    EventBuilder builder = event(op, pass, Operation::kFprop);
    const GemmSpec spec = gemm_spec(Operation::kFprop, builder.event().key);
    Tensor y;
    builder.event().gemm = multiply(spec, used.weight.bytes.rowwise, used.x.rowwise, bias_, y);
    used.y = backend_.download(y);

    builder.event().weight = provenance(used.weight, used.flag);
    builder.tensor("x", backend_.download(x));
    builder.operand("x", used.x.rowwise);
    builder.operand("weight", used.weight.bytes.rowwise);
    builder.tensor("y", used.y);
    builder.finish(sink_);

    if (delayed() && (pass != Pass::kRecompute || mutant("recompute records its amax"))) {
      x_state_.record(used.x.amax);
      if (weight.cast || mutant("a cached use records its amax"))
        weight_state_.record(used.weight.bytes.amax);
      if (pass == Pass::kTrain || mutant("an evaluation moves the scale")) {
        x_state_.update(recipe_);
        weight_state_.update(recipe_);
      }
    }
    if (pass == Pass::kTrain) {
      loss_[static_cast<std::size_t>(op.step)] +=
          loss_and_gradient(used.y, inputs_, input_index(op)).loss;
    }
    if (pass != Pass::kEval) saved_[op.microbatch] = std::move(used);
  }

  void backward(const Op& op) {
    const Saved saved = std::move(saved_.at(op.microbatch));
    saved_.erase(op.microbatch);
    const Tensor dy = backend_.upload(loss_and_gradient(saved.y, inputs_, input_index(op)).dy);
    QuantizeSpec dy_spec{recipe_.quantize(Role::kGradient), {}, true, true};
    if (delayed()) dy_spec.scale = dy_state_.scale();
    QuantizedTensor quantized;
    backend_.quantize(dy, dy_spec, quantized);
    if (delayed()) {
      dy_state_.record(quantized.amax);
      dy_state_.update(recipe_);
    }
    dgrad(op, saved, dy, quantized);
    wgrad(op, saved, quantized);
  }

  void dgrad(const Op& op, const Saved& saved, const Tensor& dy, const QuantizedTensor& quantized) {
    EventBuilder builder = event(op, Pass::kTrain, Operation::kDgrad);
    const GemmSpec spec = gemm_spec(Operation::kDgrad, builder.event().key);
    Tensor dx;
    builder.event().gemm = multiply(spec, saved.weight.bytes.columnwise, quantized.rowwise, {}, dx);

    builder.event().weight = provenance(saved.weight, saved.flag);
    builder.tensor("dy", backend_.download(dy));
    builder.operand("dy", quantized.rowwise);
    builder.operand("weight columnwise", saved.weight.bytes.columnwise);
    builder.tensor("dx", backend_.download(dx));
    builder.finish(sink_);
  }

  void wgrad(const Op& op, const Saved& saved, const QuantizedTensor& quantized) {
    const bool overwrite =
        program_.main_grad == MainGrad::kOverwriteFirst && saved.flag == CacheFlag::kTrue;
    EventBuilder builder = event(op, Pass::kTrain, Operation::kWgrad);
    GemmSpec spec = gemm_spec(Operation::kWgrad, builder.event().key);
    spec.output = DType::kF32;
    spec.beta = overwrite && !mutant("True does not overwrite") ? 0.0F : 1.0F;
    builder.event().gemm = multiply(spec, saved.x.columnwise, quantized.columnwise, {}, main_grad_);
    builder.event().beta = spec.beta;
    builder.event().onto_zeros = main_grad_is_zero_;
    main_grad_is_zero_ = false;
    builder.operand("x columnwise", saved.x.columnwise);
    builder.operand("dy columnwise", quantized.columnwise);
    builder.tensor("main_grad", backend_.download(main_grad_));
    builder.finish(sink_);
  }

  void update(const Op& op) {
    const float rate = options_.learning_rate ? *options_.learning_rate
                                              : default_learning_rate(backend_.amax(weight_),
                                                                      backend_.amax(main_grad_));
    set_weight(backend_.update(weight_, main_grad_, rate));
    EventBuilder builder = event(op, Pass::kTrain, Operation::kUpdate);
    builder.event().learning_rate = rate;
    builder.tensor("weight", backend_.download(weight_));
    builder.finish(sink_);
  }

  const EngineOptions& options_;
  const Program& program_;
  const Layer& layer_;
  const LayerInputs& inputs_;
  Backend& backend_;
  const EventSink& sink_;

  Recipe recipe_;  // in force
  DelayedScaling x_state_, weight_state_, dy_state_;
  WeightCache cache_;
  Tensor weight_, bias_, main_grad_;
  evidence::Sha256Value weight_digest_{};
  bool main_grad_is_zero_ = true;
  std::map<int, Saved> saved_;  // by microbatch
  std::map<std::tuple<int, int, Pass, Operation>, int> occurrences_;
  std::size_t op_ = 0;
  std::int64_t evaluations_ = 0;
  std::vector<double> loss_;
};

}  // namespace

std::vector<double> run_layer(const EngineOptions& options, const Program& program,
                              const Layer& layer, const LayerInputs& inputs, Backend& backend,
                              const EventSink& sink) {
  return LayerRun(options, program, layer, inputs, backend, sink).run();
}

}  // namespace samebits
