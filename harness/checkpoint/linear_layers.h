// The linear layers of a checkpoint that FP8 GEMMs can take, and the inputs captured for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/checkpoint/tensor_source.h"
#include "harness/core/check.h"

namespace samebits::checkpoint {

struct SkippedLayer {
  std::string layer, reason;
};

struct LayerSelection {
  std::vector<Layer> layers;  // in ascending order of name
  std::vector<SkippedLayer> skipped;
};

// A linear layer is a 2-D `*.weight` whose name has no "embed" or "norm" in it (in any case), with
// its `*.bias` where there is one. `globs` (fnmatch patterns on the layer's name; none: all) choose
// among them. Layers that FP8 GEMMs cannot take are skipped with the reason. Throws Error, naming
// the file, where there is no linear layer, a glob matches none, or every layer is skipped.
LayerSelection select_linear_layers(const TensorSource& source,
                                    const std::vector<std::string>& globs);

// What every run needs to know about its inputs.
struct InputOptions {
  std::uint64_t seed = 0;
  std::optional<std::int64_t> tokens;  // not given: as captured, else kDefaultTokens
};
inline constexpr std::int64_t kDefaultTokens = 64;
inline constexpr std::int64_t kMostTokens = 1 << 20;  // far above any microbatch; sizes cannot wrap

// Pairs each layer with its inputs: `<layer>.x` [slices, tokens, in] and `<layer>.dy` [slices,
// tokens, out] of `captured` where it has them, else made from the seed. Throws Error, naming the
// file and the tensor, where a captured shape or dtype does not fit, the tokens are no multiple of
// 16 or above kMostTokens, or the file has nothing for any of the layers.
std::vector<CheckedLayer> with_inputs(std::vector<Layer> layers, const TensorSource* captured,
                                      const InputOptions& options);

}  // namespace samebits::checkpoint
