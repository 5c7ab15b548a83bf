// One sample: passes over the same data for about a millisecond, between two readings of the
// sentinel.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <thread>

#include "sentinel.hpp"

namespace bench {

struct sample {
  double seconds;  ///< per pass
  double reading;  ///< the slower one of the sentinel
};

/// Runs some passes and returns the seconds that count. The loop is inside, since a call of a
/// std::function takes as long as a row.
using work = std::function<double(std::size_t passes)>;

work passes_of(auto pass) {
  return [pass](std::size_t passes) mutable {
    auto const start = now();
    for (; passes > 0; --passes) {
      pass();
      benchmark::ClobberMemory();
    }
    return now() - start;
  };
}

/// `restore` comes before each pass and does not count.
work passes_of(auto restore, auto pass) {
  return [restore, pass](std::size_t passes) mutable {
    double seconds = 0;
    for (; passes > 0; --passes) {
      restore();
      auto const start = now();
      pass();
      benchmark::ClobberMemory();
      seconds += now() - start;
    }
    return seconds;
  };
}

class stopwatch {
 public:
  /// How many seconds it may wait, in all, for the core to be quiet.
  void set_patience(double seconds) { patience_ = seconds; }

  /// passes: 0 at the first sample, which determines it.
  sample measure(std::function<void()> const& prepare, work const& run, std::size_t& passes) {
    prepare();
    if (passes == 0) passes = enough_passes(run);
    for (;; ++repeated_) {
      auto const before = quiet_reading(), started = now();
      if (passes > 1) run(passes / 4 + 1);  // warms the cache
      auto const seconds = run(passes) / static_cast<double>(passes);
      sample const result{seconds, std::max(before, sentinel_.read_after_work())};
      if (is_quiet(result) || patience_ <= 0) return result;
      patience_ -= now() - started;
    }
  }

  bool is_quiet(sample const& s) const { return sentinel_.is_quiet(s.reading); }
  std::size_t repeated() const { return repeated_; }  ///< samples that were not quiet

 private:
  static constexpr double batch = 1e-3;  // within a time slice, so that few are interrupted

  double quiet_reading() {
    for (auto started = now(); patience_ > 0; started = now()) {
      auto const reading = sentinel_.read();
      if (sentinel_.is_quiet(reading)) return reading;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      patience_ -= now() - started;
    }
    return sentinel_.read();
  }

  static std::size_t enough_passes(work const& run) {
    for (std::size_t passes = 1;; passes *= 2) {
      auto const seconds = run(passes);
      if (seconds >= batch / 4)
        return static_cast<std::size_t>(std::ceil(batch / seconds * static_cast<double>(passes)));
    }
  }

  sentinel sentinel_;
  double patience_ = 0;
  std::size_t repeated_ = 0;
};

}  // namespace bench
