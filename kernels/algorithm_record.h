// The algorithm that the library chose for one GEMM. It decides bits, so it travels with the
// result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace samebits::kernels {

// As read back from the library (CUBLASLT_ALGO_CONFIG_*), with what was declared to it when it
// chose. Everything is a number of the library's own; only split_k is known to move bits.
struct AlgorithmRecord {
  std::int64_t id = 0;
  std::int64_t tile = 0;
  std::int64_t stages = 0;
  std::int64_t split_k = 1;  // slices of K
  std::int64_t reduction = 0;
  std::int64_t swizzle = 0;
  std::int64_t custom = 0;
  std::int64_t inner = 0;
  std::int64_t cluster = 0;
  std::int64_t workspace = 0;  // bytes the algorithm needs
  // Of the pointers: the largest power of two up to 256; null counts as 256, but 0 for no bias.
  std::int64_t align_a = 256;
  std::int64_t align_b = 256;
  std::int64_t align_c = 256;
  std::int64_t align_d = 256;
  std::int64_t align_bias = 0;
  std::int64_t version = 0;  // cublasLtGetVersion(): 130100 is 13.1.0

  bool operator==(const AlgorithmRecord&) const = default;
};

// "id=66 tile=10 stages=36 splitk=1 red=0 swz=0 cust=3 inner=0 clus=8 ws=0 align_a=256 align_b=256
// align_c=256 align_d=256 align_bias=0 cublaslt=130100" in one line.
std::string to_text(const AlgorithmRecord& record);

// The inverse of to_text and of nothing else: every key once, in that order, one space between,
// plain decimal numbers in range. Throws std::invalid_argument that names the key and the reason.
AlgorithmRecord parse_algorithm(std::string_view text);

// The last terms of every sum over K that this algorithm never adds: split K runs `split_k` slices
// of ceil(floor(k / split_k) / G) * G elements and none beyond, so it loses k - split_k * slice
// terms where that is positive, and the library reports success. G = 128, but 512 where one side
// has 128x128 scales. Measured on an H200: M = N = 64, K = 96784 of ones, split_k 36 gives 96768.
std::int64_t dropped_terms(std::int64_t k, const AlgorithmRecord& record, bool any_128x128);

}  // namespace samebits::kernels
