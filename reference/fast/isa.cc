#include "reference/fast/isa.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "reference/fast/kernels.h"

namespace samebits::reference::fast {
namespace {

bool runs(Isa isa) {
#ifdef SAMEBITS_X86_KERNELS
  switch (isa) {
    case Isa::kAvx512:
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
             __builtin_cpu_supports("fma") != 0;
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    case Isa::kPortable:
      break;
  }
#endif
  return isa == Isa::kPortable;
}

}  // namespace

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kPortable:
      break;
  }
  return "portable";
}

const std::vector<Isa>& available() {
  static const std::vector<Isa> list = [] {
    std::vector<Isa> found;
    for (const Isa isa : {Isa::kAvx512, Isa::kAvx2, Isa::kPortable}) {
      if (runs(isa)) found.push_back(isa);
    }
    return found;
  }();
  return list;
}

const Kernels& kernels_of(Isa isa) {
#ifdef SAMEBITS_X86_KERNELS
  if (isa == Isa::kAvx512) return kAvx512Kernels;
  if (isa == Isa::kAvx2) return kAvx2Kernels;
#endif
  (void)isa;
  return kPortableKernels;
}

Isa chosen() {
  const char* wanted = std::getenv("SAMEBITS_ISA");
  if (wanted == nullptr) return available().front();
  const auto found =
      std::ranges::find_if(available(), [&](Isa isa) { return name(isa) == wanted; });
  if (found != available().end()) return *found;
  std::string message =
      "SAMEBITS_ISA is \"" + std::string(wanted) + "\", but this CPU and build have";
  for (const Isa isa : available()) message += " " + std::string(name(isa));
  throw std::invalid_argument(message);
}

}  // namespace samebits::reference::fast
