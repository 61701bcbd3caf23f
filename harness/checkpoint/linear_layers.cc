#include "harness/checkpoint/linear_layers.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>

#include "harness/core/error.h"
#include "harness/core/printable.h"

namespace samebits::checkpoint {
namespace {

constexpr std::string_view kWeight = ".weight";
// cuBLASLt's FP8 GEMMs want every dimension to be a multiple of this.
constexpr std::int64_t kMultiple = 16;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_linear_weight(const TensorEntry& entry) {
  const std::string name = lower(entry.name);
  return entry.shape.size() == 2 && name.size() > kWeight.size() && name.ends_with(kWeight) &&
         name.find("embed") == std::string::npos && name.find("norm") == std::string::npos;
}

bool is_source_dtype(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16;
}

std::string stored_as(DType dtype) {
  return "is stored as " + std::string(dtype_name(dtype)) + "; F32, BF16 or F16 is needed";
}

// Why FP8 GEMMs cannot take a layer of this weight and bias, or nothing.
std::optional<std::string> reason_to_skip(const TensorEntry& weight, const TensorEntry* bias) {
  if (!is_source_dtype(weight.dtype)) return "its weight " + stored_as(weight.dtype);
  for (const auto& [what, size] : {std::pair{"out", weight.shape[0]}, {"in", weight.shape[1]}}) {
    if (size == 0 || size % kMultiple != 0) {
      return std::string(what) + " is " + std::to_string(size) + ", not a multiple of 16";
    }
  }
  if (!bias) return std::nullopt;
  if (!is_source_dtype(bias->dtype)) return "its bias " + stored_as(bias->dtype);
  if (bias->shape != Shape{weight.shape[0]}) {
    return "its bias is " + shape_text(bias->shape) + " where [" + std::to_string(weight.shape[0]) +
           "] fits its weight";
  }
  return std::nullopt;
}

const TensorEntry* find(const TensorSource& source, const std::string& name) {
  const auto& entries = source.entries();
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), name,
                       [](const TensorEntry& e, const auto& n) { return e.name < n; });
  return found != entries.end() && found->name == name ? &*found : nullptr;
}

[[noreturn]] void refuse(const TensorSource& source, const std::string& reason) {
  throw Error(printable(source.path().native()) + ": " + reason);
}

void require_every_glob_matches(const TensorSource& source, const std::vector<std::string>& names,
                                const std::vector<std::string>& globs) {
  for (const std::string& glob : globs) {
    const auto matches = [&](const std::string& n) {
      return fnmatch(glob.c_str(), n.c_str(), 0) == 0;
    };
    if (std::none_of(names.begin(), names.end(), matches)) {
      refuse(source, "no linear layer matches --layers " + printable(glob));
    }
  }
}

bool chosen(const std::string& name, const std::vector<std::string>& globs) {
  return globs.empty() || std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
           return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
         });
}

// The captured tensor `<layer>.<what>`, held against [slices, tokens, features].
std::optional<HostTensor> captured_tensor(const TensorSource& source, const std::string& name,
                                          std::int64_t features) {
  const TensorEntry* entry = find(source, name);
  if (!entry) return std::nullopt;
  const auto refuse_tensor = [&](const std::string& reason) {
    refuse(source, "tensor " + printable(name) + ": " + reason);
  };
  if (!is_source_dtype(entry->dtype)) refuse_tensor(stored_as(entry->dtype));
  if (entry->shape.size() != 3 || entry->shape[0] == 0 || entry->shape[2] != features) {
    refuse_tensor("is " + shape_text(entry->shape) + " where [slices, tokens, " +
                  std::to_string(features) + "] is needed");
  }
  if (entry->shape[1] == 0 || entry->shape[1] % kMultiple != 0) {
    refuse_tensor("has " + std::to_string(entry->shape[1]) +
                  " tokens a slice, not a multiple of 16");
  }
  return source.read(name);
}

// The tokens of a slice, which x, dy and --tokens must agree on.
std::int64_t captured_tokens(const TensorSource& source, const LayerInputs& inputs,
                             const std::optional<std::int64_t>& wanted) {
  const std::string layer = "layer " + printable(inputs.layer);
  if (inputs.x && inputs.dy &&
      (inputs.x->shape[0] != inputs.dy->shape[0] || inputs.x->shape[1] != inputs.dy->shape[1])) {
    refuse(source, layer + ": x is " + shape_text(inputs.x->shape) + " but dy is " +
                       shape_text(inputs.dy->shape) + ": other slices or tokens");
  }
  const std::int64_t tokens = (inputs.x ? inputs.x : inputs.dy)->shape[1];
  if (wanted && tokens != *wanted) {
    refuse(source, layer + " was captured with " + std::to_string(tokens) +
                       " tokens a slice, but --tokens is " + std::to_string(*wanted));
  }
  return tokens;
}

}  // namespace

LayerSelection select_linear_layers(const TensorSource& source,
                                    const std::vector<std::string>& globs) {
  std::vector<std::string> names;
  LayerSelection selection;
  for (const TensorEntry& entry : source.entries()) {
    if (!is_linear_weight(entry)) continue;
    const std::string name = entry.name.substr(0, entry.name.size() - kWeight.size());
    names.push_back(name);
    if (!chosen(name, globs)) continue;
    const TensorEntry* bias = find(source, name + ".bias");
    if (const auto reason = reason_to_skip(entry, bias)) {
      selection.skipped.push_back({name, *reason});
      continue;
    }
    Layer layer{name, source.read(entry.name), std::nullopt};
    if (bias) layer.bias = source.read(bias->name);
    selection.layers.push_back(std::move(layer));
  }
  if (names.empty()) {
    refuse(source, "has no linear layer (a 2-D *.weight whose name has no embed or norm in it)");
  }
  require_every_glob_matches(source, names, globs);
  if (selection.layers.empty()) {
    const SkippedLayer& first = selection.skipped.front();
    refuse(source, "has no linear layer that FP8 GEMMs can take; " + printable(first.layer) + ": " +
                       first.reason);
  }
  return selection;
}

std::vector<CheckedLayer> with_inputs(std::vector<Layer> layers, const TensorSource* captured,
                                      const InputOptions& options) {
  if (const auto& tokens = options.tokens;
      tokens && (*tokens <= 0 || *tokens > kMostTokens || *tokens % kMultiple != 0)) {
    throw Error("--tokens is " + std::to_string(*tokens) + ", not a multiple of 16 from 16 to " +
                std::to_string(kMostTokens));
  }
  std::vector<CheckedLayer> result;
  bool any_captured = false;
  for (Layer& layer : layers) {
    LayerInputs inputs;
    inputs.seed = options.seed;
    inputs.layer = layer.name;
    inputs.in = layer.in();
    inputs.out = layer.out();
    inputs.tokens = options.tokens.value_or(kDefaultTokens);
    if (captured) {
      inputs.x = captured_tensor(*captured, layer.name + ".x", inputs.in);
      inputs.dy = captured_tensor(*captured, layer.name + ".dy", inputs.out);
    }
    if (inputs.x || inputs.dy) {
      inputs.tokens = captured_tokens(*captured, inputs, options.tokens);
      any_captured = true;
    }
    result.push_back({std::move(layer), std::move(inputs)});
  }
  if (captured && !any_captured) {
    refuse(*captured, "has no tensor <layer>.x or <layer>.dy for any checked layer");
  }
  return result;
}

}  // namespace samebits::checkpoint
