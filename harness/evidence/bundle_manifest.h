// What a bundle says of itself: manifest.json and REPLAY.md.
#pragma once

#include <string>
#include <string_view>

#include "harness/evidence/bundle.h"

namespace samebits::evidence {

// manifest.json, schema "samebits-bundle-1".
std::string manifest_json(const BundleContent& content);

// REPLAY.md.
std::string replay_text(const BundleContent& content);

struct Manifest {
  Program program;
  Arm a, b;
  bool pinned = false;
  std::optional<float> learning_rate;
  Cause cause = Cause::kInputsDiffer;
  EventKey key;                        // of the first event that differs
  std::string tensor;                  // the first of it that does
  Sha256Value digest_a{}, digest_b{};  // of the traces
};

// Untrusted: throws Error with the reason.
Manifest parse_manifest(std::string_view text);

// {"name": "value"} of environment.json.
std::map<std::string, std::string> parse_environment(std::string_view text);

}  // namespace samebits::evidence
