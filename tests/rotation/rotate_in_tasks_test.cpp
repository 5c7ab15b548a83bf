#include "posenc/rotation/rotate_in_tasks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "executors.hpp"
#include "numbers.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using slots = std::vector<std::int64_t>;

template <class Real>
cos_sin_rows<Real> rows_of(std::size_t tokens, std::size_t rotary_dim) {
  slots positions(tokens);
  std::iota(positions.begin(), positions.end(), 1000);
  return cos_sin_rows<Real>(geometric(rotary_dim, 1e4), positions);
}

/// One token (so that heads are split), fewer tokens than tasks, more, and none.
constexpr heads_shape split_shapes[] = {
    {1, 9, 16}, {2, 1, 40}, {5, 3, 16}, {64, 4, 32}, {0, 3, 16}};

TEST(rotate_in_tasks, gives_the_bits_of_one_call_in_place) {
  numbers::in_every_format([]<class S>() {
    for (auto const& shape : split_shapes) {
      auto const rows = rows_of<arithmetic_t<S>>(shape.tokens, 16);
      auto const before = numbers::random<S>(shape.tokens * shape.heads * shape.head_dim);
      auto expected = before;
      rotate<halves>(heads_view(expected.data(), shape), rows, rotary_block::last());
      executors::in_every_split([&](auto const& split) {
        auto x = before;
        rotate<halves>(split, heads_view(x.data(), shape), rows, rotary_block::last());
        EXPECT_TRUE(numbers::same_bits(x, expected));
      });
    }
  });
}

TEST(rotate_in_tasks, gives_the_bits_of_one_call_elsewhere) {
  for (auto const& shape : split_shapes) {
    auto const rows = rows_of<float>(shape.tokens, 8);
    auto const before = numbers::random<float>(shape.tokens * shape.heads * shape.head_dim);
    heads_view const from(before.data(), shape);
    std::vector<half> expected(before.size()), to(before.size());
    rotate<halves, interleaved>(from, heads_view(expected.data(), shape), rows);
    executors::in_every_split([&](auto const& split) {
      to.assign(before.size(), half());
      rotate<halves, interleaved>(split, from, heads_view(to.data(), shape), rows);
      EXPECT_TRUE(numbers::same_bits(to, expected));
    });
  }
}

TEST(rotate_in_tasks, rotates_several_sets_with_norm_and_scale) {
  for (auto const& shape : split_shapes) {
    auto const rows = rows_of<float>(shape.tokens, 16);
    auto const weights = numbers::random<float>(shape.head_dim, 9);
    auto const q = numbers::random<float>(shape.tokens * 2 * shape.heads * shape.head_dim, 1),
               k = numbers::random<float>(shape.tokens * shape.heads * shape.head_dim, 2);
    slots to(shape.tokens);
    std::iota(to.rbegin(), to.rend(), 3);
    pages_shape const pages{40, 2, shape.heads, shape.head_dim};
    std::vector<float> const empty(80 * shape.heads * shape.head_dim, 7.0f);
    auto const run = [&](std::vector<float>& turned, std::vector<float>& cache,
                         auto const&... split) {
      turned = q, cache = empty;
      heads_view const queries(turned.data(), {shape.tokens, 2 * shape.heads, shape.head_dim});
      rotate(split..., rows, rotated<halves>(queries).norm({weights, 1e-6f}).scale(0.5f),
             rotated<halves>(heads_view(k.data(), shape), heads_view(cache.data(), pages, to)));
    };
    std::vector<float> expected_q, expected_k, actual_q, actual_k;
    run(expected_q, expected_k);
    executors::in_every_split([&](auto const& split) {
      run(actual_q, actual_k, split);
      EXPECT_TRUE(numbers::same_bits(actual_q, expected_q));
      EXPECT_TRUE(numbers::same_bits(actual_k, expected_k));
    });
  }
}

TEST(rotate_in_tasks, writes_slots_that_repeat_in_the_order_of_tokens) {
  constexpr heads_shape shape{64, 3, 16};
  auto const rows = rows_of<float>(shape.tokens, 16);
  auto const k = numbers::random<float>(shape.tokens * shape.heads * shape.head_dim);
  slots to(shape.tokens);
  for (std::size_t t = 0; t < to.size(); ++t) to[t] = t % 5 == 4 ? -1 : std::int64_t(t % 3);
  std::vector<float> expected(2 * 2 * 3 * 16), cache;
  auto const run = [&](std::vector<float>& pages, auto const&... split) {
    rotate<halves>(split..., heads_view(k.data(), shape),
                   heads_view(pages.data(), {2, 2, 3, 16}, to), rows);
  };
  run(expected);
  executors::in_every_split([&](auto const& split) {
    cache.assign(expected.size(), 0);
    run(cache, split);
    EXPECT_TRUE(numbers::same_bits(cache, expected));
  });
}

TEST(rotate_in_tasks, refuses_what_rotate_does_before_any_task) {
  auto const before = numbers::random<float>(4 * 2 * 8);
  auto x = before;
  heads_view const heads(x.data(), {4, 2, 8});
  auto const never = [](std::size_t, task const&) { ADD_FAILURE() << "a task was begun"; };
  auto const expect = [&](std::string const& sentence, auto const& call) {
    EXPECT_EQ(message_of(call), sentence);
    EXPECT_TRUE(numbers::same_bits(x, before));
  };
  expect("posenc: rotate: there must be one row per token, got 3 rows for 4 tokens",
         [&] { rotate<halves>(tasks(2, never), heads, rows_of<float>(3, 8)); });
  expect(
      "posenc: rotate: source and target must not overlap, unless they are the same heads in the "
      "same layout",
      [&] { rotate<halves, interleaved>(tasks(2, never), heads, heads, rows_of<float>(4, 8)); });
  expect(
      "posenc: rotate: heads that one rotation of a call writes must not overlap those of another",
      [&] {
        rotate(tasks(2, never), rows_of<float>(4, 8), rotated<halves>(heads),
               rotated<halves>(heads));
      });
}

