// The state of delayed scaling for one tensor: a history of amax and the scale that follows from
// it.
#pragma once

#include <vector>

#include "harness/core/recipe.h"

namespace samebits {

class DelayedScaling {
 public:
  // Throws Error where the history has no slot.
  DelayedScaling(int history_length, DType format);

  float scale() const { return scale_; }  // 1 until the first update
  // The largest amax since the last update counts.
  void record(float amax);
  // After a training forward (x, w) or backward (dy): the scale for the next one from the maximum
  // over the history or the most recent amax, then the history moves on by one slot.
  void update(const Recipe& recipe);

 private:
  std::vector<float> history_;  // [0] is the slot being recorded
  DType format_;
  float scale_ = 1;
};

}  // namespace samebits
