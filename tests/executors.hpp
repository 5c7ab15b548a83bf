#pragma once

/// Executors that run tasks in different orders, and on threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "posenc/core/executor.hpp"

namespace executors {

/// On the caller's thread, in an order of its own for each seed.
struct shuffled {
  std::uint64_t seed;
  void operator()(std::size_t n, posenc::task const& run) const {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
    for (auto const i : order) run(i);
  }
};

/// Each on a thread of its own.
struct on_threads {
  void operator()(std::size_t n, posenc::task run) const {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < n; ++i) threads.emplace_back(run, i);
    for (auto& thread : threads) thread.join();
  }
};

/// As std::barrier, whose threads wait for ever under libstdc++ 12 for Windows.
class barrier {
 public:
  explicit barrier(std::size_t threads) : threads_(threads), expected_(threads) {}
  void arrive_and_wait() {
    std::unique_lock lock(mutex_);
    auto const phase = phase_;
    if (--expected_ == 0) {
      expected_ = threads_, ++phase_;
      all_here_.notify_all();
    } else {
      all_here_.wait(lock, [&] { return phase_ != phase; });
    }
  }

 private:
  std::size_t threads_, expected_, phase_ = 0;
  std::mutex mutex_;
  std::condition_variable all_here_;
};

/// Calls what(tasks) for splits into 1 to 7 tasks, in order, shuffled, and on threads.
void in_every_split(auto const& what) {
  for (std::size_t const count : {1u, 2u, 3u, 7u}) {
    SCOPED_TRACE(testing::Message() << count << " tasks");
    for (std::uint64_t const seed : {1u, 2u}) {
      shuffled const some{seed};
      what(posenc::tasks(count, some));
    }
    on_threads const threads{};
    what(posenc::tasks(count, threads));
  }
}

}  // namespace executors
