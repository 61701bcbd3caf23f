// Random sequences of flags, updates and recipe switches against a model that has no cache: a copy
// is always the fresh quantisation of the weight that was current at its last fill.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/weight_cache.h"
#include "harness/evidence/digest.h"
#include "harness/reference_backend.h"
#include "properties/test_layers.h"

namespace samebits {
namespace {

// One forward, and what happened to the layer just before it.
struct Use {
  CacheFlag flag;
  bool columnwise;     // false: an evaluation
  bool new_weight;     // an update
  bool other_scales;   // the recipe's power-of-two option flips
  bool other_kind;     // another recipe
  int scale_exponent;  // delayed scaling: the scale in force
};

void showValue(const Use& use, std::ostream& out) {
  out << flag_name(use.flag) << (use.columnwise ? "" : " eval") << (use.new_weight ? " update" : "")
      << (use.other_scales ? " scales" : "") << (use.other_kind ? " kind" : "") << " 2^"
      << use.scale_exponent;
}

rc::Gen<Use> uses() {
  const auto rarely = rc::gen::weightedElement<bool>({{5, false}, {1, true}});
  return rc::gen::build<Use>(
      rc::gen::set(&Use::flag,
                   rc::gen::weightedElement<CacheFlag>(
                       {{1, CacheFlag::kNone}, {2, CacheFlag::kTrue}, {4, CacheFlag::kFalse}})),
      rc::gen::set(&Use::columnwise, rc::gen::weightedElement<bool>({{2, false}, {5, true}})),
      rc::gen::set(&Use::new_weight, rc::gen::weightedElement<bool>({{1, false}, {1, true}})),
      rc::gen::set(&Use::other_scales, rarely), rc::gen::set(&Use::other_kind, rarely),
      rc::gen::set(&Use::scale_exponent, rc::gen::inRange(0, 4)));
}

// What a copy must hold: nothing but the weight, parameters and scale of its last fill.
struct Fill {
  int weight;
  QuantizeParameters parameters;
  std::optional<float> scale;
  bool columnwise;
};

// The semantics of the flag in plain words, without bytes.
class Model {
 public:
  // The fill that this use must show, and whether it cast.
  std::pair<Fill, bool> use(CacheFlag flag, const Fill& now) {
    if (flag == CacheFlag::kNone) return {now, true};
    if (copy_ && copy_->parameters.kind != now.parameters.kind) copy_.reset();
    const bool lacks = copy_ && now.columnwise && !copy_->columnwise;
    const bool transposes = now.parameters.kind == RecipeKind::kBlock;
    const bool missing = !copy_ || (flag == CacheFlag::kFalse && lacks && !transposes);
    if (missing) {
      copy_ = now;
      return {now, true};
    }
    copy_->columnwise |= now.columnwise;
    if (flag == CacheFlag::kFalse) return {*copy_, false};
    copy_->weight = now.weight;  // the parameters stay
    copy_->scale = now.scale;
    return {*copy_, true};
  }

 private:
  std::optional<Fill> copy_;
};

constexpr RecipeKind kKinds[] = {RecipeKind::kCurrent, RecipeKind::kBlock, RecipeKind::kMx,
                                 RecipeKind::kDelayed};

// A cache on the reference backend, and the model beside it.
class Pair {
 public:
  explicit Pair(int kind) : kind_(kind), recipe_(Recipe::defaults(kKinds[kind])) {}

  void use(const Use& step) {
    if (step.new_weight) ++weight_;
    if (step.other_kind) recipe_ = Recipe::defaults(kKinds[++kind_ % 4]);
    if (step.other_scales) recipe_.power_of_two = !recipe_.power_of_two;
    std::optional<float> scale;
    if (recipe_.kind == RecipeKind::kDelayed) {
      scale = static_cast<float>(1 << step.scale_exponent);
    }

    const HostTensor weight = weight_at(weight_);
    const WeightUse used =
        cache_.use(*backend_, backend_->upload(weight), evidence::tensor_digest(weight),
                   {step.flag, recipe_.quantize(Role::kWeight), scale, step.columnwise});
    const auto [fill, cast] =
        model_.use(step.flag, {weight_, recipe_.quantize(Role::kWeight), scale, step.columnwise});

    RC_ASSERT(used.cast == cast);
    RC_ASSERT(used.copy.parameters == fill.parameters);
    RC_ASSERT(used.copy.source == evidence::tensor_digest(weight_at(fill.weight)));
    const QuantizedTensor fresh = quantised(fill);
    RC_ASSERT(same(used.copy.bytes.rowwise, fresh.rowwise));
    RC_ASSERT(same(used.copy.bytes.columnwise, fresh.columnwise));
  }

 private:
  // Tails in both directions, more than one block of 128.
  static HostTensor weight_at(int version) {
    return test_matrix(DType::kBF16, 144, 48, static_cast<std::uint64_t>(version),
                       0.25 * (version + 1));
  }
  QuantizedTensor quantised(const Fill& fill) {
    QuantizedTensor result;
    const QuantizeSpec spec{fill.parameters, fill.scale, true, fill.columnwise};
    backend_->quantize(backend_->upload(weight_at(fill.weight)), spec, result);
    return result;
  }
  bool same(const Tensor& a, const Tensor& b) {
    return evidence::tensor_digest(backend_->download(a)) ==
           evidence::tensor_digest(backend_->download(b));
  }
  bool same(const QuantizedOperand& a, const QuantizedOperand& b) {
    if (!a || !b) return !a && !b;
    return a.mode == b.mode && same(a.codes, b.codes) && same(a.scale_inv, b.scale_inv);
  }

  std::unique_ptr<Backend> backend_ = make_reference_backend(1);
  WeightCache cache_;
  Model model_;
  int kind_, weight_ = 0;
  Recipe recipe_;
};

RC_GTEST_PROP(WeightCache, EachUseIsTheFreshQuantisationOfTheWeightAtTheLastFill, ()) {
  Pair pair(*rc::gen::inRange(0, 4));
  const auto steps = *rc::gen::resize(20, rc::gen::container<std::vector<Use>>(uses()));
  RC_CLASSIFY(std::any_of(steps.begin(), steps.end(),
                          [](const Use& use) { return use.flag == CacheFlag::kFalse; }),
              "reads the cache");
  for (const Use& step : steps) pair.use(step);
}

}  // namespace
}  // namespace samebits
