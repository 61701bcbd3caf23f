// Which GPU is here, and whether it can be used.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace samebits::kernels {

struct DeviceInfo {
  std::string name;                // "NVIDIA H200"
  std::string compute_capability;  // "9.0"
  std::string driver;   // "580.159.04", or the newest CUDA it serves where it does not say
  std::string runtime;  // "13.0"
  int multiprocessors = 0;
  std::size_t l2_bytes = 0;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};

// Why this machine cannot run the kernels: no driver, no device, or another chip than compute
// capability 9.0 (the arithmetic that is checked is Hopper's). Nothing where it can. Never throws
// CudaError.
std::optional<std::string> why_unusable();

// Of the current device. Throws CudaError.
DeviceInfo device_info();

}  // namespace samebits::kernels