/// Calls what(worker) for n workers, each on a thread of its own; returns how often one waited.
std::size_t by_workers(std::size_t n, auto const& what) {
  executors::barrier all(n);
  std::atomic<std::size_t> waits = 0;
  auto const run = [&](std::size_t i) {
    what(worker(i, n, [&] {
      ++waits;
      all.arrive_and_wait();
    }));
  };
  executors::on_threads()(n, task(run));
  return waits;
}

TEST(rotate_by_workers, gives_the_bits_of_one_call_to_all_behind_the_barrier) {
  for (auto const& shape : split_shapes) {
    auto const rows = rows_of<float>(shape.tokens, 16);
    auto const q = numbers::random<float>(shape.tokens * shape.heads * shape.head_dim, 1),
               k = numbers::random<float>(shape.tokens * shape.heads * shape.head_dim, 2);
    std::vector<half> const empty(k.size());
    auto const run = [&](std::vector<float>& turned, std::vector<half>& cache,
                         auto const&... split) {
      heads_view const keys(k.data(), shape);
      rotate<halves>(split..., heads_view(turned.data(), shape), rows);
      rotate<halves, interleaved>(split..., keys, heads_view(cache.data(), shape), rows);
      rotate(split..., rows, rotated<halves>(heads_view(turned.data(), shape)));
    };
    auto expected_q = q, actual_q = q;
    auto expected_k = empty, actual_k = empty;
    run(expected_q, expected_k);
    for (std::size_t const n : {1u, 2u, 5u}) {
      actual_q = q, actual_k = empty;
      std::vector<char> sees(n);
      EXPECT_EQ(by_workers(n,
                           [&](auto const& self) {
                             run(actual_q, actual_k, self);
                             sees[self.index()] = numbers::same_bits(actual_q, expected_q) &&
                                                  numbers::same_bits(actual_k, expected_k);
                           }),
                3 * n);
      EXPECT_EQ(sees, std::vector<char>(n, 1)) << n << " workers";
    }
  }
}

TEST(rotate_by_workers, throws_in_each_of_them_and_none_waits) {
  auto const before = numbers::random<float>(4 * 2 * 8);
  auto x = before;
  heads_view const heads(x.data(), {4, 2, 8});
  std::vector<std::string> said(3);
  auto const rows = rows_of<float>(3, 8);
  EXPECT_EQ(by_workers(3,
                       [&](auto const& self) {
                         said[self.index()] =
                             message_of([&] { rotate<halves>(self, heads, rows); });
                       }),
            0u);
  for (auto const& sentence : said)
    EXPECT_EQ(sentence, "posenc: rotate: there must be one row per token, got 3 rows for 4 tokens");
  EXPECT_TRUE(numbers::same_bits(x, before));
}

TEST(rotate_without_rows, gives_the_bits_of_a_call_with_rows) {
  for (auto const& shape : split_shapes) {
    auto const rows = rows_of<float>(shape.tokens, 16);
    auto const v = numbers::random<float>(shape.tokens * shape.heads * shape.head_dim);
    slots to(shape.tokens);
    std::iota(to.rbegin(), to.rend(), 3);
    pages_shape const pages{40, 2, shape.heads, shape.head_dim};
    heads_view const values(v.data(), shape);
    std::vector<half> expected(80 * shape.heads * shape.head_dim), actual(expected);
    rotate(rows, unrotated(values, heads_view(expected.data(), pages, to)).scale(0.5f));
    auto const operand = [&] {
      return unrotated(values, heads_view(actual.data(), pages, to)).scale(0.5f);
    };
    rotate(operand());
    EXPECT_TRUE(numbers::same_bits(actual, expected));
    executors::in_every_split([&](auto const& split) {
      actual.assign(expected.size(), half());
      rotate(split, operand());
      EXPECT_TRUE(numbers::same_bits(actual, expected));
    });
  }
}

TEST(rotate_without_rows, takes_operands_of_other_tokens_and_refuses_what_overlaps) {
  auto const from = numbers::random<float>(5 * 8);
  std::vector<float> to(5 * 8);
  heads_view const few(from.data(), {2, 1, 8}), many(from.data() + 16, {3, 1, 8});
  heads_view const to_few(to.data(), {2, 1, 8}), to_many(to.data() + 16, {3, 1, 8});
  rotate(unrotated(few, to_few), unrotated(many, to_many));
  EXPECT_TRUE(numbers::same_bits(to, from));
  auto const expect = [&](std::string const& sentence, auto const& call) {
    EXPECT_EQ(message_of(call), "posenc: rotate: " + sentence);
    EXPECT_TRUE(numbers::same_bits(to, from));
  };
  expect("heads that one rotation of a call writes must not overlap those of another",
         [&] { rotate(unrotated(few, to_few), unrotated(few, to_few)); });
  expect("source and target must have the same shape, got 2 tokens x 1 heads of 8 and 3 x 1 of 8",
         [&] { rotate(unrotated(few, to_many)); });
}

}  // namespace
