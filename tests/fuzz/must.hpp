#pragma once

/// What a fuzz target says is wrong before it aborts. No assert: NDEBUG may be defined.

#include <cstdio>
#include <cstdlib>

namespace fuzz {

inline void must(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

}  // namespace fuzz
