#include "harness/evidence/sha256.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <stdexcept>

namespace samebits::evidence {
namespace {

// EVP fails where memory or the provider does: nothing that input can cause.
void check(int ok, const char* call) {
  if (ok == 1) return;
  char reason[256];
  ERR_error_string_n(ERR_get_error(), reason, sizeof reason);
  throw std::runtime_error(std::string("OpenSSL: ") + call + ": " + reason);
}

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  check(context_->evp != nullptr, "EVP_MD_CTX_new");
  check(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr), "EVP_DigestInit_ex");
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  if (!context_) throw std::logic_error("Sha256::update after finish");
  check(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()), "EVP_DigestUpdate");
}

Sha256Value Sha256::finish() {
  if (!context_) throw std::logic_error("Sha256::finish called twice");
  Sha256Value value;
  check(EVP_DigestFinal_ex(context_->evp, reinterpret_cast<unsigned char*>(value.data()), nullptr),
        "EVP_DigestFinal_ex");
  context_.reset();
  return value;
}

std::string hex(const Sha256Value& value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte b : value) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 0xf];
  }
  return text;
}

std::optional<Sha256Value> parse_hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  Sha256Value value;
  if (text.size() != 2 * value.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    const auto high = i % 2 == 0 ? std::byte{0} : value[i / 2] << 4;
    value[i / 2] = high | static_cast<std::byte>(digit);
  }
  return value;
}

}  // namespace samebits::evidence
