#include "harness/cli/environment.h"

#include <thread>

namespace samebits::cli {

std::vector<std::pair<std::string, std::string>> environment() {
  return {{"samebits", SAMEBITS_VERSION},
          {"compiler", __VERSION__},
          {"cores", std::to_string(std::thread::hardware_concurrency())}};
}

}  // namespace samebits::cli
