#include "harness/cli/write_bundle.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "harness/cli/backends.h"
#include "harness/cli/environment.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/terminal.h"
#include "harness/core/error.h"
#include "harness/core/minimise.h"
#include "harness/core/printable.h"
#include "harness/evidence/bundle.h"

namespace samebits::cli {
namespace {

constexpr const char* kBundles = "bundles";
// The tensors of the first difference come on top of the inputs'.
constexpr std::uint64_t kMostInputBytes = evidence::kMaxBundleBytes / 2;

std::optional<Minimised> smallest(const CheckRequest& request, const CheckResult& result,
                                  const BundleOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto most = std::chrono::seconds(options.seconds);
  MinimiseOptions minimising;
  minimising.most_bytes = kMostInputBytes;
  minimising.records = options.records;
  minimising.stop = [&] { return interrupted() || Clock::now() - start >= most; };
  return minimise(request, result, make_backend, minimising);
}

}  // namespace

std::string write_bundle(const CheckRequest& request, const CheckResult& result,
                         const BundleOptions& options) {
  try {
    const auto minimised = smallest(request, result, options);
    if (!minimised) {
      throw Error(interrupted()
                      ? "interrupted before a small step showed the difference"
                      : fmt::format("within {} s no step of at most {} bytes showed the difference "
                                    "(--bundle-seconds gives more time)",
                                    options.seconds, kMostInputBytes));
    }
    const evidence::BundleContent content{&minimised->request, &minimised->result,
                                          options.records != nullptr, minimised->finished,
                                          environment()};
    const evidence::Written written = options.directory.empty()
                                          ? evidence::write_bundle_below(kBundles, content)
                                          : evidence::write_bundle(options.directory, content);
    return written.directory.native();
  } catch (const Error& error) {
    std::fputs(fmt::format("samebits: warning: no bundle: {}\n", printable(error.what())).c_str(),
               stderr);
    return {};
  }
}

}  // namespace samebits::cli
