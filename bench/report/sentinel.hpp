// Tells whether the core is undisturbed: a loop whose time is that of its stores to L1.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

namespace bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Negates 8 KiB of floats, 100 times. It slows down with the clock, and where another thread of
/// the same core stores too; a chain of additions slows down with the clock alone.
class sentinel {
 public:
  /// The time of the loop now, in seconds: the best of three, so that an interrupt does not count.
  double read() { return std::min({stores(), stores(), stores()}); }
  /// The same, just after some work, at the clock that this work leaves.
  double read_after_work() {
    auto const reading = read();
    readings_.insert(std::ranges::upper_bound(readings_, reading), reading);
    return reading;
  }
  /// Within 3 % of its best after work. That is the tenth percentile: the clock of a virtual
  /// machine jumps up by more than 3 % for a millisecond now and then, and nothing else would be
  /// quiet.
  bool is_quiet(double reading) const {
    return readings_.empty() || reading <= 1.03 * readings_[readings_.size() / 10];
  }

 private:
  [[gnu::noinline]] double stores() {
    auto const start = now();
    for (int pass = 0; pass < 100; ++pass) {
      for (auto& x : numbers_) x = -x;
      benchmark::ClobberMemory();
    }
    return now() - start;
  }

  alignas(64) std::array<float, 2048> numbers_{};
  std::vector<double> readings_;  // ascending
};

}  // namespace bench
