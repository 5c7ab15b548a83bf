/// Each rule's frequencies, with their rest, against its formula in integers; and the rows made
/// from them.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "oracle/fixed_point.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/cos_sin_table.hpp"
#include "posenc/rows/rerotation.hpp"

namespace {

using namespace posenc;
using oracle::fixed_point;

constexpr std::size_t pairs = 32;
constexpr double base = 100;

fixed_point number(std::size_t n) { return fixed_point::whole(static_cast<std::int64_t>(n)); }
fixed_point const& two_pi() {
  static fixed_point const value = oracle::pi_in_fixed_point() + oracle::pi_in_fixed_point();
  return value;
}
fixed_point power(double of, fixed_point const& exponent) {
  return oracle::exp(oracle::log(fixed_point(of)) * exponent);
}
fixed_point ratio(std::size_t a, std::size_t b) {
  return number(a) / static_cast<std::uint32_t>(b);
}

/// base^(-2i / d).
fixed_point series(std::size_t i) { return power(base, -ratio(i, pairs)); }
fixed_point exact(frequencies const& f, std::size_t i) {
  return fixed_point(f.inv_freq()[i]) + fixed_point(f.rest()[i]);
}

void expect_exact(char const* rule, frequencies const& f, auto const& formula) {
  SCOPED_TRACE(rule);
  for (std::size_t i = 0; i < f.pairs(); ++i) {
    fixed_point const expected = formula(i);
    EXPECT_LE(std::abs((exact(f, i) - expected).number()), 0x1p-98 * expected.number())
        << "pair " << i;
    EXPECT_EQ(f.inv_freq()[i], f.inv_freq()[i] + f.rest()[i]) << "the nearest double";
  }
}

/// The first pairs alone.
frequencies first_pairs(frequencies const& f, std::size_t count) {
  auto const first = [&](auto const& x) {
    return std::vector<double>(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count));
  };
  return {first(f.inv_freq()), first(f.rest()), f.attention_factor()};
}

