// A reference backend that does one thing wrong, on purpose.
#pragma once

#include <memory>
#include <optional>

#include "harness/core/backend.h"

namespace samebits {

struct Meddling {
  std::optional<Operation> flip = {};       // a bit of this GEMM's first result: the lowest
  std::size_t flip_byte = 0;                // of this byte
  std::optional<DType> flip_uploaded = {};  // the lowest bit of each upload of this dtype
  std::int64_t dropped_terms = 0;           // that every GEMM's record tells of
  bool negative_zeros = false;              // every zero that a GEMM gives is -0
  std::string by = {}, chip = {};           // that every GEMM's record names, instead of its own
};

std::unique_ptr<Backend> meddling_backend(int threads, const Meddling& meddling);

}  // namespace samebits
