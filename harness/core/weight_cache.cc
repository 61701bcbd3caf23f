#include "harness/core/weight_cache.h"

#include "reference/mutants.h"

namespace samebits {
namespace {

// Quantises into `copy`, in place where it has buffers. The directions that it has stay; the ones
// asked for are added.
void fill(Backend& backend, const Tensor& weight, const evidence::Sha256Value& digest,
          const WeightRequest& request, WeightCopy& copy) {
  QuantizeSpec spec;
  spec.parameters = copy.parameters;
  spec.scale = request.scale;
  spec.columnwise = request.columnwise || copy.bytes.columnwise;
  if (mutant("stale columnwise half")) spec.columnwise = request.columnwise;
  backend.quantize(weight, spec, copy.bytes);
  const bool first = copy.source == evidence::Sha256Value{};
  if (first || !mutant("source of the first fill")) copy.source = digest;
}

}  // namespace

bool WeightCache::lacks_columnwise(const WeightRequest& request) const {
  return request.columnwise && !copy_->bytes.columnwise && !mutant("cache key without usage");
}

WeightUse WeightCache::use(Backend& backend, const Tensor& weight,
                           const evidence::Sha256Value& digest, const WeightRequest& request) {
  if (request.flag == CacheFlag::kNone && !mutant("None uses the cache")) {
    WeightCopy fresh;
    fresh.parameters = request.parameters;
    fill(backend, weight, digest, request, fresh);
    return {fresh, true};
  }

  const bool other = copy_ && copy_->parameters.kind != request.parameters.kind;
  if (other && !mutant("copy of another recipe")) copy_.reset();
  if (request.flag == CacheFlag::kFalse && copy_ && lacks_columnwise(request)) {
    if (copy_->parameters.mode == ScaleMode::k128x128) {
      copy_->bytes.columnwise = mutant("rowwise bytes as columnwise")
                                    ? copy_->bytes.rowwise
                                    : backend.transpose(copy_->bytes.rowwise);
    } else {
      copy_.reset();
    }
  }
  const bool refill = request.flag == CacheFlag::kTrue && !mutant("True does not refill");
  const bool fresher = copy_ && copy_->source != digest && mutant("False hides a stale copy");
  const bool cast = refill || fresher || !copy_;
  if (!copy_) {
    copy_.emplace();
    copy_->parameters = request.parameters;
  }
  if (mutant("parameters follow the recipe")) copy_->parameters = request.parameters;
  if (cast) fill(backend, weight, digest, request, *copy_);
  return {*copy_, cast};
}

}  // namespace samebits
