#include "harness/core/delayed_scaling.h"

#include <algorithm>

#include "harness/core/error.h"
#include "reference/mutants.h"
#include "reference/scale.h"

namespace samebits {

DelayedScaling::DelayedScaling(int history_length, DType format) : format_(format) {
  if (history_length < 1) throw Error("delayed scaling needs a history of at least one amax");
  history_.assign(static_cast<std::size_t>(history_length), 0.0F);
}

void DelayedScaling::record(float amax) {
  if (mutant("the last amax alone counts")) history_.front() = 0;
  history_.front() = std::max(history_.front(), amax);
}

void DelayedScaling::update(const Recipe& recipe) {
  if (mutant("amax is reset too early")) history_.front() = 0;
  const float amax =
      recipe.most_recent ? history_.front() : *std::max_element(history_.begin(), history_.end());
  const auto format = format_ == DType::kF8E5M2 ? reference::Fp8::kE5M2 : reference::Fp8::kE4M3;
  scale_ = reference::delayed_scale(amax, format, recipe.margin, scale_);
  if (!mutant("history does not roll")) {
    std::rotate(history_.begin(), history_.begin() + 1, history_.end());
  }
  if (!mutant("amax is not reset")) history_.front() = 0;
}

}  // namespace samebits
