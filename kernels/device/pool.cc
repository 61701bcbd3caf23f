#include "kernels/device/pool.h"

#include <cstdlib>
#include <map>
#include <utility>

namespace samebits::kernels {

bool poison_is_wanted() { return std::getenv("SAMEBITS_NO_POISON") == nullptr; }

struct Pool::Shelf {
  std::multimap<std::size_t, std::unique_ptr<Buffer>> idle;  // by size
};

void Pool::Return::operator()(Buffer* buffer) const noexcept {
  std::unique_ptr<Buffer> owned(buffer);
  const auto kept = shelf.lock();
  if (!kept) return;
  try {
    const std::size_t size = owned->size();
    kept->idle.emplace(size, std::move(owned));
  } catch (...) {
    // No room on the host to keep it: it is freed.
  }
}

Pool::Pool(cudaStream_t stream, bool poisoned)
    : stream_(stream), poisoned_(poisoned), shelf_(std::make_shared<Shelf>()) {}

Pool::~Pool() = default;

Pool::Handle Pool::take(std::size_t size) {
  const auto found = shelf_->idle.find(size);
  if (found == shelf_->idle.end()) return Handle(make(size).release(), Return{shelf_});
  Handle buffer(found->second.release(), Return{shelf_});
  shelf_->idle.erase(found);
  if (poisoned_) buffer->fill(Buffer::kPoison, stream_);
  return buffer;
}

std::unique_ptr<Buffer> Pool::make(std::size_t size) {
  ++allocations_;
  try {
    return std::make_unique<Buffer>(size, stream_, poisoned_);
  } catch (const OutOfMemory&) {
    if (shelf_->idle.empty()) throw;
  }
  free_idle();
  return std::make_unique<Buffer>(size, stream_, poisoned_);
}

void Pool::free_idle() { shelf_->idle.clear(); }

std::optional<GuardDamage> Pool::verify_idle_guards() const {
  for (const auto& [size, buffer] : shelf_->idle) {
    if (const auto damage = buffer->verify_guards(stream_)) return damage;
  }
  return std::nullopt;
}

}  // namespace samebits::kernels
