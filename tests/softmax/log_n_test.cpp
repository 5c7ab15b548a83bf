#include "posenc/softmax/log_n.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "laws/softmax_laws.hpp"
#include "non_numbers.hpp"
#include "oracle/softmax.hpp"
#include "oracle/temperatures.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/softmax.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace of_log_n { namespace {

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

/// s ln n + b: the logarithm within 4 ULP, then two roundings.
double tolerance_of(double s, double b, std::size_t keys) {
  return 12 * tolerance::unit_roundoff<double>() *
         (s * std::log(static_cast<double>(keys)) + std::abs(b));
}

TEST(ssmax, beta_is_the_scale_of_the_head_times_the_logarithm_of_the_keys_that_are_seen) {
  std::vector<double> const scales{0.43, 1, 0.168, 7}, biases{0, -0.5, 1.25, 0.125};
  for (bool const biased : {false, true}) {
    ssmax const encoding(scales, biased ? biases : std::vector<double>());
    for (std::size_t head = 0; head < scales.size(); ++head) {
      auto const s = scales[head], b = biased ? biases[head] : 0;
      for (std::size_t const keys : {2u, 3u, 16u, 1000u, 131'072u, 4'000'000'000u})
        EXPECT_NEAR(encoding.inverse_temperature({.keys = keys, .head = head, .query_position = 5}),
                    oracle::ssmax_beta(keys, s, b), tolerance_of(s, b, keys))
            << keys << " keys, head " << head;
    }
  }
}

