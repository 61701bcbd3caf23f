#include "harness/cli/environment.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "harness/cli/backends.h"
#include "harness/core/printable.h"
#include "reference/fast/isa.h"

namespace samebits::cli {
namespace {

// What may decide which code runs, of ours and of NVIDIA's libraries. Nothing else of the
// environment leaves the machine.
constexpr std::array kVariables{"SAMEBITS_ISA",
                                "CUBLAS_WORKSPACE_CONFIG",
                                "CUBLASLT_WORKSPACE_SIZE",
                                "CUDA_DEVICE_ORDER",
                                "CUDA_LAUNCH_BLOCKING",
                                "CUDA_VISIBLE_DEVICES",
                                "NVIDIA_TF32_OVERRIDE",
                                "LD_BIND_NOW"};

// As Linux names it; empty where it does not.
std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return printable(line.substr(colon + 2), 100);
    }
  }
  return {};
}

std::string isa_name() {
  try {
    return std::string(reference::fast::name(reference::fast::chosen()));
  } catch (const std::invalid_argument&) {  // SAMEBITS_ISA: the run itself will refuse it
    return "none";
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> environment() {
  std::vector<std::pair<std::string, std::string>> rows{
      {"samebits", SAMEBITS_VERSION},
      {"revision", SAMEBITS_REVISION},
      {"compiler", __VERSION__},
      {"flags", SAMEBITS_FLAGS},
      {"cpu", cpu_name()},
      {"isa", isa_name()},
      {"cores", std::to_string(std::thread::hardware_concurrency())}};
  for (const char* const name : kVariables) {
    if (const char* value = std::getenv(name)) rows.emplace_back(name, printable(value, 100));
  }
  for (auto& row : backend_environment()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace samebits::cli
