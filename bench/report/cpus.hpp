// The CPUs that the bench may use, and keeping a thread on one of them.
#pragma once

#include <vector>
#if defined(__linux__)
#include <sched.h>
#endif

namespace bench {

#if defined(__linux__)
inline std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<unsigned>(i), &set)) cpus.push_back(i);
  }
  return cpus;
}
inline void stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  sched_setaffinity(0, sizeof set, &set);
}
#else
inline std::vector<int> allowed_cpus() { return {}; }
inline void stay_on(int) {}
#endif

}  // namespace bench
