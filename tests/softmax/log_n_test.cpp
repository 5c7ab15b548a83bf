#include "posenc/softmax/log_n.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "laws/softmax_laws.hpp"
#include "non_numbers.hpp"
#include "oracle/temperatures.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

/// A quotient of two logarithms, each within 4 ULP.
double tolerance_of(double beta) { return 20 * tolerance::unit_roundoff<double>() * beta; }

double by_keys(double trained, std::size_t keys) {
  return log_n(trained).inverse_temperature({.keys = keys, .query_position = 1 << 30});
}
double by_position(double trained, std::int64_t position) {
  return log_n_by_position(trained).inverse_temperature(
      {.keys = 1'000'000'000, .query_position = position});
}

TEST(log_n, is_the_logarithm_to_the_base_of_the_trained_length_where_that_exceeds_1) {
  for (std::int64_t const trained : {2, 512, 2048, 8192, 10'000}) {
    for (std::int64_t const n :
         {1, 2, 3, 511, 512, 513, 2048, 2049, 8192, 8193, 32'768, 1'000'000, 2'000'000'000}) {
      auto const expected = oracle::log_n_beta(n, trained);
      EXPECT_NEAR(by_keys(static_cast<double>(trained), static_cast<std::size_t>(n)), expected,
                  tolerance_of(expected))
          << n;
      EXPECT_NEAR(by_position(static_cast<double>(trained), n - 1), expected,
                  tolerance_of(expected))
          << n;
    }
  }
}

TEST(log_n, is_exactly_1_within_the_trained_length_and_more_beyond_it) {
  for (std::size_t const keys : {0u, 1u, 2u, 2047u, 2048u})
    EXPECT_EQ(by_keys(2048, keys), 1) << keys;
  EXPECT_GT(by_keys(2048, 2049), 1);
  for (std::int64_t const position : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1},
                                      std::int64_t{0}, std::int64_t{2047}})
    EXPECT_EQ(by_position(2048, position), 1) << position;
  EXPECT_GT(by_position(2048, 2048), 1);
  EXPECT_TRUE(is_finite(by_position(2048, std::numeric_limits<std::int64_t>::max())));
}

/// The square of the trained length, whose logarithm to that base is 2; and the cube.
TEST(log_n, of_a_power_of_the_trained_length_is_its_exponent) {
  EXPECT_NEAR(by_keys(2048, 2048 * 2048), 2, tolerance_of(2));
  EXPECT_NEAR(by_position(512, 512 * 512 * 512 - 1), 3, tolerance_of(3));
}

TEST(log_n, by_keys_and_by_position_agree_where_all_keys_before_the_query_are_seen_and_only_there) {
  for (std::int64_t position = 0; position < 5000; position += 7)
    EXPECT_EQ(by_keys(1024, static_cast<std::size_t>(position) + 1), by_position(1024, position))
        << position;
  row_statistics const windowed{.keys = 512, .query_position = 100'000};
  EXPECT_EQ(log_n(1024).inverse_temperature(windowed), 1);
  EXPECT_GT(log_n_by_position(1024).inverse_temperature(windowed), 1.6);
}

TEST(log_n, the_trained_length_must_be_finite_and_above_1) {
  auto const expect = [](std::string const& rule, auto const& make) {
    std::string must = "posenc: ";  // g++ 12 at -O3 sees a copy out of bounds in a sum of strings
    must.append(rule).append(": trained_length must be finite and above 1, got ");
    EXPECT_EQ(message_of([&] { make(1); }), must + "1");
    EXPECT_EQ(message_of([&] { make(0); }), must + "0");
    EXPECT_EQ(message_of([&] { make(-2048); }), must + "-2048");
    EXPECT_EQ(message_of([&] { make(not_a_number()); }), must + "NaN");
    EXPECT_EQ(message_of([&] { make(infinity()); }), must + "infinity");
  };
  expect("log_n", [](double trained) { return log_n(trained); });
  expect("log_n_by_position", [](double trained) { return log_n_by_position(trained); });
}

TEST(log_n, obeys_the_laws_of_its_site) {
  laws::obey("trained with 3 tokens", log_n(3), laws::never_flattens);
  laws::obey("trained with 1024 tokens", log_n(1024), laws::never_flattens);
  laws::obey("by position", log_n_by_position(1024), laws::never_flattens);
  laws::obey("beside others", scheme(alibi(2), adaptive_temperature{}, log_n(100)),
             laws::never_flattens);
}

}  // namespace
