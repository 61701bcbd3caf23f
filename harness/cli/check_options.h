// The options of samebits check.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace samebits::cli {

struct CheckArguments {
  std::string checkpoint;
  std::string recipe = "block";
  std::string scale, formats;  // empty: the recipe's default
  std::string scenario = "train";
  std::string main_grad = "accumulate";
  std::string arms, backend = "auto";
  std::string gemm = "heuristic";
  int microbatches = 4, steps = 2;
  std::optional<std::int64_t> tokens;
  std::vector<std::string> layers;
  std::string inputs;
  std::uint64_t seed = 0;
  std::optional<float> lr;
  int threads = 0;
  std::string json, trace;
  bool payload = false;
  std::string bundle;  // empty: bundles/<8 hex>
  bool no_bundle = false;
  int bundle_seconds = 30;
};

void add_options(CLI::App& check, CheckArguments& options);

}  // namespace samebits::cli