TEST(ssmax, without_a_scale_has_the_scale_1) {
  ssmax const one({1});
  for (std::size_t const keys : {0u, 1u, 2u, 3u, 16u, 1000u, 131'072u})
    EXPECT_EQ(ssmax_without_scale{}.inverse_temperature({.keys = keys, .head = 9}),
              one.inverse_temperature({.keys = keys}))
        << keys;
}

TEST(ssmax, a_row_of_one_key_or_none_is_left_alone) {
  for (std::size_t const keys : {0u, 1u}) {
    EXPECT_EQ(ssmax_without_scale{}.inverse_temperature({.keys = keys}), 1);
    EXPECT_EQ(ssmax({0.43}, {2}).inverse_temperature({.keys = keys}), 1);
  }
}

/// [Nakanishi 2025, figure 1]: one score above n - 1 equal ones; the formula, evaluated to four
/// digits.
TEST(ssmax, keeps_the_weight_of_a_key_that_stands_out) {
  struct known {
    std::size_t keys;
    double with_ssmax, with_softmax, half_digit;
  };
  ssmax const encoding({0.43});
  for (auto const& [keys, with_ssmax, with_softmax, half_digit] :
       {known{16, 0.7045, 0.5725, 5e-5}, known{1024, 0.8820, 0.0193, 5e-5},
        known{131'072, 0.9682, 0.00015, 5e-6}}) {
    std::vector<double> scores(keys);
    scores[7] = 3;
    auto plain = scores;
    auto const row = statistics(std::span<double const>(scores));
    softmax(std::span(scores), row, encoding.inverse_temperature(row));
    softmax(std::span(plain), row);
    EXPECT_NEAR(scores[7], with_ssmax, 5e-5) << keys;
    EXPECT_NEAR(plain[7], with_softmax, half_digit) << keys;
  }
}

/// n^(s x) / sum n^(s x), in powers of n as in the paper.
TEST(ssmax, weights_are_those_of_powers_of_the_number_of_keys) {
  constexpr double s = 0.43;
  std::vector<double> const scores{0.5, -1, 2, 1.75, -0.25};
  auto weights = scores;
  auto const row = statistics(std::span<double const>(scores));
  softmax(std::span(weights), row, ssmax({s}).inverse_temperature(row));
  oracle::wide sum = 0;
  for (auto const x : scores) sum += oracle::pow(oracle::wide(5), static_cast<oracle::wide>(s) * x);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    auto const expected = static_cast<double>(
        oracle::pow(oracle::wide(5), static_cast<oracle::wide>(s) * scores[i]) / sum);
    EXPECT_NEAR(weights[i], expected,
                tolerance::of_weight<double>(expected, 3, 5) +
                    tolerance::of_weight_by_scores(expected, 3 * tolerance_of(s, 0, 5)));
  }
}

TEST(ssmax, masked_keys_do_not_count) {
  std::vector<double> const scores{1, masked_score<double>, 2, masked_score<double>,
                                   0, masked_score<double>, 1};
  auto const row = statistics(std::span<double const>(scores));
  EXPECT_NEAR(ssmax_without_scale{}.inverse_temperature(row), std::log(4.0), tolerance_of(1, 0, 4));
}

TEST(ssmax, each_scale_must_be_finite_and_positive) {
  EXPECT_EQ(message_of([] { ssmax({}); }),
            "posenc: ssmax: there must be a scale for at least one head, got none");
  auto const message = [](double s) { return message_of([&] { ssmax({1, s}); }); };
  std::string const must = "posenc: ssmax: scales must be finite and positive, got ";
  EXPECT_EQ(message(0), must + "0 for head 1");
  EXPECT_EQ(message(-0.43), must + "-0.43 for head 1");
  EXPECT_EQ(message(not_a_number()), must + "NaN for head 1");
  EXPECT_EQ(message(infinity()), must + "infinity for head 1");
}

TEST(ssmax, there_are_as_many_biases_as_scales_and_beta_is_positive) {
  EXPECT_EQ(
      message_of([] {
        ssmax({1, 2}, {1});
      }),
      "posenc: ssmax: there must be no biases or as many as scales, got 1 biases for 2 scales");
  auto const message = [](double b) { return message_of([&] { ssmax({1, 0.5}, {0, b}); }); };
  std::string const must = "posenc: ssmax: biases must be finite and above -scale ln 2, got ";
  EXPECT_EQ(message(-0.35), must + "-0.35 for head 1");
  EXPECT_EQ(message(not_a_number()), must + "NaN for head 1");
  EXPECT_EQ(message(infinity()), must + "infinity for head 1");
  EXPECT_GT(ssmax({1, 0.5}, {0, -0.34}).inverse_temperature({.keys = 2, .head = 1}), 0);
}

TEST(ssmax, a_head_without_a_scale_is_rejected) {
  ssmax const encoding({1, 2});
  EXPECT_EQ(encoding.heads(), 2u);
  for (std::size_t const keys : {0u, 5u})
    EXPECT_EQ(message_of([&] { encoding.inverse_temperature({.keys = keys, .head = 2}); }),
              "posenc: ssmax: the head must be below 2, got 2");
}

TEST(ssmax, obeys_the_laws_of_its_site) {
  laws::obey("one head", ssmax({0.43}), laws::may_flatten);
  laws::obey("with a bias", ssmax({0.43}, {-0.25}), laws::may_flatten);
  laws::obey("without scale", ssmax_without_scale{}, laws::may_flatten);
}

double beta_of(position_temperature const& encoding, std::int64_t position) {
  return encoding.inverse_temperature({.keys = 1, .query_position = position});
}

/// 1 + scale ln(1 + steps): the logarithm within 4 ULP, then two roundings.
double tolerance_by_position(double beta) { return 12 * tolerance::unit_roundoff<double>() * beta; }

struct value {
  std::int64_t position;
  double beta;
};

/// The formulas [llama-models, model.py; transformers, modeling_ministral3.py], evaluated to nine
/// digits.
TEST(position_temperature, of_llama_4_is_the_published_one) {
  for (auto const& [position, beta] :
       {value{0, 1}, value{8190, 1}, value{8191, 1.06931471805599}, value{16383, 1.10986122886681},
        value{131'071, 1.28332133440562}, value{1'048'575, 1.48598124043617},
        value{10'485'759, 1.71553963}})
    EXPECT_NEAR(beta_of(llama4_temperature(), position), beta, 0.5e-8) << position;
}

TEST(position_temperature, of_ministral_3_is_the_published_one) {
  for (auto const& [position, beta] :
       {value{16'383, 1}, value{16'384, 1.06931472}, value{262'143, 1.27725887}, value{-5, 1}})
    EXPECT_NEAR(beta_of(mistral_temperature(0.1, 16'384), position), beta, 0.5e-8) << position;
}

TEST(position_temperature, llama_4_counts_from_1_and_mistral_from_0) {
  EXPECT_EQ(beta_of(llama4_temperature(0.1, 100), 98), 1);
  EXPECT_GT(beta_of(llama4_temperature(0.1, 100), 99), 1);
  EXPECT_EQ(beta_of(mistral_temperature(0.1, 100), 99), 1);
  EXPECT_GT(beta_of(mistral_temperature(0.1, 100), 100), 1);
}

TEST(position_temperature, follows_the_definition_at_either_side_of_every_step) {
  for (std::int64_t const length : {1, 3, 10, 49, 1000, 3000, 8192, 16'384, 1'000'003}) {
    for (double const scale : {0.0, 0.1, 0.25, 2.0}) {
      auto const llama = llama4_temperature(scale, static_cast<double>(length)),
                 mistral = mistral_temperature(scale, static_cast<double>(length));
      for (std::int64_t step = 0; step < 300; ++step) {
        for (std::int64_t const position :
             {step * length - 2, step * length - 1, step * length, step * length + 1}) {
          auto const of_llama = oracle::position_beta(position, scale, length, 1),
                     of_mistral = oracle::position_beta(position, scale, length, 0);
          ASSERT_NEAR(beta_of(llama, position), of_llama, tolerance_by_position(of_llama))
              << position << " of " << length;
          ASSERT_NEAR(beta_of(mistral, position), of_mistral, tolerance_by_position(of_mistral))
              << position << " of " << length;
        }
      }
    }
  }
}

TEST(position_temperature, never_falls_with_the_position_and_is_finite_at_the_farthest) {
  auto const encoding = llama4_temperature(0.1, 10);
  double last = 1;
  for (std::int64_t position = -100; position < 10'000; ++position) {
    auto const beta = beta_of(encoding, position);
    ASSERT_GE(beta, last) << position;
    last = beta;
  }
  EXPECT_EQ(beta_of(encoding, std::numeric_limits<std::int64_t>::min()), 1);
  EXPECT_TRUE(is_finite(beta_of(encoding, std::numeric_limits<std::int64_t>::max())));
}

TEST(position_temperature, is_plain_data) {
  auto const llama = llama4_temperature(), mistral = mistral_temperature(0.25, 4096);
  EXPECT_EQ(llama.scale, 0.1);
  EXPECT_EQ(llama.floor_scale, 8192);
  EXPECT_EQ(llama.offset, 1);
  EXPECT_EQ(mistral.scale, 0.25);
  EXPECT_EQ(mistral.floor_scale, 4096);
  EXPECT_EQ(mistral.offset, 0);
}

TEST(position_temperature, the_factories_check) {
  auto const llama = [](double scale, double length) {
    return message_of([&] { llama4_temperature(scale, length); });
  };
  auto const mistral = [](double scale, double length) {
    return message_of([&] { mistral_temperature(scale, length); });
  };
  EXPECT_EQ(llama(-0.1, 8192),
            "posenc: llama4_temperature: scale must be finite and not negative, got -0.1");
  EXPECT_EQ(llama(not_a_number(), 8192),
            "posenc: llama4_temperature: scale must be finite and not negative, got NaN");
  EXPECT_EQ(llama(0.1, 0),
            "posenc: llama4_temperature: floor_scale must be finite and positive, got 0");
  EXPECT_EQ(llama(0.1, infinity()),
            "posenc: llama4_temperature: floor_scale must be finite and positive, got infinity");
  EXPECT_EQ(mistral(-1, 8192),
            "posenc: mistral_temperature: beta must be finite and not negative, got -1");
  EXPECT_EQ(mistral(infinity(), 8192),
            "posenc: mistral_temperature: beta must be finite and not negative, got infinity");
  EXPECT_EQ(mistral(0.1, -4096),
            "posenc: mistral_temperature: original_length must be finite and positive, got -4096");
  EXPECT_EQ(mistral(0.1, not_a_number()),
            "posenc: mistral_temperature: original_length must be finite and positive, got NaN");
}

TEST(position_temperature, obeys_the_laws_of_its_site) {
  laws::obey("Llama 4", llama4_temperature(), laws::never_flattens);
  laws::obey("Mistral", mistral_temperature(0.1, 16'384), laws::never_flattens);
  laws::obey("one's own", position_temperature{.scale = 0.2, .floor_scale = 3, .offset = 10},
             laws::never_flattens);
}

}  // namespace
}  // namespace of_log_n