TEST(frequency_rules, hold_their_formulas_to_98_places) {
  auto const f = geometric(2 * pairs, base);
  auto const divided = [](std::size_t i, double factor) {
    return oracle::quotient(series(i), fixed_point(factor));
  };
  expect_exact("geometric", f, series);
  expect_exact("base 5e5", geometric(128, 5e5),
               [](std::size_t i) { return power(5e5, -ratio(i, 64)); });
  expect_exact("base below 1", geometric(2 * pairs, 0.3),
               [](std::size_t i) { return power(0.3, -ratio(i, pairs)); });
  // The first pairs, down to 2^-160: fixed-point numbers have 320 places.
  for (double const mantissa : {1.0, 1.7}) {
    auto const logarithm =
        oracle::log(fixed_point(mantissa)) + oracle::log(number(2)) * number(1023);
    auto const at = [&](std::size_t i, std::size_t count) {
      return oracle::exp(-(logarithm * ratio(i, count)));
    };
    expect_exact("base 2^1023 and more",
                 first_pairs(geometric(128, std::ldexp(mantissa, 1023)), 10),
                 [&](std::size_t i) { return at(i, 64); });
    expect_exact(
        "ntk by 2^1023 and more",
        first_pairs(ntk(frequencies(std::vector<double>(64, 1.0)), std::ldexp(mantissa, 1023)), 10),
        [&](std::size_t i) { return at(i, 63); });
  }
  expect_exact("geometric_inclusive", geometric_inclusive(2 * pairs, 1e4),
               [](std::size_t i) { return power(1e4, -ratio(i, pairs - 1)); });
  expect_exact("pixel", pixel(2 * pairs, 10.3), [](std::size_t i) {
    auto const range = fixed_point(10.3) / 2 - number(1);
    return oracle::pi_in_fixed_point() * (number(1) + range * ratio(i, pairs - 1));
  });
  expect_exact("linear", linear(f, 3.7), [&](std::size_t i) { return divided(i, 3.7); });
  expect_exact("proportional", proportional(2 * pairs, base, 0.25, 3),
               [&](std::size_t i) { return i < pairs / 4 ? divided(i, 3) : fixed_point(); });
  expect_exact("ntk", ntk(f, 8.1),
               [](std::size_t i) { return series(i) * power(8.1, -ratio(i, pairs - 1)); });
  expect_exact("dynamic_ntk", dynamic_ntk(f, {2.3, 4096}, 10'000.5), [](std::size_t i) {
    auto const factor =
        fixed_point(2.3) * fixed_point(10'000.5) / 4096 - (fixed_point(2.3) - number(1));
    return series(i) * oracle::exp(-(oracle::log(factor) * ratio(i, pairs - 1)));
  });
  expect_exact("mixed_ntk", mixed_ntk(f, 7.3), [](std::size_t i) {
    auto const share = oracle::exp(oracle::log(ratio(i + 1, pairs)) * fixed_point(0.625));
    return series(i) * power(7.3, -share);
  });
  auto const by_turns = [&](double factor, double length, double alpha, double beta) {
    return [=](std::size_t i) {
      auto const turns = oracle::quotient(fixed_point(length) * series(i), two_pi());
      auto const kept =
          oracle::quotient(turns - fixed_point(alpha), fixed_point(beta) - fixed_point(alpha));
      if (kept.number() <= 0) return divided(i, factor);
      if (kept.number() >= 1) return series(i);
      return (number(1) - kept) * divided(i, factor) + kept * series(i);
    };
  };
  expect_exact("ntk_by_parts",
               ntk_by_parts(f, {.factor = 4.7, .original_length = 2048, .beta = 100.3}),
               by_turns(4.7, 2048, 1, 100.3));
  expect_exact("llama3", llama3(f, {8.3, 20, 60.5, 4096}), by_turns(8.3, 4096, 20, 60.5));
  expect_exact("yarn_by_rotations", yarn_by_rotations(f, {.factor = 16, .original_length = 1024}),
               by_turns(16, 1024, 1, 32));
  auto const yarn_of = yarn_scaling{.factor = 40.3, .original_length = 300};
  auto const ramp = ramp_of_yarn(2 * pairs, base, yarn_of);
  ASSERT_EQ(ramp.first, std::floor(ramp.first)) << "whole indices";
  auto const along = [](yarn_ramp const& r, std::size_t i, fixed_point const& before,
                        fixed_point const& after) {
    auto const share = oracle::quotient(number(i) - fixed_point(r.first),
                                        fixed_point(r.last) - fixed_point(r.first));
    if (share.number() <= 0) return before;
    return share.number() >= 1 ? after : after * share + before * (number(1) - share);
  };
  expect_exact("yarn", yarn(2 * pairs, base, yarn_of),
               [&](std::size_t i) { return along(ramp, i, series(i), divided(i, 40.3)); });
  expect_exact("part_ntk", part_ntk(2 * pairs, base, {4.7, 300}), [&](std::size_t i) {
    auto const inner =
        ramp_of_yarn(2 * pairs, base,
                     {.factor = 4.7, .original_length = 300, .beta_fast = 1.25, .beta_slow = 0.75});
    auto const outer = ramp_of_yarn(
        2 * pairs, base, {.factor = 4.7, .original_length = 300, .beta_fast = 16, .beta_slow = 2});
    auto const middle = series(i) * power(4.7, -ratio(i, pairs - 1));
    return along(outer, i, series(i), along(inner, i, middle, divided(i, 4.7)));
  });
  std::vector<double> factors;
  for (std::size_t i = 0; i < pairs; ++i) factors.push_back(1 + 0.1 * static_cast<double>(i));
  expect_exact("divided_by_factors", divided_by_factors(f, factors),
               [&](std::size_t i) { return divided(i, factors[i]); });
  expect_exact("longrope", longrope(f, {factors, factors, 4096, 1, {}}, 1),
               [&](std::size_t i) { return divided(i, factors[i]); });
  expect_exact("resonance", resonance(f), [](std::size_t i) {
    return two_pi() / static_cast<std::uint32_t>(std::max(
                          1.0, std::round(oracle::quotient(two_pi(), series(i)).number())));
  });
  expect_exact("raised_cosine_clip", raised_cosine_clip(f, 20), [](std::size_t i) {
    if (i <= 12) return series(i);
    auto const cosine = oracle::cos_sin(oracle::pi_in_fixed_point() * ratio(i - 12, 19)).first;
    return i + 1 == pairs ? fixed_point() : series(i) * (number(1) + cosine) / 2;
  });
  expect_exact("fope_floor", fope_floor(f, 100), [](std::size_t i) {
    return series(i).number() < 0.0628318 ? fixed_point() : series(i);
  });
  std::vector<std::size_t> const dims{16, 64};
  expect_exact("axial", axial(dims, base),
               [](std::size_t i) { return i < 8 ? power(base, -ratio(i, 8)) : series(i - 8); });
}

/// Frequencies as doubles alone would be off by 9.4e-8 at 2^31 - 1.
TEST(frequency_rules, make_rows_that_are_exact_against_the_formula_at_any_position) {
  auto const f = linear(geometric(2 * pairs, base), 1.25);
  std::vector<std::int64_t> const positions{
      1, -77, 4096, (1ll << 31) - 1, -(1ll << 39) + 5, 1ll << 53, (1ll << 62) - 12345};
  cos_sin_rows<double> const rows(f, positions);
  cos_sin_rows<float> const floats(f, positions);
  auto const table = cos_sin_table(f, 5000).rows<double>(positions),
             shifted = shift_rows<double>(f, positions);
  for (std::size_t token = 0; token < positions.size(); ++token) {
    auto const bound = 3e-16 + 8e-29 * std::abs(static_cast<double>(positions[token]));
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const angle =
          fixed_point::whole(positions[token]) * oracle::quotient(series(i), fixed_point(1.25));
      auto const [cos, sin] = oracle::cos_sin(angle);
      EXPECT_NEAR(rows.cos(token)[i], cos.number(), bound) << positions[token] << ", pair " << i;
      EXPECT_NEAR(rows.sin(token)[i], sin.number(), bound) << positions[token] << ", pair " << i;
      EXPECT_NEAR(static_cast<double>(floats.cos(token)[i]), cos.number(), 3e-8 + bound);
      EXPECT_NEAR(table.cos(token)[i], cos.number(), 4e-16 + bound);
      EXPECT_EQ(shifted.cos(token)[i], rows.cos(token)[i]);
    }
  }
}

/// Frequencies have a relative error of 2^-98; where they are large, that exceeds the error of a
/// phase.
TEST(frequency_rules, make_rows_of_large_frequencies_as_exact_as_documented) {
  auto const f = geometric(126, 1e-12);
  std::vector<std::int64_t> const positions{1, 77, -4095, 123'456};
  cos_sin_rows<double> const rows(f, positions);
  for (std::size_t token = 0; token < positions.size(); ++token) {
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const [cos, sin] =
          oracle::cos_sin(fixed_point::whole(positions[token]) * power(1e-12, -ratio(i, 63)));
      auto const bound = 3e-16 + std::abs(static_cast<double>(positions[token])) *
                                     (8e-29 + f.inv_freq()[i] * 0x1p-98);
      EXPECT_NEAR(rows.cos(token)[i], cos.number(), bound) << positions[token] << ", pair " << i;
      EXPECT_NEAR(rows.sin(token)[i], sin.number(), bound) << positions[token] << ", pair " << i;
    }
  }
}

}  // namespace
