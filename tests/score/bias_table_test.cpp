#include "posenc/score/bias_matrix.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "numbers.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/fire.hpp"
#include "posenc/score/kerple.hpp"
#include "posenc/score/sandwich.hpp"
#include "posenc/score/t5_bias.hpp"
#include "rejects.hpp"
#include "score/rows.hpp"

namespace {

using namespace posenc;

constexpr std::size_t heads = 3;

template <class T>
std::vector<T> adjusted(auto const& rule, std::size_t head, std::int64_t query,
                        std::vector<std::int64_t> const& keys) {
  auto scores = numbers::random<T>(keys.size(), 7);
  posenc::adjust_scores(rule, score_row<T>{scores, head, query, keys, {}});
  return scores;
}

/// The sums of the rule itself, whatever the positions.
template <class Rule>
void expect_same_sums(Rule const& rule) {
  std::vector<std::vector<std::int64_t>> const keys_of_rows{
      {0, 1, 2, 3, 4, 5},        {-7, -6, -5},         {5}, {9, 3, 3, -20, 4}, {90, 91, 92, 93},
      {-500, -499, 499, 500, 0}, {100'000'000'000, 2}, {}};
  for (std::int64_t const longest : {0, 4, 50, 600}) {
    bias_table const table(rule, heads, longest);
    EXPECT_EQ(table.longest(), longest);
    numbers::in_float_and_double([&]<class T>() {
      for (std::size_t head = 0; head < heads; ++head) {
        for (std::int64_t const query : {0, 5, -3, 95}) {
          for (auto const& keys : keys_of_rows)
            rows::expect_same_sums(adjusted<T>(table, head, query, keys),
                                   adjusted<T>(rule, head, query, keys),
                                   numbers::random<T>(keys.size(), 7));
        }
      }
    });
  }
}

TEST(bias_table, adds_what_its_rule_adds) {
  kerple_log const logarithmic({{1, 0.5}, {0.3, 2}, {0.02, 0.7}});
  kerple_power const power({{1, 0.5}, {0.3, 2}, {0.02, 0.7}});
  expect_same_sums(alibi(heads));
  expect_same_sums(logarithmic);
  expect_same_sums(power);
  expect_same_sums(sandwich(heads, 16));
  expect_same_sums(
      t5_bias(relative_buckets(8, 20, true), numbers::random<float>(8 * heads), heads));
  expect_same_sums(bias_table(alibi(heads), heads, 10));
}

/// Gaps at either end alone, and between the only two.
TEST(bias_table, sees_each_gap_between_keys) {
  alibi const rule(heads);
  bias_table const table(rule, heads, 50);
  for (std::vector<std::int64_t> const& keys :
       {std::vector<std::int64_t>{0, 5, 6}, {0, 1, 7}, {0, 2}, {1, 0}, {3, 3}, {0, 1, 2, 2}}) {
    EXPECT_TRUE(numbers::same_bits(adjusted<double>(table, 1, 4, keys),
                                   adjusted<double>(rule, 1, 4, keys)));
  }
}

/// The last integer and the first follow one another only where integers wrap around.
TEST(bias_table, sees_the_ends_of_the_integers) {
  alibi const rule(heads);
  bias_table const table(rule, heads, 50);
  constexpr auto first = std::numeric_limits<std::int64_t>::min(),
                 last = std::numeric_limits<std::int64_t>::max();
  for (auto const query : {first, last}) {
    EXPECT_TRUE(numbers::same_bits(adjusted<double>(table, 1, query, {last, first}),
                                   adjusted<double>(rule, 1, query, {last, first})));
  }
}

#if __has_include(<sys/mman.h>)
/// Positions up to the last byte of a page, before one that cannot be read.
TEST(bias_table, reads_no_position_behind_the_last) {
  auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const memory = static_cast<std::byte*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(memory), MAP_FAILED);
  ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
  bias_table const table(alibi(heads), heads, 50);
  for (std::size_t const count : {1u, 2u, 7u}) {
    auto* const at = reinterpret_cast<std::int64_t*>(memory + page) - count;
    std::iota(at, at + count, 3);
    std::vector<float> scores(count);
    posenc::adjust_scores(table, score_row<float>{scores, 1, 4, positions_view(at, count), {}});
    EXPECT_EQ(scores[0], -0x1p-8f) << "one place from the query";
  }
  munmap(memory, 2 * page);
}
#endif

TEST(bias_table, stands_for_rules_of_the_distance_alone) {
  static_assert(adds_bias_by_distance<learned_relative>);
  static_assert(!adds_bias_by_distance<fire>, "the query's position enters");
}

TEST(bias_table, what_makes_no_table_is_rejected) {
  EXPECT_EQ(message_of([] { bias_table(alibi(3), 0, 10); }),
            "posenc: bias_table: there must be a head, got 0");
  EXPECT_EQ(message_of([] { bias_table(alibi(3), 3, -1); }),
            "posenc: bias_table: longest must be in [0, 2^31], got -1");
  for (std::size_t const wrong : {1u, 2u, 4u}) {
    EXPECT_EQ(
        message_of([&] { bias_table(alibi(3), wrong, 1); }),
        "posenc: bias_table: the encoding must have " + std::to_string(wrong) + " heads, got 3");
  }
  bias_table const table(alibi(2), 2, 10);
  std::vector<float> scores(2);
  std::vector<std::int64_t> const one{0}, two{0, 1};
  EXPECT_EQ(message_of([&] {
              posenc::adjust_scores(table, score_row<float>{scores, 2, 0, two, {}});
            }),
            "posenc: bias_table: the head must be below 2, got 2");
  EXPECT_EQ(message_of([&] {
              posenc::adjust_scores(table, score_row<float>{scores, 0, 0, one, {}});
            }),
            "posenc: bias_table: there must be one position per key, got 1 positions for 2 keys");
}

}  // namespace
