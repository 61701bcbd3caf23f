// samebits inspect FILE: what is in a checkpoint or a trace.
#include <fmt/format.h>

#include <algorithm>

#include "harness/checkpoint/linear_layers.h"
#include "harness/cli/commands.h"
#include "harness/cli/inspect_trace.h"
#include "harness/cli/option_values.h"
#include "harness/core/error.h"
#include "harness/core/printable.h"

namespace samebits::cli {
namespace {

void print_tensors(const checkpoint::TensorSource& source) {
  std::size_t width = 6;
  std::uint64_t bytes = 0;
  for (const auto& entry : source.entries()) {
    width = std::max(width, printable(entry.name, 80).size());
    bytes += entry.byte_count;
  }
  fmt::print("{}: {} tensors, {} bytes\n", printable(source.path().native()),
             source.entries().size(), bytes);
  for (const auto& [key, value] : source.metadata()) {
    fmt::print("  {}: {}\n", printable(key, 80), printable(value, 200));
  }
  fmt::print("\n  {:{}}  {:8}  {:>14}  shape\n", "tensor", width, "dtype", "bytes");
  for (const auto& entry : source.entries()) {
    fmt::print("  {:{}}  {:8}  {:>14}  {}\n", printable(entry.name, 80), width,
               dtype_name(entry.dtype), entry.byte_count, shape_text(entry.shape));
  }
}

int run_inspect(const std::string& file) {
  if (is_trace(file)) return inspect_trace(file);
  const auto source = checkpoint::open_checkpoint(file);
  print_tensors(*source);
  try {
    const auto selection = checkpoint::select_linear_layers(*source, {});
    fmt::print("\n  {} linear layers that FP8 GEMMs can take\n", selection.layers.size());
    for (const auto& [layer, reason] : selection.skipped) {
      fmt::print("  skipped: {}: {}\n", printable(layer), reason);
    }
  } catch (const Error& error) {  // a file of captured inputs, say
    fmt::print("\n  not to be checked: {}\n", error.what());
  }
  return kSame;
}

}  // namespace

void add_inspect(CLI::App& app, Invocation& invocation) {
  auto file = std::make_shared<std::string>();
  CLI::App& inspect = *app.add_subcommand("inspect", "Show what is in a checkpoint or a trace");
  inspect.add_option("FILE", *file, "a safetensors file, or the folder of one trace")
      ->required()
      ->check(not_empty());
  inspect.callback([file, &invocation] { invocation.run = [file] { return run_inspect(*file); }; });
}

}  // namespace samebits::cli
