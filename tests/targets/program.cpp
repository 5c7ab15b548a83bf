// One program for several instruction sets: runs all that the CPU has, and compares their results.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "result.hpp"

extern "C" entry run_base, run_scalar, run_v3, run_v3_fast;

namespace {

bool has_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

struct instruction_set {
  char const* name;
  entry* run;
  bool can_run;
};

std::vector<result> results_of(instruction_set const& set, char const** target) {
  std::vector<result> results(1 << 16);
  auto* const end = set.run(results.data(), target);
  results.resize(static_cast<std::size_t>(end - results.data()));
  return results;
}

}  // namespace

int main() {
  instruction_set const sets[] = {
    {"base", run_base, true},
#if defined(HOT)
    {"scalar", run_scalar, true},
    {"v3_fast", run_v3_fast, has_v3()},
#endif
    {"v3", run_v3, has_v3()},
  };
  std::vector<result> expected;
  for (auto const& set : sets) {
    if (!set.can_run) continue;
    char const* target = nullptr;
    auto const results = results_of(set, &target);
    if (expected.empty()) expected = results;
    if (results.size() != expected.size())
      return std::printf("%s: %zu results\n", set.name, results.size()), 1;
    for (std::size_t i = 0; i < results.size(); ++i) {
      auto const [value, bound] = expected[i];
      if (!(std::abs(results[i].value - value) <= bound)) {
        return std::printf("%s: result %zu is %.17g, base has %.17g\n", set.name, i,
                           results[i].value, value),
               1;
      }
    }
    std::printf("ran %s %s\n", set.name, target);
  }
}
