#include "posenc/analysis/fit_adaptive_temperature.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "golden/adaptive_temperature.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/wide.hpp"
#include "posenc/analysis/dispersion.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using samples = std::vector<temperature_sample>;

/// The values of P, from the normal equations of powers of H - middle, which Gauss solves, in the
/// type of oracles.
double by_normal_equations(samples const& all, double entropy, double middle) {
  using oracle::wide;
  std::array<std::array<wide, 6>, 5> a{};
  for (auto const& [h, beta] : all) {
    std::array<wide, 5> powers{1};
    for (std::size_t k = 1; k < 5; ++k) powers[k] = powers[k - 1] * (wide(h) - wide(middle));
    for (std::size_t row = 0; row < 5; ++row) {
      for (std::size_t k = 0; k < 5; ++k) a[row][k] += powers[row] * powers[k];
      a[row][5] += powers[row] * wide(beta);
    }
  }
  for (std::size_t pivot = 0; pivot < 5; ++pivot) {  // positive definite: no rows are exchanged
    for (std::size_t row = 0; row < 5; ++row) {
      if (row == pivot) continue;
      auto const factor = a[row][pivot] / a[pivot][pivot];
      for (std::size_t k = pivot; k < 6; ++k) a[row][k] -= factor * a[pivot][k];
    }
  }
  wide sum = 0;
  for (std::size_t k = 5; k-- > 0;) sum = sum * (wide(entropy) - wide(middle)) + a[k][5] / a[k][k];
  return static_cast<double>(sum);
}

samples between(double low, double high, std::size_t count, auto const& beta) {
  samples all;
  auto places = numbers::random<double>(count, count);  // in [-1, 1)
  places.front() = -1, places.back() = 1;
  for (std::size_t i = 0; i < count; ++i) {
    auto const h = low + (high - low) * (places[i] + 1) / 2;
    all.push_back({h, beta(h)});
  }
  return all;
}

double most(samples const& all) {
  return std::ranges::max(all, {}, &temperature_sample::inverse_temperature).inverse_temperature;
}

TEST(fit_adaptive_temperature, finds_the_polynomial_that_the_samples_were_made_by) {
  adaptive_temperature const published;
  auto const of_published = [&](double h) { return published.polynomial(h); };
  auto const found = fit_adaptive_temperature(between(0.7, 6, 400, of_published));
  for (std::size_t k = 0; k < 5; ++k)
    EXPECT_NEAR(found.coefficients[k], golden::adaptive_coefficients[k], 1e-12) << k;

  auto const planted = [](double h) { return 3 + h - h * h / 2 + h * h * h * h / 64; };
  auto const five = samples{{0, 3}, {1, planted(1)}, {2, planted(2)}, {4, planted(4)}, {8, 43}};
  auto const exact = fit_adaptive_temperature(five);
  std::array const coefficients{1.0 / 64, 0.0, -0.5, 1.0, 3.0};
  for (std::size_t k = 0; k < 5; ++k)
    EXPECT_NEAR(exact.coefficients[k], coefficients[k], 1e-12) << k;
}

TEST(fit_adaptive_temperature, is_the_least_squares_of_the_normal_equations) {
  struct range {
    double low, high, error;
  };
  for (auto const& entropies : {range{0, 6, 1e-12}, range{0.01, 0.02, 1e-11}, range{3, 6, 1e-10},
                                range{5, 6, 1e-8}, range{0, 100, 1e-12}, range{5, 5.06, 1e-5}}) {
    auto const low = entropies.low, high = entropies.high;
    for (std::size_t const count : {6u, 40u, 3000u}) {
      auto const noise = numbers::random<double>(count, 7);
      std::size_t i = 0;
      auto const all = between(low, high, count, [&](double h) {
        return 4 + std::sin(3 * (h - low) / (high - low)) + noise[i++];
      });
      auto const found = fit_adaptive_temperature(all);
      for (double part = 0; part <= 1; part += 1.0 / 16) {
        auto const h = found.lowest + part * (found.highest - found.lowest);
        EXPECT_NEAR(found.polynomial(h), by_normal_equations(all, h, (low + high) / 2),
                    entropies.error * most(all))
            << count << " samples from " << low << " to " << high << ", at " << h;
      }
    }
  }
}

