#include <algorithm>
#include <type_traits>

#include "harness/checkpoint/linear_layers.h"
#include "harness/checkpoint/safetensors.h"
#include "harness/core/error.h"
#include "harness/core/printable.h"
#include "harness/evidence/bundle.h"
#include "harness/evidence/bundle_manifest.h"
#include "harness/evidence/checksums.h"
#include "harness/evidence/digest.h"
#include "harness/evidence/trace_reader.h"

namespace samebits::evidence {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostJsonBytes = std::size_t{16} << 20;  // as a tree it is some 20 times that

class Reader {
 public:
  explicit Reader(const fs::path& directory)
      : directory_(directory), files_(open_checked(directory, bundle_files(), kMaxBundleBytes)) {}

  Bundle read() {
    const Manifest manifest =
        in("manifest.json", [&](std::string_view text) { return parse_manifest(text); });
    Bundle bundle;
    bundle.environment =
        in("environment.json", [&](std::string_view text) { return parse_environment(text); });
    bundle.pinned = manifest.pinned;
    bundle.request.program = manifest.program;
    bundle.request.a = manifest.a;
    bundle.request.b = manifest.b;
    bundle.request.learning_rate = manifest.learning_rate;
    bundle.request.layers = {read_layer(manifest.program)};
    CheckResult& recorded = bundle.recorded;
    recorded.a = read_trace("a", manifest.a, manifest.digest_a, bundle.request);
    recorded.b = read_trace("b", manifest.b, manifest.digest_b, bundle.request);
    find_difference(manifest, recorded);
    return bundle;
  }

 private:
  std::string path(const std::string& name) const {
    return printable((directory_ / name).native());
  }
  [[noreturn]] void refuse(const std::string& name, const std::string& reason) const {
    throw Error(path(name) + ": " + reason);
  }

  std::string_view text(const std::string& name) const {
    const std::string_view text = files_.at(name)->text();
    if (text.size() > kMostJsonBytes) {
      refuse(name, "is larger than " + std::to_string(kMostJsonBytes) + " bytes");
    }
    return text;
  }
  template <class Body>
  std::invoke_result_t<Body, std::string_view> in(const std::string& name, const Body& body) const {
    try {
      return body(text(name));
    } catch (const Error& error) {
      refuse(name, error.what());
    }
  }

  // [slices, tokens, features] of a dtype that can be a source, or nothing.
  std::optional<HostTensor> captured(const checkpoint::TensorSource& source,
                                     const std::string& name, const Shape& shape) const {
    const auto& entries = source.entries();
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto& entry) { return entry.name == name; });
    if (found == entries.end()) return std::nullopt;
    const bool is_source =
        found->dtype == DType::kF32 || found->dtype == DType::kBF16 || found->dtype == DType::kF16;
    if (!is_source || found->shape != shape) {
      refuse("inputs.safetensors", "tensor " + printable(name, 80) + ": is " +
                                       std::string(dtype_name(found->dtype)) + " " +
                                       shape_text(found->shape) + " where a source of " +
                                       shape_text(shape) + " is needed");
    }
    return source.read(name);
  }

  CheckedLayer read_layer(const Program& program) const {
    const auto source = checkpoint::open_safetensors(files_.at("inputs.safetensors"));
    auto selection = checkpoint::select_linear_layers(*source, {});
    if (selection.layers.size() != 1 || !selection.skipped.empty()) {
      refuse("inputs.safetensors", "does not hold just one layer");
    }
    const std::string name = selection.layers.front().name;
    const std::int64_t in = selection.layers.front().in(), out = selection.layers.front().out();
    CheckedLayer checked =
        std::move(checkpoint::with_inputs(std::move(selection.layers), source.get(), {}).front());
    LayerInputs& inputs = checked.inputs;
    if (!inputs.x || inputs.x->shape[0] != program.inputs()) {
      refuse("inputs.safetensors", "holds no x for each of the program's " +
                                       std::to_string(program.inputs()) + " microbatches");
    }
    const std::int64_t evaluations = program.evaluations();
    inputs.targets = captured(*source, name + ".target", {program.inputs(), inputs.tokens, out});
    inputs.evaluations = captured(*source, name + ".evaluation", {evaluations, inputs.tokens, in});
    if (inputs.dy.has_value() == inputs.targets.has_value()) {
      refuse("inputs.safetensors", "holds not just one of dy and target");
    }
    if (inputs.evaluations.has_value() != (evaluations > 0)) {
      refuse("inputs.safetensors", "holds other evaluations than the program has");
    }
    const std::size_t known = 3 + checked.layer.bias.has_value() + inputs.evaluations.has_value();
    if (source->entries().size() != known) {
      refuse("inputs.safetensors", "holds a tensor that is none of the layer's");
    }
    return checked;
  }

  Trace read_trace(const std::string& side, const Arm& arm, const Sha256Value& digest,
                   const CheckRequest& request) const {
    const std::string head = side + "/trace.json", events = side + "/events.jsonl";
    LoadedTrace loaded = parse_trace({path(head), text(head)}, {path(events), text(events)});
    if (loaded.trace.arm != arm.name()) refuse(head, "is of another arm than the manifest's");
    for (const Event& event : loaded.trace.events) {
      if (event.key.layer != request.layers.front().layer.name) {
        refuse(events, "holds an event of a layer that the bundle has not");
      }
    }
    if (trace_digest(loaded.trace) != digest) {
      refuse(events, "has another trace digest than the manifest says");
    }
    return std::move(loaded.trace);
  }

  // The bytes of one event.
  std::vector<HostTensor> payload(const std::string& side, const Event& event) const {
    const std::string name = side + "/payload-000.safetensors";
    const auto source = checkpoint::open_safetensors(files_.at(name));
    std::vector<HostTensor> tensors;
    for (const EventTensor& expected : event.tensors) {
      tensors.push_back(source->read(hex(expected.digest)));
      if (tensor_digest(tensors.back()) != expected.digest) {
        refuse(name, "a tensor's digest is not its name");
      }
    }
    return tensors;
  }

  void find_difference(const Manifest& manifest, CheckResult& recorded) const {
    recorded.comparison = compare(recorded.a, recorded.b);
    if (recorded.comparison.mismatch) {
      refuse("b/events.jsonl",
             "does not go with a/events.jsonl: " + printable(*recorded.comparison.mismatch, 300));
    }
    if (recorded.comparison.differences.empty()) refuse("b/events.jsonl", "holds a's bits");
    recorded.outcome = Outcome::kDifferent;
    recorded.causes = find_causes(recorded.a, recorded.b, recorded.comparison);
    const auto [event, tensor] = recorded.comparison.differences.front();
    const Event& a = recorded.a.events[event];
    if (a.key != manifest.key || a.tensors[tensor].name != manifest.tensor ||
        recorded.causes.front().cause != manifest.cause) {
      refuse("manifest.json", "\"first\" is not the first difference of the traces");
    }
    FirstDifference first;
    first.event = event;
    first.tensor = tensor;
    first.cause = manifest.cause;
    first.a = payload("a", a);
    first.b = payload("b", recorded.b.events[event]);
    first.elements = compare_elements(first.a[tensor], first.b[tensor]);
    recorded.first = std::move(first);
  }

  const fs::path& directory_;
  FileSet files_;
};

}  // namespace

Bundle read_bundle(const fs::path& directory) { return Reader(directory).read(); }

}  // namespace samebits::evidence
