#include "harness/core/minimise.h"

#include <algorithm>
#include <set>
#include <utility>

#include "harness/core/error.h"
#include "harness/core/part.h"

namespace samebits {
namespace {

constexpr std::int64_t kLeast = 16;   // every dimension is a multiple of it
constexpr std::int64_t kOffsets = 8;  // places tried for a smaller range

// What must stay.
struct Symptom {
  Cause cause;
  std::string layer, tensor;
  Pass pass;
  Operation operation;

  explicit Symptom(const CheckResult& result) {
    const Event& event = result.a.events[result.first->event];
    cause = result.first->cause;
    layer = event.key.layer;
    tensor = event.tensors[result.first->tensor].name;
    pass = event.key.pass;
    operation = event.key.operation;
  }
  bool operator==(const Symptom&) const = default;
};

struct Stopped {};

class Minimiser {
 public:
  Minimiser(const CheckRequest& whole, const CheckResult& result,
            const BackendFactory& make_backend, const MinimiseOptions& options)
      : whole_(whole), make_backend_(make_backend), options_(options), symptom_(result) {
    const auto is_layer = [&](const CheckedLayer& checked) {
      return checked.layer.name == symptom_.layer;
    };
    const auto layer = std::find_if(whole.layers.begin(), whole.layers.end(), is_layer);
    part_ = part_up_to(whole, static_cast<std::size_t>(layer - whole.layers.begin()),
                       result.a.events[result.first->event].op);
  }

  std::optional<Minimised> run() {
    bool finished = false;
    try {
      while (round()) {
      }
      finished = true;
      if (!best_) try_part(part_);  // nothing is smaller
    } catch (const Stopped&) {
    }
    if (!best_) return std::nullopt;
    best_->finished = finished;
    return std::move(best_);
  }

 private:
  // Whether anything could go.
  bool round() {
    if (options_.records) return false;
    bool smaller = shrink_all();
    for (Range Part::*const range : {&Part::tokens, &Part::in, &Part::out}) {
      smaller = shrink(range) || smaller;
    }
    smaller = drop_groups([](const Op& op) { return std::pair(op.step, -1); }) || smaller;
    smaller = drop_groups([](const Op& op) {
                const bool step = op.kind == OpKind::kBeginStep || op.kind == OpKind::kUpdate;
                return std::pair(op.step, step ? -1 : op.microbatch);
              }) ||
              smaller;
    return drop_single() || smaller;
  }

  // All three dimensions at once: where a small block shows it, large ones are never run.
  bool shrink_all() {
    const std::int64_t most = std::max({part_.tokens.size, part_.in.size, part_.out.size});
    for (std::int64_t size = kLeast; size < most; size *= 2) {
      Part part = part_;
      for (Range* range : {&part.tokens, &part.in, &part.out}) {
        range->size = std::min(range->size, size);
      }
      if (try_part(part)) return true;
    }
    return false;
  }

  bool shrink(Range Part::*const range) {
    const Range now = part_.*range;
    for (std::int64_t size = kLeast; size < now.size; size *= 2) {
      for (std::int64_t i = 0; i < kOffsets && (i + 1) * size <= now.size; ++i) {
        Part part = part_;
        part.*range = {now.begin + i * size, size};
        if (try_part(part)) return true;
      }
    }
    return false;
  }

  // Leaves out the operations of one key at a time, the last key first: what came long before is
  // more often what a difference needs.
  template <class KeyOf>
  bool drop_groups(const KeyOf& key_of) {
    std::set<std::pair<int, int>> keys;
    for (const std::size_t op : part_.ops) keys.insert(key_of(whole_.program.ops[op]));
    bool smaller = false;
    for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
      Part part = part_;
      std::erase_if(part.ops,
                    [&](std::size_t op) { return key_of(whole_.program.ops[op]) == *key; });
      smaller = try_part(part) || smaller;
    }
    return smaller;
  }

  bool drop_single() {
    bool smaller = false;
    const std::vector<std::size_t> ops = part_.ops;
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
      Part part = part_;
      std::erase(part.ops, *op);
      smaller = try_part(part) || smaller;
    }
    return smaller;
  }

  // Runs the part, and takes it where it shows the difference.
  bool try_part(const Part& part) {
    if (options_.stop()) throw Stopped();
    if (part.ops.empty() || byte_count(whole_, part) > options_.most_bytes) return false;
    CheckRequest request = take(whole_, part);
    CheckOptions run;
    run.records = options_.records;
    run.progress = [this](double) {
      if (options_.stop()) throw Stopped();
    };
    try {
      check_program(request.program);
      CheckResult result = run_check(request, make_backend_, run);
      if (result.outcome != Outcome::kDifferent || Symptom(result) != symptom_) return false;
      part_ = part;
      best_ = {std::move(request), std::move(result), false};
      return true;
    } catch (const Error&) {  // no program, or a shape that the backend does not take
      return false;
    }
  }

  const CheckRequest& whole_;
  const BackendFactory& make_backend_;
  const MinimiseOptions& options_;
  Symptom symptom_;
  Part part_;
  std::optional<Minimised> best_;
};

}  // namespace

std::optional<Minimised> minimise(const CheckRequest& request, const CheckResult& result,
                                  const BackendFactory& make_backend,
                                  const MinimiseOptions& options) {
  return Minimiser(request, result, make_backend, options).run();
}

}  // namespace samebits
