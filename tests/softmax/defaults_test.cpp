/// Every default of site 4, and those of site 3 without a test of their own, compared with their
/// values.

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "numbers.hpp"
#include "posenc/score/cope.hpp"
#include "posenc/score/forget_gates.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/log_n.hpp"
#include "posenc/softmax/softmax.hpp"

namespace {

using namespace posenc;

TEST(softmax_defaults, are_what_is_documented) {
  auto const x = numbers::random<double>(9);
  auto const row = statistics(std::span<double const>(x));
  EXPECT_EQ(row.head, 0u);
  EXPECT_EQ(row.query_position, 0);
  auto a = x, b = x, c = x, d = x;
  softmax(std::span(a), row);
  softmax(std::span(b), row, 1, no_sink);
  softmax(std::span(c));
  softmax(std::span(d), 1.0);
  EXPECT_TRUE(numbers::same_bits(a, b) && numbers::same_bits(c, d) && numbers::same_bits(a, c));
  auto da = x, db = x;
  softmax_backward(a, da);
  softmax_backward(a, db, 1);
  EXPECT_TRUE(numbers::same_bits(da, db));
  auto const llama = llama4_temperature(), given = llama4_temperature(0.1, 8192);
  EXPECT_EQ(llama.scale, given.scale);
  EXPECT_EQ(llama.floor_scale, given.floor_scale);
  EXPECT_EQ(llama.offset, 1);
  adaptive_temperature const published{{-0.037, 0.481, -2.3, 4.917, -1.791}, 0, 1e300};
  for (double const entropy : {0.0, 3.0, 1e9})
    EXPECT_EQ(adaptive_temperature{}.polynomial(entropy), published.polynomial(entropy));
  EXPECT_EQ(ssmax({0.5}).inverse_temperature({.keys = 7}),
            ssmax({0.5}, {0}).inverse_temperature({.keys = 7}));
}

TEST(score_defaults, are_what_is_documented) {
  auto const numbers = numbers::random<float>(12);
  std::vector<std::int64_t> const at{0, 1, 2};
  auto const adjusted = [&](auto const& e) {
    std::vector<float> scores{1, 2, 3};
    std::vector<float> const query{1, 2};
    posenc::adjust_scores(e, score_row<float>{scores, 0, 2, at, query});
    return scores;
  };
  EXPECT_EQ(adjusted(cope(numbers, 2)), adjusted(cope(numbers, 2, 1)));
  std::vector<float> const gates{-1, -2, -3};
  EXPECT_EQ(adjusted(forget_gates(gates, 1)), adjusted(forget_gates(gates, 1, 0)));
}

}  // namespace
