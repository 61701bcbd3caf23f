// samebits digest FILE...: for each checkpoint the SHA-256 of the file, as sha256sum prints it, and
// the digest of each tensor in it.
#include "harness/evidence/digest.h"

#include <fmt/format.h>

#include "harness/checkpoint/mapped_file.h"
#include "harness/checkpoint/tensor_source.h"
#include "harness/cli/commands.h"
#include "harness/cli/option_values.h"
#include "harness/core/printable.h"

namespace samebits::cli {
namespace {

int run_digest(const std::vector<std::string>& files) {
  // All are opened first: a bad file among them must not leave half an output.
  std::vector<std::unique_ptr<checkpoint::TensorSource>> sources;
  for (const std::string& file : files) sources.push_back(checkpoint::open_checkpoint(file));
  for (const auto& source : sources) {
    const auto file = checkpoint::MappedFile::open(source->path());
    evidence::Sha256 hash;
    hash.update(file->bytes());
    fmt::print("{}  {}\n", evidence::hex(hash.finish()), printable(source->path().native()));
    for (const auto& entry : source->entries()) {
      fmt::print("  {}  {}\n", evidence::hex(evidence::tensor_digest(source->read(entry.name))),
                 printable(entry.name));
    }
  }
  return kSame;
}

}  // namespace

void add_digest(CLI::App& app, Invocation& invocation) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App& digest =
      *app.add_subcommand("digest", "Print the digests of checkpoints and of each tensor in them");
  digest.add_option("FILE", *files, "safetensors files")->required()->check(not_empty());
  digest.callback(
      [files, &invocation] { invocation.run = [files] { return run_digest(*files); }; });
}

}  // namespace samebits::cli
