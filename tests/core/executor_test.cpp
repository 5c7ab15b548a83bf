#include "posenc/core/executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "executors.hpp"
#include "rejects.hpp"

namespace {

using posenc::tasks;
using posenc::detail::part_of;
using posenc::detail::run_tasks;

TEST(executor, runs_each_task_once) {
  executors::in_every_split([](auto const& split) {
    std::vector<std::atomic<int>> runs(split.count());
    run_tasks(split, [&](std::size_t i) { ++runs[i]; });
    for (auto const& each : runs) EXPECT_EQ(each, 1);
  });
}

TEST(executor, is_not_needed_for_one_task) {
  auto const never = [](std::size_t, posenc::task const&) { FAIL(); };
  int runs = 0;
  run_tasks(tasks(1, never), [&](std::size_t i) { runs += i == 0 ? 1 : 100; });
  EXPECT_EQ(runs, 1);
}

TEST(executor, may_be_a_function_that_takes_functions) {
  std::vector<std::size_t> order;
  std::function<void(std::size_t, std::function<void(std::size_t)>)> const pool =
      [](std::size_t n, std::function<void(std::size_t)> const& run) {
        for (auto i = n; i-- > 0;) run(i);
      };
  run_tasks(tasks(3, pool), [&](std::size_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<std::size_t>{2, 1, 0}));
}

TEST(executor, may_be_a_pool_in_c) {
  struct c_pool {
    static void run(void (*call)(void*, std::size_t), void* context, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) call(context, i);
    }
  };
  auto const pool = [](std::size_t n, posenc::task run) {
    c_pool::run([](void* t, std::size_t i) { (*static_cast<posenc::task*>(t))(i); }, &run, n);
  };
  std::size_t sum = 0;
  run_tasks(tasks(4, pool), [&](std::size_t i) { sum += 1 + i; });
  EXPECT_EQ(sum, 10u);
}

TEST(executor, gets_no_exception_and_its_caller_gets_the_first) {
  executors::in_every_split([](auto const& split) {
    std::atomic<std::size_t> others = 0;
    auto const call = [&] {
      run_tasks(split, [&](std::size_t i) {
        if (i == split.count() / 2) throw std::invalid_argument("the middle one");
        ++others;
      });
    };
    EXPECT_EQ(message_of(call), "the middle one");
    EXPECT_EQ(others, split.count() - 1) << "those after it run too";
  });
}

TEST(executor, must_call_each_task_once) {
  std::vector<std::size_t> order;
  auto const pool = [&](std::size_t, posenc::task const& run) {
    for (auto const i : order) run(i);
  };
  std::vector<int> runs(4);
  auto const error = [&](std::vector<std::size_t> const& calls) {
    order = calls;
    return message_of([&] { run_tasks(tasks(4, pool), [&](std::size_t i) { ++runs.at(i); }); });
  };
  std::string const must =
      "posenc: tasks: the executor must call task(i) once for each i in [0, 4)";
  EXPECT_EQ(error({}), must + ", got 0 calls, not one each");
  EXPECT_EQ(error({0, 1, 3}), must + ", got 3 calls, not one each");
  EXPECT_EQ(error({0, 1, 2, 3, 3}), must + ", got 5 calls, not one each");
  EXPECT_EQ(error({1, 2, 3, 4}), must + ", got 4 calls, not one each") << "4 is not run";
  EXPECT_EQ(error({0, 2, 2, 2}), must + ", got 4 calls, not one each");
  EXPECT_EQ(error({0, 1, 1, 3}), must + ", got 4 calls, not one each");
  EXPECT_EQ(error({1, 1, 2, 2}), must + ", got 4 calls, not one each");
  EXPECT_EQ(runs, (std::vector<int>{4, 7, 7, 5}));
}

TEST(executor, may_throw_where_it_has_stopped) {
  std::size_t runs = 0;
  auto const call = [&](bool before) {
    auto const pool = [=](std::size_t, posenc::task const& run) {
      if (!before) run(0);
      throw std::runtime_error("no threads");
    };
    run_tasks(tasks(2, pool), [&](std::size_t) { ++runs; });
  };
  EXPECT_THROW(call(true), std::runtime_error);
  EXPECT_EQ(runs, 0u);
  EXPECT_THROW(call(false), std::runtime_error);
  EXPECT_EQ(runs, 1u);
}

TEST(executor, must_have_a_task) {
  executors::on_threads const threads{};
  EXPECT_EQ(message_of([&] { tasks(0, threads); }),
            "posenc: tasks: count must be at least 1, got 0");
}

TEST(part, of_the_tasks_are_all_things_once_and_alike) {
  for (std::size_t const n : {1u, 2u, 3u, 7u, 100u}) {
    for (std::size_t const count : {0u, 1u, 6u, 7u, 50u}) {
      std::size_t next = 0;
      for (std::size_t i = 0; i < n; ++i) {
        auto const part = part_of(count, i, n);
        EXPECT_EQ(part.first, next);
        EXPECT_LE(part.count, count / n + 1);
        EXPECT_GE(part.count, count / n);
        next += part.count;
      }
      EXPECT_EQ(next, count);
    }
  }
}

}  // namespace
