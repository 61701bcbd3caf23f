// Splits an index range over threads. Every index is computed on its own, so results do not depend on the thread count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace samebits::reference {

// `threads`, or for 0 the number of cores.
inline int thread_count(int threads) {
  return threads > 0 ? threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

// Calls body(begin, end) on disjoint ranges that cover [0, count). `threads` 0 means all cores; fewer are used where a
// range would hold less than `grain` indices. Rethrows the first exception, in range order, after all have ended.
template <class Body>
void parallel_for(int threads, std::int64_t count, std::int64_t grain, const Body& body) {
  if (count <= 0) return;
  const std::int64_t ranges = std::clamp<std::int64_t>(count / std::max<std::int64_t>(1, grain), 1, thread_count(threads));
  if (ranges == 1) return body(std::int64_t{0}, count);

  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranges));
  const auto run = [&](std::int64_t i) {
    try {
      body(count * i / ranges, count * (i + 1) / ranges);
    } catch (...) {
      errors[static_cast<std::size_t>(i)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> workers;
    for (std::int64_t i = 1; i < ranges; ++i) workers.emplace_back(run, i);
    run(0);
  }
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace samebits::reference
