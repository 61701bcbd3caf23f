#include "harness/core/modelled.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "harness/core/arm.h"
#include "harness/core/printable.h"

namespace samebits {
namespace {

// As cublasLtGetVersion() counts: major * 10000 + minor * 100 + patch. Every other version is not
// measured; one joins the list when an H200 has run the GPU tests and the golden files with it.
constexpr std::array kMeasuredVersions{130100};
constexpr std::string_view kMeasuredChip = "9.0";  // compute capability
constexpr std::string_view kLibrary = "cuBLASLt ";

std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::string measured_versions() {
  std::string text;
  for (const int version : kMeasuredVersions) {
    text += (text.empty() ? "" : " or ") + version_text(version);
  }
  return text;
}

std::optional<std::string> other_library(const std::string& by) {
  if (!by.starts_with(kLibrary))
    return printable(by, 80) + ", not " + std::string(kLibrary) + measured_versions();
  int version = 0;
  const char* const begin = by.data() + kLibrary.size();
  const char* const end = by.data() + by.size();
  const auto parsed = std::from_chars(begin, end, version);
  const bool number = parsed.ec == std::errc() && parsed.ptr == end && version >= 0;
  if (number && std::count(kMeasuredVersions.begin(), kMeasuredVersions.end(), version) > 0) {
    return std::nullopt;
  }
  const std::string found =
      number ? std::string(kLibrary) + version_text(version) : printable(by, 80);
  return found + ", not " + measured_versions();
}

std::optional<std::string> other_chip(const std::string& chip) {
  if (chip == kMeasuredChip) return std::nullopt;
  const std::string measured = ", not " + std::string(kMeasuredChip);
  return (chip.empty() ? "a compute capability that is not recorded"
                       : "compute capability " + printable(chip, 20)) +
         measured;
}

class Counts {
 public:
  void add(const std::string& where, const GemmRecord& record) {
    if (const auto why = why_not_modelled(record)) ++counts_[{where, *why}];
  }
  std::vector<Finding> findings() const {
    std::vector<Finding> findings;
    for (const auto& [key, count] : counts_) {
      findings.push_back({"not modelled", key.first, count,
                          "GEMMs by " + key.second +
                              ": the reference's model was not measured there, so that where it "
                              "differs from them neither side is shown to be wrong"});
    }
    return findings;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::int64_t> counts_;  // where, why
};

}  // namespace

std::optional<std::string> why_not_modelled(const GemmRecord& record) {
  if (record.by == kReference) return std::nullopt;
  const auto library = other_library(record.by), chip = other_chip(record.chip);
  if (library && chip) return *library + ", on " + *chip;
  if (chip) return record.by + " on " + *chip;
  return library;
}

std::vector<Finding> find_not_modelled(const std::vector<const Trace*>& traces,
                                       const GemmRecords* followed) {
  Counts counts;
  for (const Trace* trace : traces) {
    for (const Event& event : trace->events) {
      if (event.gemm) counts.add(trace->arm, *event.gemm);
    }
  }
  if (followed) {
    for (const Event& event : traces.front()->events) {
      const GemmRecord* record = event.gemm ? followed->find(event.key) : nullptr;
      if (record) counts.add("followed records", *record);
    }
  }
  return counts.findings();
}

}  // namespace samebits
