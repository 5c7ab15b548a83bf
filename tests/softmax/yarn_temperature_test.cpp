#include "posenc/softmax/yarn_temperature.hpp"

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
#include "posenc/query_key/rope.hpp"
#include "rejects.hpp"
#include "site_2.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

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
