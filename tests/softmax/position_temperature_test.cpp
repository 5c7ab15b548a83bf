#include "posenc/softmax/position_temperature.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "laws/softmax_laws.hpp"
#include "non_numbers.hpp"
#include "oracle/temperatures.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

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
