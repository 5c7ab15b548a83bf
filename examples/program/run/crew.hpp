// Threads that share the work of a call: an executor of posenc, and of products.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

#include "posenc/core/executor.hpp"

namespace run {

struct crew {
  std::size_t threads = 1;

  /// Calls each(i) for i in [0, n), on at most so many threads.
  void operator()(std::size_t n, posenc::task const& each) const {
    auto const several = std::min(threads, n);
    auto const work = [&](std::size_t first) {
      for (auto i = first; i < n; i += several) each(i);
    };
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < several; ++i) others.emplace_back(work, i);
    if (n > 0) work(0);
  }
};

}  // namespace run
