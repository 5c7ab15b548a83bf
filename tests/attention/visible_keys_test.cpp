#include "posenc/attention/visible_keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using namespace posenc;
using ranges = std::vector<token_range>;

/// Every rectangle lies within the hulls of each `few` queries, no pair is in two of them, and all
/// pairs of the hulls are in one.
void expect_cover(ranges const& seen, std::size_t few, std::size_t keys) {
  std::vector<int> times(seen.size() * keys);
  detail::in_rectangles(seen, few,
                        [&](std::size_t first, std::size_t queries, token_range const& range) {
                          ASSERT_LE(first + queries, seen.size());
                          ASSERT_LT(range.first, range.last);
                          for (std::size_t t = first; t < first + queries; ++t) {
                            for (auto s = range.first; s < range.last; ++s) ++times[t * keys + s];
                          }
                        });
  for (std::size_t t = 0; t < seen.size(); ++t) {
    auto const start = t / few * few;
    auto const [first, last] =
        detail::hull(std::span(seen).subspan(start, std::min(few, seen.size() - start)));
    for (std::size_t s = 0; s < keys; ++s)
      EXPECT_EQ(times[t * keys + s], first <= s && s < last ? 1 : 0) << t << ' ' << s;
  }
}

TEST(visible_keys, rectangles_cover_what_a_few_queries_see_once_and_nothing_else) {
  for (std::size_t const few : {1u, 4u, 7u}) {
    for (std::size_t const queries : {1u, 4u, 13u, 64u}) {
      ranges causal, window, full(queries, {0, 70}), none(queries, {0, 0}), gaps;
      for (std::size_t t = 0; t < queries; ++t) {
        causal.push_back({0, t + 1});
        window.push_back({t < 5 ? 0 : t - 5, t + 3});
        gaps.push_back(t % 3 == 1 ? token_range{0, 0} : token_range{t % 5, 20 + t % 7});
      }
      for (auto const& seen : {causal, window, full, none, gaps}) expect_cover(seen, few, 70);
    }
  }
}

TEST(visible_keys, a_causal_mask_wastes_few_keys_and_begins_with_what_all_see) {
  ranges causal;
  for (std::size_t t = 0; t < 64; ++t) causal.push_back({0, 100 + t + 1});
  std::size_t area = 0, calls = 0;
  detail::in_rectangles(
      std::span<token_range const>(causal), 8,
      [&](std::size_t first, std::size_t queries, token_range const& keys) {
        if (calls++ == 0) {
          EXPECT_TRUE(first == 0 && queries == 64 && keys == (token_range{0, 108}));
        }
        area += queries * (keys.last - keys.first);
      });
  EXPECT_EQ(area, 64u * 100 + 8u * 8 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8));
}

TEST(visible_keys, a_query_that_sees_nothing_has_an_empty_range_and_hides_all) {
  std::vector<std::int64_t> const queries{-1, 2}, up{0, 1, 2, 3}, down{3, 2, 1, 0};
  detail::visible_keys const rising(mask::causal, queries, up),
      falling(mask::causal, queries, down);
  EXPECT_EQ(rising.around(0), (token_range{0, 0}));
  EXPECT_EQ(rising.around(1), (token_range{0, 3}));
  EXPECT_EQ(falling.around(1), (token_range{0, 4}))
      << "in no order, what is not seen is hidden key by key";
  std::vector<float> row(4, 1);
  falling.hide(1, {0, 4}, std::span(row));
  EXPECT_TRUE(is_masked(row[0]));
  EXPECT_EQ(row[1], 1);
}

}  // namespace