/// Rows of the published kind: entropies up to that of a few hundred keys, betas that scatter about
/// the published curve.
TEST(fit_adaptive_temperature, finds_the_published_rule_among_samples_that_scatter_about_it) {
  auto const scatter = numbers::random<double>(20'000, 5);  // uniform in [-1, 1): 0.58 of deviation
  std::size_t i = 0;
  auto const of_published = [&](double h) {
    return std::max(adaptive_temperature{}.polynomial(h) + 0.35 * scatter[i++], 0.1);
  };
  auto const rule = fit_adaptive_temperature(between(0.6, 6, 20'000, of_published));
  // Five coefficients share the scatter: 0.2 sqrt(5 / 20000) is 0.003, more at the ends.
  for (double h = 1; h < 6; h += 0.125)
    EXPECT_NEAR(rule.polynomial(h), adaptive_temperature{}.polynomial(h), 0.03) << h;
  auto const found = sharpens_between(rule);
  EXPECT_NEAR(found.below, golden::adaptive_lower_root, 0.01);
  EXPECT_NEAR(found.above.value(), golden::adaptive_upper_root, 0.02);
}

TEST(fit_adaptive_temperature, counts_between_the_entropies_of_the_samples) {
  auto const rule =
      fit_adaptive_temperature(samples{{2, 9}, {5, 3}, {3, 7}, {4, 5}, {2.5, 8}, {4.5, 4}});
  EXPECT_EQ(rule.lowest, 2);
  EXPECT_EQ(rule.highest, 5);
  EXPECT_NEAR(rule.inverse_temperature({.entropy = 1}), 9, 1e-12);
  EXPECT_NEAR(rule.inverse_temperature({.entropy = 3.75}), 5.5, 1e-12);
  EXPECT_NEAR(rule.inverse_temperature({.entropy = 9}), 3, 1e-12);
}

TEST(fit_adaptive_temperature, bad_input_is_rejected) {
  auto const rejected = [](samples const& all) {
    return message_of([&] { fit_adaptive_temperature(all); });
  };
  samples const good{{1, 1}, {2, 2}, {3, 2}, {4, 3}, {5, 2}};
  EXPECT_NO_THROW(fit_adaptive_temperature(good));
  EXPECT_EQ(rejected({good.begin(), good.end() - 1}),
            "posenc: fit_adaptive_temperature: there must be at least 5 samples, got 4");
  auto const with = [&](temperature_sample sample) {
    auto all = good;
    all[3] = sample;
    return rejected(all);
  };
  std::string const
      entropies = "posenc: fit_adaptive_temperature: entropies must be in [0, 100] nats, got ",
      betas =
          "posenc: fit_adaptive_temperature: inverse temperatures must be in (0, "
          "1e6], got ";
  EXPECT_EQ(with({not_a_number(), 1}), entropies + "NaN at sample 3");
  EXPECT_EQ(with({-1, 1}), entropies + "-1 at sample 3");
  EXPECT_EQ(with({101, 1}), entropies + "101 at sample 3");
  EXPECT_EQ(with({4, infinity()}), betas + "infinity at sample 3");
  EXPECT_EQ(with({4, 0}), betas + "0 at sample 3");
  EXPECT_EQ(with({4, 1e7}), betas + "1e+07 at sample 3");
  EXPECT_EQ(with({3, 1}),
            "posenc: fit_adaptive_temperature: the entropies must have at least 5 different "
            "values, got 4");
  EXPECT_EQ(rejected(samples{{1, 1}, {2, 2}, {1, 3}, {2, 4}, {2, 5}}),
            "posenc: fit_adaptive_temperature: the entropies must have at least 5 different "
            "values, got 2");
  EXPECT_EQ(rejected(samples(6, {0, 1})),
            "posenc: fit_adaptive_temperature: entropies must spread over more than a hundredth of "
            "the highest, got 0 to 0");
  samples near;
  for (int i = 0; i < 9; ++i) near.push_back({5 + i / 1000.0, 2});
  EXPECT_EQ(rejected(near),
            "posenc: fit_adaptive_temperature: entropies must spread over more than a hundredth of "
            "the highest, got 5 to 5.008");
}

}  // namespace
