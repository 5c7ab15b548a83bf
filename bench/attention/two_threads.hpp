// An executor of two threads: the caller and one that waits for work.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

#include "posenc/core/executor.hpp"
#include "report/cpus.hpp"

namespace bench {

class two_threads {
 public:
  /// cpu: of the second thread.
  explicit two_threads(int cpu)
      : worker_([this, cpu] {
          stay_on(cpu);
          for (std::size_t seen = 0;; ++seen) {
            wait_while(calls_, seen);
            if (run_ == nullptr) return;
            take();
            finished_ = seen + 1;
            finished_.notify_one();
          }
        }) {}
  ~two_threads() { call(0, nullptr); }

  void operator()(std::size_t n, posenc::task const& run) {
    auto const call_number = call(n, &run);
    take();
    for (auto f = finished_.load(); f != call_number; f = finished_.load())
      wait_while(finished_, f);
  }

 private:
  std::size_t call(std::size_t n, posenc::task const* run) {
    next_ = 0, count_ = n, run_ = run;
    auto const call_number = ++calls_;
    calls_.notify_one();
    return call_number;
  }
  // Asks for a while, as the pools of engines do: to wake a thread takes 50 us in a virtual
  // machine.
  static void wait_while(std::atomic<std::size_t> const& counter, std::size_t old) {
    for (int i = 0; i < 100'000; ++i) {
      if (counter != old) return;
    }
    counter.wait(old);
  }
  void take() {
    for (std::size_t i; (i = next_++) < count_;) (*run_)(i);
  }

  std::atomic<std::size_t> calls_ = 0, finished_ = 0, next_ = 0;
  std::size_t count_ = 0;
  posenc::task const* run_ = nullptr;
  std::jthread worker_;  // last: it uses the others
};

}  // namespace bench
