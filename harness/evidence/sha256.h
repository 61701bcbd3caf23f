// SHA-256 (FIPS 180-4), through OpenSSL's EVP.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace samebits::evidence {

using Sha256Value = std::array<std::byte, 32>;

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::span<const std::byte> bytes);
  Sha256Value finish();  // once

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string hex(const Sha256Value& value);                    // 64 lower-case digits
std::optional<Sha256Value> parse_hex(std::string_view text);  // of just that form

}  // namespace samebits::evidence
