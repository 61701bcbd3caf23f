#include "harness/cli/environment.h"

#include <thread>

#include "harness/cli/backends.h"

namespace samebits::cli {

std::vector<std::pair<std::string, std::string>> environment() {
  std::vector<std::pair<std::string, std::string>> rows{
      {"samebits", SAMEBITS_VERSION},
      {"compiler", __VERSION__},
      {"cores", std::to_string(std::thread::hardware_concurrency())}};
  for (auto& row : backend_environment()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace samebits::cli
