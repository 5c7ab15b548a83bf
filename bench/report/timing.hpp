// One repetition: passes over the same data for about a millisecond, between two readings of the
// clock sentinel.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "sentinel.hpp"

namespace bench {

struct sample {
  double seconds;  ///< per pass
  double clock;    ///< the slower reading of the sentinel
};

/// Runs `passes` passes. The loop is inside, since a std::function call costs as much as a row.
using work = std::function<void(std::size_t passes)>;

work passes_of(auto pass) {
  return [pass](std::size_t passes) mutable {
    for (; passes > 0; --passes) {
      pass();
      benchmark::ClobberMemory();
    }
  };
}

class stopwatch {
 public:
  /// prepare: called before the clock starts. passes: 0 at the first repetition, which determines
  /// it.
  sample measure(std::function<void()> const& prepare, work const& run, std::size_t& passes) {
    prepare();
    if (passes == 0) passes = enough_passes(run);
    for (int left = patience;; --left) {
      auto before = clock_.read();
      if (passes > 1) run(passes / 4 + 1);  // warms the cache
      auto const start = now();
      run(passes);
      auto const seconds = (now() - start) / static_cast<double>(passes);
      sample const result{seconds, std::max(before, clock_.read())};
      if (left == 0 || !clock_.is_slow(result.clock)) return result;
      ++rerun_;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  bool is_slow(sample const& s) const { return clock_.is_slow(s.clock); }
  std::size_t rerun() const {
    return rerun_;
  }  ///< repetitions that were repeated because the clock was slow

 private:
  static constexpr double batch =
      1e-3;  // shorter than a time slice, so that few batches are interrupted
  static constexpr int patience = 3;

  static std::size_t enough_passes(work const& run) {
    for (std::size_t passes = 1;; passes *= 2) {
      auto const start = now();
      run(passes);
      auto const seconds = now() - start;
      if (seconds >= batch / 4)
        return static_cast<std::size_t>(std::ceil(batch / seconds * static_cast<double>(passes)));
    }
  }

  sentinel clock_;
  std::size_t rerun_ = 0;
};

}  // namespace bench
