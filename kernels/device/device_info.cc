#include "kernels/device/device_info.h"

#include <dlfcn.h>

#include <memory>

#include "kernels/device/check.h"

namespace samebits::kernels {
namespace {

// CUDA writes 13.0 as 13000.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// The runtime knows the driver's own version number only through the management library, which
// comes with the driver. Empty where it does not answer.
std::string driver_release() {
  const std::unique_ptr<void, int (*)(void*)> library(dlopen("libnvidia-ml.so.1", RTLD_LAZY),
                                                      [](void* l) { return l ? dlclose(l) : 0; });
  if (!library) return {};
  using Init = int();
  using DriverVersion = int(char*, unsigned);
  auto* init = reinterpret_cast<Init*>(dlsym(library.get(), "nvmlInit_v2"));
  auto* driver_version =
      reinterpret_cast<DriverVersion*>(dlsym(library.get(), "nvmlSystemGetDriverVersion"));
  char text[80] = {};
  if (!init || !driver_version || init() != 0 || driver_version(text, sizeof(text)) != 0) return {};
  return text;
}

}  // namespace

std::optional<std::string> why_unusable() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaErrorInsufficientDriver) {
    static_cast<void>(cudaGetLastError());
    int version = 0;
    static_cast<void>(cudaDriverGetVersion(&version));
    if (version == 0) return "no NVIDIA driver is installed";
    return "the NVIDIA driver is too old: it serves CUDA " + version_text(version);
  }
  if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0)) {
    static_cast<void>(cudaGetLastError());
    return "no CUDA device is visible";
  }
  cudaDeviceProp properties{};
  const cudaError_t asked = code == cudaSuccess ? cudaGetDeviceProperties(&properties, 0) : code;
  if (asked != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return std::string("the CUDA device does not answer: ") + cudaGetErrorString(asked);
  }
  if (properties.major == 9 && properties.minor == 0) return std::nullopt;
  return std::string(properties.name) + " has compute capability " +
         std::to_string(properties.major) + "." + std::to_string(properties.minor) +
         ", 9.0 (Hopper) is needed";
}

DeviceInfo device_info() {
  DeviceInfo info;
  int device = 0, driver = 0, runtime = 0;
  cudaDeviceProp properties{};
  SAMEBITS_CUDA_CHECK(cudaGetDevice(&device));
  SAMEBITS_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  SAMEBITS_CUDA_CHECK(cudaDriverGetVersion(&driver));
  SAMEBITS_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  SAMEBITS_CUDA_CHECK(cudaMemGetInfo(&info.free_bytes, &info.total_bytes));
  info.name = properties.name;
  info.compute_capability =
      std::to_string(properties.major) + "." + std::to_string(properties.minor);
  info.driver = driver_release();
  if (info.driver.empty()) info.driver = "for CUDA " + version_text(driver);
  info.runtime = version_text(runtime);
  info.multiprocessors = properties.multiProcessorCount;
  info.l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  return info;
}

}  // namespace samebits::kernels
