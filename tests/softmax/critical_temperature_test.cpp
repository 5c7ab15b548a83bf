#include "posenc/softmax/critical_temperature.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "laws/softmax_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/softmax.hpp"
#include "posenc/analysis/dispersion.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/softmax/softmax.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace of_critical_temperature { namespace {

using namespace posenc;

constexpr auto u = tolerance::unit_roundoff<double>();

template <class T>
double beta_of(auto const& rule, std::vector<T> const& scores) {
  return rule.inverse_temperature(statistics(std::span<T const>(scores)));
}

/// The gaps below the top, without the keys at the top and those that are masked.
struct gaps_of_row {
  std::vector<oracle::wide> gaps;
  std::size_t ties = 0;

  template <class T>
  explicit gaps_of_row(std::vector<T> const& scores) {
    auto const max = *std::ranges::max_element(scores);
    for (auto const x : scores) {
      if (x == max) {
        ++ties;
      } else if (!is_masked(x)) {
        gaps.push_back(static_cast<oracle::wide>(max) - static_cast<oracle::wide>(x));
      }
    }
    std::ranges::sort(gaps);
  }

  /// By the definition, of the keys within each gap.
  double critical() const {
    oracle::wide most = 0;
    auto const top = static_cast<oracle::wide>(ties);
    for (auto const gap : gaps) {
      auto const within = std::ranges::upper_bound(gaps, gap) - gaps.begin();
      most = std::max(most, oracle::log((top + static_cast<oracle::wide>(within)) / top) / gap);
    }
    return static_cast<double>(most);
  }

  /// The weight of the top.
  double top_weight(double beta) const {
    oracle::wide below = 0;
    for (auto const gap : gaps) below += oracle::exp(-static_cast<oracle::wide>(beta) * gap);
    return static_cast<double>(static_cast<oracle::wide>(ties) /
                               (static_cast<oracle::wide>(ties) + below));
  }
};

/// What a beta has of error: the gap and its quotient, and a logarithm of a quotient near 1, which
/// is at least 1 / keys.
double tolerance_of_critical(double beta, std::size_t keys) {
  return beta * u * (12 + 2 * static_cast<double>(keys));
}

TEST(critical_temperature, is_the_largest_of_the_logarithms_of_the_keys_within_a_gap_over_the_gap) {
  numbers::in_float_and_double([&]<class T>() {
    for (auto const& scores : laws::rows_of_scores<T>()) {
      auto const expected = gaps_of_row(scores).critical();
      for (double const times : {1.0, 2.0, 1000.0}) {
        EXPECT_NEAR(beta_of(critical_temperature(times), scores), std::max(times * expected, 1.0),
                    tolerance_of_critical(times * expected, scores.size()))
            << scores.size() << " keys from " << scores.front() << ", times " << times;
      }
    }
  });
}

// The tie counts as one: ln(3 / 2) / 1 and ln(6 / 2) / 2, of which the second is larger. One key 3
// above 15 others: ln 16 / 3 = 0.9242. Half weight of one above ten: ln 10; above ten, 0.9: ln 90.
TEST(critical_temperature, has_the_known_values) {
  std::vector<double> const tied{-2, 0, -1, masked_score<double>, -2, 0, -2};
  EXPECT_NEAR(beta_of(critical_temperature(4), tied), 4 * 0.5493061443340548, 16 * u);
  std::vector<double> one(16);
  one[5] = 3;
  EXPECT_NEAR(beta_of(critical_temperature(), one), 1.8483924814931874, 16 * u);
  std::vector<double> ten(11, -1);
  ten[3] = 0;
  EXPECT_NEAR(beta_of(half_weight_temperature(), ten), 2.302585092994046, 1e-14);
  EXPECT_NEAR(beta_of(half_weight_temperature(0.9), ten), 4.499809670330265, 1e-14);
  std::vector<double> two(22, -1);  // at the top, which have half the weight together
  two[3] = two[19] = 0;
  EXPECT_NEAR(beta_of(half_weight_temperature(), two), 2.302585092994046, 1e-14);
}

/// Both sides of the critical temperature, as the header proves them: of any row.
TEST(critical_temperature, bounds_the_weight_of_the_top_from_both_sides) {
  numbers::in_float_and_double([&]<class T>() {
    for (auto const& scores : laws::rows_of_scores<T>()) {
      gaps_of_row const row(scores);
      auto const critical = row.critical();
      if (critical == 0) continue;
      for (double const c : {1.01, 1.5, 2.0, 4.0, 30.0})
        EXPECT_GE(row.top_weight(c * critical), (1 - 1 / c) * (1 - 1e-12)) << c;
      double most = 0;  // m, at the maximum
      for (std::size_t i = 0; i < row.gaps.size(); ++i) {
        auto const m = 1 + static_cast<double>(i + 1) / static_cast<double>(row.ties);
        if (std::log(m) / static_cast<double>(row.gaps[i]) >= critical * (1 - 1e-12))
          most = std::max(most, m);
      }
      for (double const c : {0.1, 0.5, 0.9, 1.0})
        EXPECT_LE(row.top_weight(c * critical), (1 + 1e-12) / (1 + (most - 1) * std::pow(most, -c)))
            << c;
    }
  });
}

/// The error that sums of T leave of a weight.
template <class T>
double tolerance_of_weight() {
  return 32 * tolerance::unit_roundoff<T>();
}

