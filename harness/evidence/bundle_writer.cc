#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <tuple>

#include "harness/checkpoint/safetensors_writer.h"
#include "harness/core/error.h"
#include "harness/core/printable.h"
#include "harness/core/values.h"
#include "harness/evidence/bundle.h"
#include "harness/evidence/bundle_manifest.h"
#include "harness/evidence/checksums.h"
#include "harness/evidence/trace_writer.h"
#include "harness/evidence/write_file.h"

namespace samebits::evidence {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const fs::path& path, const std::string& reason) {
  throw Error(printable(path.native()) + ": " + reason);
}

std::map<std::string, HostTensor> input_tensors(const CheckedLayer& checked) {
  const std::string& name = checked.layer.name;
  std::map<std::string, HostTensor> tensors{{name + ".weight", checked.layer.weight}};
  const auto add = [&](const char* what, const std::optional<HostTensor>& tensor) {
    if (tensor) tensors.emplace(name + what, *tensor);
  };
  add(".bias", checked.layer.bias);
  add(".x", checked.inputs.x);
  add(".dy", checked.inputs.dy);
  add(".target", checked.inputs.targets);
  add(".evaluation", checked.inputs.evaluations);
  return tensors;
}

std::string environment_json(const BundleContent& content) {
  Json json = {{"schema", "samebits-environment-1"},
               {"environment", Json::object()},
               {"gemms", Json::array()}};
  for (const auto& [name, value] : content.environment) json["environment"][name] = value;
  std::set<std::tuple<std::string, std::string, std::string, int>> seen;
  for (const Trace* trace : {&content.result->a, &content.result->b}) {
    for (const Event& event : trace->events) {
      if (!event.gemm) continue;
      const GemmRecord& gemm = *event.gemm;
      if (!seen.emplace(trace->arm, gemm.by, gemm.algorithm, gemm.split_k).second) continue;
      json["gemms"].push_back({{"arm", trace->arm},
                               {"by", gemm.by},
                               {"algorithm", gemm.algorithm},
                               {"split_k", gemm.split_k}});
    }
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Some file systems cannot sync a folder; the files in it are whole either way.
void sync_folder(const fs::path& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

std::uint64_t tensor_bytes(const BundleContent& content) {
  std::uint64_t bytes = 0;
  for (const auto& [name, tensor] : input_tensors(content.request->layers.front())) {
    bytes += tensor.bytes.size();
  }
  for (const auto* side : {&content.result->first->a, &content.result->first->b}) {
    for (const HostTensor& tensor : *side) bytes += tensor.bytes.size();
  }
  return bytes;
}

// Everything, into a folder that exists and is empty; gives SHA256SUMS' text.
std::string write_files(const fs::path& directory, const BundleContent& content,
                        std::uint64_t& bytes) {
  const CheckRequest& request = *content.request;
  const CheckResult& result = *content.result;
  write_file(directory / "manifest.json", manifest_json(content));
  write_file(directory / "environment.json", environment_json(content));
  write_file(directory / "REPLAY.md", replay_text(content));
  checkpoint::write_safetensors(directory / "inputs.safetensors",
                                input_tensors(request.layers.front()), {});
  write_trace(directory / "a", {&result.a, &request.program, content.environment, result.first->a});
  write_trace(directory / "b", {&result.b, &request.program, content.environment, result.first->b});
  std::map<std::string, Sha256Value> digests;
  for (const std::string& name : bundle_files()) {
    const auto file = checkpoint::MappedFile::open(directory / name);
    bytes += file->bytes().size();
    Sha256 hash;
    hash.update(file->bytes());
    digests[name] = hash.finish();
  }
  const std::string text = checksums_text(digests);
  write_file(directory / kChecksums, text);
  bytes += text.size();
  if (bytes > kMaxBundleBytes) {
    throw Error("the bundle has " + std::to_string(bytes) + " bytes, more than the limit of " +
                std::to_string(kMaxBundleBytes));
  }
  for (const char* folder : {"a", "b", ""}) sync_folder(directory / folder);
  return text;
}

// A bundle that is being written; gone again unless it got its place.
class Aside {
 public:
  explicit Aside(const fs::path& parent) {
    static int counter = 0;
    path_ = parent / (".samebits-" + std::to_string(::getpid()) + "-" + std::to_string(counter++) +
                      ".partial");
    std::error_code error;
    if (!fs::create_directory(path_, error)) {
      const std::string reason = error ? error.message() : "a folder of an earlier run is there";
      refuse(parent, "no bundle can be written there: " + reason);
    }
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  ~Aside() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

  // Renames: over an empty folder, or where there is nothing. False where something is there.
  bool take_place(const fs::path& directory) {
    if (std::rename(path_.c_str(), directory.c_str()) != 0) {
      if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) return false;
      refuse(directory, "cannot be made: " + std::generic_category().message(errno));
    }
    path_.clear();
    sync_folder(directory.parent_path());
    return true;
  }

 private:
  fs::path path_;
};

void require_small(const BundleContent& content) {
  if (const std::uint64_t bytes = tensor_bytes(content); bytes > kMaxBundleBytes) {
    throw Error("the bundle's tensors have " + std::to_string(bytes) +
                " bytes, more than the limit of " + std::to_string(kMaxBundleBytes));
  }
}

bool same_bundle(const fs::path& directory, const std::string& checksums) {
  try {
    return checkpoint::MappedFile::open(directory / kChecksums)->text() == checksums;
  } catch (const Error&) {
    return false;
  }
}

// Without the filename part that "x/" or "." has not.
fs::path plain(const fs::path& directory) {
  const fs::path path = fs::absolute(directory).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

const std::vector<std::string>& bundle_files() {
  static const std::vector<std::string> kFiles{
      "REPLAY.md",    "a/events.jsonl",   "a/payload-000.safetensors",
      "a/trace.json", "b/events.jsonl",   "b/payload-000.safetensors",
      "b/trace.json", "environment.json", "inputs.safetensors",
      "manifest.json"};
  return kFiles;
}

Written write_bundle(const fs::path& directory, const BundleContent& content) {
  require_small(content);
  const fs::path target = plain(directory);
  std::error_code error;
  const bool exists = fs::exists(fs::symlink_status(target, error));
  if (exists && !(fs::is_directory(target, error) && fs::is_empty(target, error))) {
    refuse(directory, "exists and is not an empty folder");
  }
  Written written{directory, 0, false};
  Aside aside(target.parent_path());
  write_files(aside.path(), content, written.bytes);
  if (!aside.take_place(target)) refuse(directory, "exists and is not an empty folder");
  return written;
}

Written write_bundle_below(const fs::path& parent, const BundleContent& content) {
  require_small(content);
  std::error_code error;
  const bool made = fs::create_directory(parent, error);
  if (error) refuse(parent, "cannot be made: " + error.message());
  try {
    Written written;
    Aside aside(parent);
    const std::string checksums = write_files(aside.path(), content, written.bytes);
    Sha256 hash;
    hash.update(std::as_bytes(std::span(checksums)));
    written.directory = parent / hex(hash.finish()).substr(0, 8);
    if (!aside.take_place(plain(written.directory))) {
      if (!same_bundle(written.directory, checksums)) {
        refuse(written.directory, "exists and is another bundle");
      }
      written.was_there = true;
    }
    return written;
  } catch (...) {
    if (made) fs::remove(parent, error);  // only where it is empty
    throw;
  }
}

}  // namespace samebits::evidence
