#include "posenc/softmax/constant_temperature.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "golden/yarn.hpp"
#include "laws/softmax_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/temperatures.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/query_key/rope.hpp"
#include "rejects.hpp"
#include "site_2.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

TEST(constant_temperature, is_the_same_for_every_row) {
  constant_temperature const encoding(1.75);
  for (row_statistics const& row :
       {row_statistics{}, row_statistics{.keys = 1},
        row_statistics{.keys = 4096, .max = 9, .entropy = 5, .head = 3, .query_position = -7}})
    EXPECT_EQ(encoding.inverse_temperature(row), 1.75);
}

TEST(constant_temperature, several_multiply) {
  EXPECT_EQ(scheme(constant_temperature(1.5), constant_temperature(0.25)).inverse_temperature({}),
            0.375);
}

TEST(constant_temperature, can_be_known_at_compile_time) {
  static_assert(constant_temperature(2).inverse_temperature({}) == 2);
}

TEST(constant_temperature, beta_must_be_finite_and_positive) {
  auto const message = [](double beta) { return message_of([&] { constant_temperature{beta}; }); };
  std::string const must = "posenc: constant_temperature: beta must be finite and positive, got ";
  EXPECT_EQ(message(0), must + "0");
  EXPECT_EQ(message(-1.5), must + "-1.5");
  EXPECT_EQ(message(not_a_number()), must + "NaN");
  EXPECT_EQ(message(infinity()), must + "infinity");
}

TEST(constant_temperature, obeys_the_laws_of_its_site) {
  laws::obey("sharpening", constant_temperature(2.5), laws::never_flattens);
  laws::obey("flattening", constant_temperature(0.125), laws::may_flatten);
}

/// (0.1 ln s + 1)^2: the logarithm within 4 ULP, then five roundings.
double tolerance_of_yarn(double beta) { return 16 * tolerance::unit_roundoff<double>() * beta; }

TEST(yarn_temperature, is_the_square_of_the_published_factor) {
  // [Peng 2023, 3.4] YaRN for Llama 2 7B, factor 16, magnitude 1.2772588722239781 on queries and on
  // keys.
  EXPECT_NEAR(yarn_temperature(16).inverse_temperature({}), 1.6313902266748685,
              tolerance_of_yarn(1.7));
  for (double const factor : {1.0, 1.5, 2.0, 4.0, 40.0, 256.0})
    EXPECT_NEAR(yarn_temperature(factor).inverse_temperature({}), oracle::yarn_beta(factor),
                tolerance_of_yarn(3))
        << factor;
  EXPECT_EQ(yarn_temperature(1).inverse_temperature({}), 1) << "no extension, no sharpening";
}

TEST(yarn_temperature, of_a_scaling_is_its_attention_factor_twice) {
  yarn_scaling scaling{.factor = 40, .original_length = 4096};
  EXPECT_EQ(yarn_temperature(scaling).inverse_temperature({}),
            yarn_temperature(40).inverse_temperature({}));
  scaling.attention_factor = 1.5;
  EXPECT_EQ(yarn_temperature(scaling).inverse_temperature({}), 2.25);
  scaling.attention_factor = {}, scaling.mscale = 1, scaling.mscale_all_dim = 1;
  EXPECT_EQ(yarn_temperature(scaling).inverse_temperature({}), 1)
      << "DeepSeek's, whose scores have softmax_factor(scaling)";
}

TEST(yarn_temperature, on_scores_is_the_attention_factor_on_queries_and_keys) {
  constexpr std::size_t dim = 64;
  yarn_scaling const scaling{.factor = 8, .original_length = 2048};
  auto plain = scaling;
  plain.attention_factor = 1;
  std::vector<std::int64_t> const positions{3, 9000};
  auto const score = [&](frequencies const& f, double& magnitude) {
    auto x = numbers::random<double>(2 * dim);
    site_2::encode_queries(rope<halves>(f), numbers::view(x, 2, dim), positions);
    double sum = 0;
    magnitude = 0;
    for (std::size_t i = 0; i < dim; ++i)
      sum += x[i] * x[dim + i], magnitude += std::abs(x[i] * x[dim + i]);
    return sum;
  };
  double size = 0, plain_size = 0;
  auto const on_both = score(yarn(dim, 1e4, scaling), size),
             on_none = score(yarn(dim, 1e4, plain), plain_size);
  // The errors of two dot products, and of both factors of each of their terms: four numbers, each
  // rotated with one cosine and one sine.
  auto const tolerance = 2 * tolerance::of_dot_product<double>(dim, size) +
                         static_cast<double>(dim) * 16 * 2 * tolerance::of_cosine<double>();
  EXPECT_NEAR(on_both, yarn_temperature(scaling).inverse_temperature({}) * on_none, tolerance);
  EXPECT_GT(std::abs(on_both - on_none), 0.1 * std::abs(on_none));
}

TEST(yarn_temperature, factor_must_be_finite_and_positive) {
  std::string const must = "posenc: yarn_temperature: factor must be finite and positive, got ";
  for (auto const& [factor, shown] :
       {std::pair{0.0, "0"}, {not_a_number(), "NaN"}, {infinity(), "infinity"}})
    EXPECT_EQ(message_of([factor = factor] { yarn_temperature(factor); }), must + shown);
  EXPECT_EQ(message_of([] { yarn_temperature({.factor = -0.5, .original_length = 4096}); }),
            "posenc: attention_factor: factor must be finite and positive, got -0.5");
  EXPECT_EQ(yarn_temperature(0.5).inverse_temperature({}), 1);
}

TEST(yarn_temperature, obeys_the_laws_of_its_site) {
  laws::obey("factor 32", yarn_temperature(32), laws::never_flattens);
}

}  // namespace
