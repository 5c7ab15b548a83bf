// The CPU's clock, measured by a chain of dependent additions.
#pragma once

#include <algorithm>
#include <chrono>

namespace bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class sentinel {
 public:
  /// The time of the chain now, in seconds: the best of three, so that an interrupt does not look
  /// like a slow clock.
  double read() {
    auto const reading = std::min({chain(), chain(), chain()});
    fastest_ = std::min(fastest_, reading);
    return reading;
  }
  bool is_slow(double reading) const { return reading > 1.1 * fastest_; }

 private:
  static double chain() {
    unsigned long sum = 0, one = 1;
    asm volatile("" : "+r"(one));  // some CPUs add constants at no cost
    auto const start = now();
    for (int i = 0; i < 1000; ++i) {
      for (int j = 0; j < 16; ++j) {
        sum += one;
        asm volatile("" : "+r"(sum));
      }
    }
    return now() - start;
  }

  double fastest_ = 1;
};

}  // namespace bench