TEST(half_weight_temperature, is_the_smallest_at_which_the_top_has_the_weight) {
  numbers::in_float_and_double([&]<class T>() {
    for (double const weight : {0.5, 0.25, 0.9}) {
      half_weight_temperature const rule(weight);
      for (auto const& scores : laws::rows_of_scores<T>()) {
        gaps_of_row const row(scores);
        auto const beta = beta_of(rule, scores);
        EXPECT_GE(row.top_weight(beta), weight - tolerance_of_weight<T>()) << scores.size();
        if (row.top_weight(1) >= weight) {
          EXPECT_NEAR(beta, 1, 1e-5) << scores.size();
        } else {
          EXPECT_NEAR(row.top_weight(beta), weight, tolerance_of_weight<T>()) << scores.size();
        }
      }
    }
  });
}

TEST(half_weight_temperature, is_at_most_twice_the_critical_one_and_on_the_phase_boundary) {
  for (auto const& scores : laws::rows_of_scores<double>())
    EXPECT_LE(beta_of(half_weight_temperature(), scores),
              beta_of(critical_temperature(), scores) * (1 + 1e-12));
  for (std::size_t const n : {100u, 1000u}) {
    std::vector<double> row(n, 0.5);
    row[7] = 1;
    EXPECT_NEAR(beta_of(half_weight_temperature(), row), spread_for(0.5, n) / 0.5, 1e-10);
    EXPECT_NEAR(beta_of(critical_temperature(1), row), phase_boundary(n, 0.5), 1e-10);
  }
}

TEST(critical_temperature, rows_without_a_gap_are_left_alone) {
  std::vector<double> const equal(40, 3), one{-7}, none{masked_score<double>, masked_score<double>};
  for (auto const& row : {equal, one, none, std::vector<double>()}) {
    EXPECT_EQ(beta_of(critical_temperature(), row), 1);
    EXPECT_EQ(beta_of(half_weight_temperature(), row), 1);
  }
}

// The smallest and largest gaps that a type has, and scores that are no numbers.
TEST(critical_temperature, is_finite_for_any_row) {
  auto const finite = [](auto const& row) {
    for (auto const beta :
         {beta_of(critical_temperature(), row), beta_of(half_weight_temperature(), row)})
      EXPECT_TRUE(is_finite(beta) && beta >= 1) << beta;
  };
  finite(std::vector<double>{0, -5e-324, -1});
  finite(std::vector<float>{0, -1e-45f, -1});
  finite(std::vector<double>{1.7e308, -1.7e308, 0});
  finite(std::vector<float>{3e38f, -3e38f, 0});
  finite(std::vector<double>{0, not_a_number(), -1});
  finite(std::vector<double>{0, infinity(), -1});
}

/// Attention's rows, of more keys than a part has, in float and with a mask: the weights are those
/// of the rule's temperature for the scores that attention says it had.
TEST(half_weight_temperature, attention_gives_it_whole_rows) {
  std::size_t const keys = 1100, dim = 8;
  auto q = numbers::random<float>(2 * 2 * dim, 1), k = numbers::random<float>(keys * 2 * dim, 2);
  for (auto& x : q) x *= 8;
  std::vector<std::int64_t> const at{1099, 700};
  auto const whole = [&](auto const& rule) {
    auto const result =
        attention(heads_view<float const>(q.data(), {2, 2, dim}),
                  heads_view<float const>(k.data(), {keys, 2, dim}),
                  heads_view<float const>(k.data(), {keys, 2, dim}), scheme(rule),
                  {.query_positions = at, .keep_scores = true, .keep_weights = true});
    for (std::size_t i = 0; i < 4; ++i) {
      std::vector<float> row(result.scores.begin() + static_cast<std::ptrdiff_t>(i * keys),
                             result.scores.begin() + static_cast<std::ptrdiff_t>((i + 1) * keys));
      auto const beta = beta_of(rule, row);
      EXPECT_GT(beta, 1.2);
      auto const expected = oracle::softmax(numbers::exact(row), beta);
      auto const max = static_cast<double>(*std::ranges::max_element(row));
      for (std::size_t s = 0; s < keys; ++s) {
        auto const exponent = expected[s] == 0 ? 0 : beta * (static_cast<double>(row[s]) - max);
        EXPECT_NEAR(static_cast<double>(result.weights[i * keys + s]), expected[s],
                    tolerance::of_weight<float>(expected[s], exponent, keys))
            << i << ' ' << s;
      }
    }
  };
  whole(half_weight_temperature());
  whole(critical_temperature());
}

TEST(critical_temperature, bad_input_is_refused) {
  auto const times = [](double x) { return message_of([&] { critical_temperature{x}; }); };
  auto const weight = [](double x) { return message_of([&] { half_weight_temperature{x}; }); };
  EXPECT_EQ(times(0), "posenc: critical_temperature: times must be finite and positive, got 0");
  EXPECT_EQ(times(not_a_number()),
            "posenc: critical_temperature: times must be finite and positive, got NaN");
  EXPECT_EQ(weight(0), "posenc: half_weight_temperature: weight must be in (0, 1), got 0");
  EXPECT_EQ(weight(1), "posenc: half_weight_temperature: weight must be in (0, 1), got 1");
  EXPECT_EQ(weight(not_a_number()),
            "posenc: half_weight_temperature: weight must be in (0, 1), got NaN");
  row_statistics const alone{.keys = 5, .entropy = 1};
  EXPECT_EQ(message_of([&] { critical_temperature().inverse_temperature(alone); }),
            "posenc: critical_temperature: the statistics must have the scores of their row, got "
            "none");
  EXPECT_EQ(message_of([&] { half_weight_temperature().inverse_temperature(alone); }),
            "posenc: half_weight_temperature: the statistics must have the scores of their row, "
            "got none");
}

TEST(critical_temperature, obeys_the_laws_of_its_site) {
  laws::obey("twice", critical_temperature(), laws::never_flattens, laws::sight::scores);
  laws::obey("half", half_weight_temperature(), laws::never_flattens, laws::sight::scores);
}

}  // namespace
}  // namespace of_critical_temperature
