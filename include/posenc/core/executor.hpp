// Splits the work of a call into tasks, which an executor runs on its own threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The argument of an executor: task(i) does part i of a call's work, in the calling thread, and
/// throws nothing. It may be copied, and ends with the call.
class task {
 public:
  /// Refers to `work`, a callable of the index.
  template <class Work>
  requires(!std::same_as<std::remove_cv_t<Work>, task>) explicit task(Work& work) noexcept
      : work_(std::addressof(work)),
        run_([](void const* w, std::size_t i) noexcept { (*static_cast<Work const*>(w))(i); }) {}

  void operator()(std::size_t i) const noexcept { run_(work_, i); }  ///< part i

 private:
  void const* work_;
  void (*run_)(void const*, std::size_t) noexcept;
};

/// executor(n, task) calls task(i) once for each i in [0, n), in any order, on any threads, and
/// returns when all have returned and the caller sees what they wrote. Other calls are an error,
/// thrown when it has returned: by then heads may be written. An executor that throws must have
/// stopped: a task that still runs, or begins later, uses the memory of a call that is over.
/// An engine's own pool is an executor:
///
///     [&](std::size_t n, posenc::task run) { pool.parallel_for(n, run); }
///
/// A pool in C calls `[](void* t, std::size_t i) { (*static_cast<posenc::task*>(t))(i); }`.
template <class E>
concept executor = std::invocable<E const&, std::size_t, task const&>;

namespace detail {

/// An executor without a name.
template <class E>
struct kept_executor {
  E run;
  void operator()(std::size_t n, task const& each) const requires executor<E> { run(n, each); }
};
template <class>
inline constexpr bool is_kept = false;
template <class E>
inline constexpr bool is_kept<kept_executor<E>> = true;

}  // namespace detail

/// How rotate and attention split their work: into `count` tasks, which the executor runs, or the
/// caller itself, if there is one. Results have the same bits for any count, order and threads;
/// errors are thrown before the first task. Keeps the address of an executor that has a name, and a
/// lambda without one itself.
///
///     rotate<halves>(tasks(4, pool), q, rows);
///     attention(tasks(4, pool), q, k, v, encoding);
template <executor Executor>
class tasks {
 public:
  /// Throws std::invalid_argument unless count is positive.
  tasks(std::size_t count, Executor const& run) : tasks(std::addressof(run), count) {}
  tasks(std::size_t, Executor const&&) = delete;  // posenc: what is viewed must have a name
  /// From a temporary executor.
  template <class E>
  requires std::same_as<Executor, detail::kept_executor<std::remove_cv_t<E>>> tasks(
      std::size_t count, E&& run)
      : tasks(Executor{std::forward<E>(run)}, count) {}

  std::size_t count() const noexcept { return count_; }  ///< at least 1
  /// Runs `each` count() times.
  void operator()(task const& each) const {
    if constexpr (std::is_pointer_v<kept>) {
      (*run_)(count_, each);
    } else {
      run_(count_, each);
    }
  }

 private:
  using kept = std::conditional_t<detail::is_kept<Executor>, Executor, Executor const*>;
  tasks(kept run, std::size_t count) : count_(count), run_(std::move(run)) {
    detail::require(count > 0, "tasks: count must be at least 1, got 0");
  }

  std::size_t count_;
  kept run_;
};
/// Keeps an executor without a name.
template <class E>
requires(!std::is_lvalue_reference_v<E>) tasks(std::size_t, E&&)
->tasks<detail::kept_executor<std::remove_cv_t<E>>>;

/// One of `count` threads that all make the same call, with equal arguments: an engine's, inside an
/// op. barrier() returns when all of them have called it, and each sees what the others wrote.
///
///     attend(worker(ith, nth, [&] { ggml_barrier(pool); }), calls, memory)
template <std::invocable Barrier>
class worker {
 public:
  /// Throws std::invalid_argument unless index < count.
  worker(std::size_t index, std::size_t count, Barrier barrier)
      : index_(index), count_(count), barrier_(std::move(barrier)) {
    detail::require(index < count, "worker: index must be below count, got ", index, " of ", count);
  }

  std::size_t index() const noexcept { return index_; }  ///< below count()
  std::size_t count() const noexcept { return count_; }  ///< at least 1
  void wait() const { barrier_(); }                      ///< for all workers

 private:
  std::size_t index_, count_;
  Barrier barrier_;
};

namespace detail {

/// The part of `count` things that task i of n has.
struct part {
  std::size_t first, count;
};
constexpr part part_of(std::size_t count, std::size_t i, std::size_t n) noexcept {
  auto const each = count / n, more = count % n;
  return {each * i + std::min(i, more), each + (i < more ? 1 : 0)};
}

/// A hash of i. Calls are of each i once if their hashes have the sum of the hashes of 0 to n - 1.
constexpr std::uint32_t hash_of_task(std::size_t i) noexcept {
  auto const mixed = static_cast<std::uint32_t>(i + 1) * 0x9e37'79b9u;
  return (mixed ^ mixed >> 15) * 0x85eb'ca6bu;
}

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
/// The exception that work() throws, or null.
inline std::exception_ptr caught(auto const& work) noexcept {
  try {
    work();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}
inline void rethrow(std::exception_ptr const& error) {
  if (error) std::rethrow_exception(error);
}
#else
bool caught(auto const& work) noexcept { return work(), false; }
inline void rethrow(bool) noexcept {}
#endif

/// Runs work(i) in every task, and rethrows the first exception of one.
template <class Executor>
void run_tasks(tasks<Executor> const& split, auto const& work) {
  auto const n = split.count();
  if (n == 1) return work(std::size_t{0});
  std::atomic<std::uint32_t> calls = 0, hashes = 0;
  std::atomic_flag failed;
  decltype(caught(std::declval<void (&)()>())) error{};
  auto const run = [&](std::size_t i) noexcept {
    auto const thrown = caught([&] { work(i); });
    if (thrown && !failed.test_and_set()) error = thrown;
  };
  auto const counted = [&](std::size_t i) noexcept {
    calls.fetch_add(1, std::memory_order_relaxed);
    hashes.fetch_add(hash_of_task(i), std::memory_order_relaxed);
    if (i < n) run(i);
  };
  split(task(counted));
  rethrow(error);
  std::uint32_t of_each = 0;
  for (std::size_t i = 0; i < n; ++i) of_each += hash_of_task(i);
  require(calls == n && hashes == of_each, "tasks: the executor must call task(i) once for each i ",
          "in [0, ", n, "), got ", calls.load(), " calls, not one each");
}

/// The caller runs the one task.
inline auto one_task() {
  static constexpr auto run_here = [](std::size_t, task const& run) { run(0); };
  return tasks(1, run_here);
}

}  // namespace detail
}}  // namespace posenc
