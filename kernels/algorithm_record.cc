#include "kernels/algorithm_record.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <stdexcept>

namespace samebits::kernels {
namespace {

constexpr std::int64_t kMax16 = std::numeric_limits<std::uint16_t>::max();
constexpr std::int64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMaxAlignment = 256;

struct Field {
  std::string_view key;
  std::int64_t AlgorithmRecord::*member;
  std::int64_t least;
  std::int64_t most;  // of the library's own type
  bool is_alignment = false;
};

constexpr Field kFields[] = {
    {"id", &AlgorithmRecord::id, 0, kMaxInt},
    {"tile", &AlgorithmRecord::tile, 0, kMax32},
    {"stages", &AlgorithmRecord::stages, 0, kMax32},
    {"splitk", &AlgorithmRecord::split_k, 1, kMaxInt},
    {"red", &AlgorithmRecord::reduction, 0, kMax32},
    {"swz", &AlgorithmRecord::swizzle, 0, kMax32},
    {"cust", &AlgorithmRecord::custom, 0, kMax32},
    {"inner", &AlgorithmRecord::inner, 0, kMax16},
    {"clus", &AlgorithmRecord::cluster, 0, kMax16},
    {"ws", &AlgorithmRecord::workspace, 0, kMax64},
    {"align_a", &AlgorithmRecord::align_a, 1, kMaxAlignment, true},
    {"align_b", &AlgorithmRecord::align_b, 1, kMaxAlignment, true},
    {"align_c", &AlgorithmRecord::align_c, 1, kMaxAlignment, true},
    {"align_d", &AlgorithmRecord::align_d, 1, kMaxAlignment, true},
    {"align_bias", &AlgorithmRecord::align_bias, 0, kMaxAlignment, true},
    {"cublaslt", &AlgorithmRecord::version, 0, kMax64},
};

[[noreturn]] void fail(const std::string& reason) {
  throw std::invalid_argument("algorithm record: " + reason);
}

// Takes the characters up to the next space, and the space, off `rest`.
std::string_view next_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

// Only what std::to_string writes: no sign, no leading zero.
std::int64_t number(std::string_view digits, const Field& field) {
  const std::string key(field.key);
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value);
  if (parsed.ec == std::errc::result_out_of_range) fail(key + " is out of range");
  if (parsed.ec != std::errc() || parsed.ptr != end || std::to_string(value) != digits) {
    fail(key + " is not a plain decimal number");
  }
  if (value < field.least || value > field.most) fail(key + " is out of range");
  if (field.is_alignment && value != 0 && !std::has_single_bit(static_cast<std::uint64_t>(value))) {
    fail(key + " is not a power of two");
  }
  return value;
}

}  // namespace

std::string to_text(const AlgorithmRecord& record) {
  std::string text;
  for (const Field& field : kFields) {
    if (!text.empty()) text += ' ';
    text.append(field.key).append("=").append(std::to_string(record.*field.member));
  }
  return text;
}

AlgorithmRecord parse_algorithm(std::string_view text) {
  if (text.ends_with(' ')) fail("a space at the end");
  AlgorithmRecord record;
  std::string_view rest = text;
  for (const Field& field : kFields) {
    const std::string_view word = next_word(rest);
    const std::size_t equals = word.find('=');
    if (equals == word.npos || word.substr(0, equals) != field.key) {
      fail("expected " + std::string(field.key) + "=, found \"" + std::string(word) + "\"");
    }
    record.*field.member = number(word.substr(equals + 1), field);
  }
  if (!rest.empty()) fail("more after cublaslt=: \"" + std::string(rest) + "\"");
  return record;
}

std::int64_t dropped_terms(std::int64_t k, const AlgorithmRecord& record, bool any_128x128) {
  const std::int64_t slices = record.split_k;
  if (slices <= 1) return 0;
  const std::int64_t multiple = any_128x128 ? 512 : 128;
  const std::int64_t slice = (k / slices + multiple - 1) / multiple * multiple;
  return std::max<std::int64_t>(0, k - slices * slice);
}

}  // namespace samebits::kernels
