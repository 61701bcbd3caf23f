#include "harness/core/weight_cache.h"

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
  backend.quantize(weight, spec, copy.bytes);
  copy.source = digest;
}

}  // namespace

bool WeightCache::lacks_columnwise(const WeightRequest& request) const {
  return request.columnwise && !copy_->bytes.columnwise;
}

WeightUse WeightCache::use(Backend& backend, const Tensor& weight,
                           const evidence::Sha256Value& digest, const WeightRequest& request) {
  if (request.flag == CacheFlag::kNone) {
    WeightCopy fresh;
    fresh.parameters = request.parameters;
    fill(backend, weight, digest, request, fresh);
    return {fresh, true};
  }

  if (copy_ && copy_->parameters.kind != request.parameters.kind) copy_.reset();
  if (request.flag == CacheFlag::kFalse && copy_ && lacks_columnwise(request)) {
    if (copy_->parameters.mode == ScaleMode::k128x128) {
      copy_->bytes.columnwise = backend.transpose(copy_->bytes.rowwise);
    } else {
      copy_.reset();
    }
  }
  const bool cast = request.flag == CacheFlag::kTrue || !copy_;
  if (!copy_) {
    copy_.emplace();
    copy_->parameters = request.parameters;
  }
  if (cast) fill(backend, weight, digest, request, *copy_);
  return {*copy_, cast};
}

}  // namespace samebits
