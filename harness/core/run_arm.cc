#include "harness/core/run_arm.h"

#include <algorithm>

#include "harness/core/engine.h"

namespace samebits {

double multiply_adds(const Program& program, const CheckedLayer& checked) {
  double gemms = 0;
  for (const Op& op : program.ops) {
    switch (op.kind) {
      case OpKind::kForward:
      case OpKind::kRecompute:
      case OpKind::kEvaluate:
        gemms += 1;
        break;
      case OpKind::kBackward:
        gemms += 2;
        break;
      default:
        break;
    }
  }
  return gemms * static_cast<double>(checked.inputs.tokens) *
         static_cast<double>(checked.layer.in() * checked.layer.out());
}

double multiply_adds(const CheckRequest& request) {
  double sum = 0;
  for (const CheckedLayer& checked : request.layers) sum += multiply_adds(request.program, checked);
  return sum;
}

Trace run_arm(const CheckRequest& request, const Arm& arm, const BackendFactory& make_backend,
              const ArmRun& run) {
  Trace trace;
  trace.arm = arm.name();
  trace.loss.assign(static_cast<std::size_t>(request.program.steps), 0.0);
  const auto backend = make_backend(arm, request.threads);
  // Most backends have every GEMM; this one is made only for those that do not.
  const auto stand_in = arm.backend == kReference ? nullptr : make_backend({}, request.threads);
  const EngineOptions options{arm.cached, request.learning_rate, request.threads, run.follow,
                              stand_in.get()};
  const double total = multiply_adds(request);
  double done = 0;
  for (const CheckedLayer& checked : request.layers) {
    const double work = multiply_adds(request.program, checked);
    const auto ops = static_cast<double>(request.program.ops.size());
    const EventSink sink = [&](Event&& event, std::span<const HostTensor> payload) {
      run.progress((done + work * static_cast<double>(event.op + 1) / ops) / total);
      if (run.capture && run.capture->wanted(event.key)) {
        run.capture->kept.push_back({event.key, {payload.begin(), payload.end()}});
      }
      trace.events.push_back(std::move(event));
    };
    const auto loss =
        run_layer(options, request.program, checked.layer, checked.inputs, *backend, sink);
    for (std::size_t step = 0; step < loss.size(); ++step) trace.loss[step] += loss[step];
    done += work;
  }
  // Layers ran one after the other; program order is by operation, then by layer.
  std::stable_sort(trace.events.begin(), trace.events.end(),
                   [](const Event& left, const Event& right) { return left.op < right.op; });
  return trace;
}

}  // namespace samebits
