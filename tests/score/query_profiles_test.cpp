#include "posenc/score/query_profiles.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "laws/score_laws.hpp"
#include "numbers.hpp"
#include "rejects.hpp"
#include "score/rows.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

template <class T>
std::vector<T> adjusted(query_profiles const& e, std::vector<T> scores, std::int64_t query_position,
                        std::vector<std::int64_t> const& keys, std::vector<float> const& r) {
  adjust_scores(e, score_row<T>{.scores = scores,
                                .query_position = query_position,
                                .key_positions = keys,
                                .query = {},
                                .query_side = r});
  return scores;
}

// r and B of 4 distances, by hand.
TEST(query_profiles, is_the_querys_own_profile_over_distances) {
  query_profiles const e(std::vector<float>{0.1f, 0.2f, 0.3f, 0.4f, 1, 0.5f, 0, -0.5f}, 2);
  EXPECT_EQ(e.rank(), 2u);
  EXPECT_EQ(e.extent(), 4u);
  std::vector<std::int64_t> const keys{10, 9, 8, 7, 6, 5, 11, -1'000'000};
  auto const actual = adjusted<double>(e, std::vector<double>(8), 10, keys, {0.5f, -1});
  std::vector<double> const expected{-0.95, -0.4, 0.15, 0.7, 0, 0, 0, 0};
  for (std::size_t s = 0; s < keys.size(); ++s) EXPECT_NEAR(actual[s], expected[s], 2e-8) << s;
}

TEST(query_profiles, is_added_in_double_and_rounded_once) {
  constexpr std::size_t rank = 16, extent = 50;
  auto const profiles = numbers::random<float>(rank * extent), r = numbers::random<float>(rank, 2);
  query_profiles const e(profiles, rank);
  auto const scores = numbers::random<float>(60, 3);
  std::vector<std::int64_t> keys;
  for (std::int64_t s = 0; s < 60; ++s) keys.push_back(100 - s);
  auto const actual = adjusted<float>(e, scores, 98, keys, r);
  for (std::size_t s = 0; s < keys.size(); ++s) {
    auto sum = static_cast<double>(scores[s]), most = std::abs(sum);
    auto const distance = 98 - keys[s];
    for (std::size_t k = 0; k < rank && distance >= 0 && distance < 50; ++k) {
      auto const x = static_cast<double>(r[k]) *
                     static_cast<double>(profiles[k * extent + static_cast<std::size_t>(distance)]);
      sum += x, most += std::abs(x);
    }
    EXPECT_NEAR(static_cast<double>(actual[s]), sum,
                tolerance::of_storing<float>(sum) + most * 0x1p-48)
        << s;
  }
}

TEST(query_profiles, may_be_one) {
  query_profiles const e(std::vector<float>{0.5f, -0.25f, 2}, 1);
  EXPECT_EQ(e.rank(), 1u);
  EXPECT_EQ(e.extent(), 3u);
  EXPECT_EQ(adjusted<double>(e, {1, 1, 1, 1}, 2, {2, 1, 0, -1}, {2}),
            (std::vector<double>{2, 0.5, 5, 1}));
}

/// With what a call gives beside the query.
struct with_side {
  query_profiles of;
  std::vector<float> r;
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    auto with = row;
    with.query_side = r;
    of.adjust_scores(with);
  }
};

TEST(query_profiles, obeys_the_laws_of_its_site) {
  laws::obey("2 profiles of 100 distances",
             with_side{query_profiles(numbers::random<float>(200), 2), {0.5f, -2}}, 2,
             laws::of_distance | laws::added);
}

TEST(query_profiles, refuses_what_does_not_fit) {
  auto const says = [](char const* sentence, auto const& make) {
    EXPECT_EQ(message_of(make), sentence);
  };
  says("posenc: query_profiles: the profiles must be 3 rows of one length, got 8 numbers",
       [] { query_profiles(std::vector<float>(8), 3); });
  says("posenc: query_profiles: the profiles must be 0 rows of one length, got 8 numbers",
       [] { query_profiles(std::vector<float>(8), 0); });
  says("posenc: query_profiles: profiles must be finite, got infinity of profile 1", [] {
    query_profiles(std::vector<float>{0, 0, 0, std::numeric_limits<float>::infinity()}, 2);
  });
  query_profiles const e(std::vector<float>(8), 2);
  says("posenc: query_profiles: query_side must have 2 numbers per query and head, got 0",
       [&] { adjusted<float>(e, {0}, 0, {0}, {}); });
  says("posenc: query_profiles: query_side must have 2 numbers per query and head, got 3", [&] {
    adjusted<float>(e, {0}, 0, {0}, {1, 2, 3});
  });
  says("posenc: query_profiles: there must be one position per key, got 2 positions for 1 keys",
       [&] {
         adjusted<float>(e, {0}, 0, {0, 1}, {1, 2});
       });
}

}  // namespace
