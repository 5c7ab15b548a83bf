#include "posenc/analysis/precision_wall.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "non_numbers.hpp"
#include "oracle/angle.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

constexpr std::size_t dims = 128;  ///< of a head

/// Llama 3's frequencies as doubles alone, for the oracle.
frequencies llama_3() { return frequencies(std::vector<double>(geometric(dims, 5e5).inv_freq())); }

/// The largest error of a rotated pair, relative to its length and to `bound(inv_freq, position)`.
struct worst {
  double error = 0, of_bound = 0;
};

/// Gaussian heads, rotated by `rows_of(positions)` as T, at positions up to `last`.
template <storable T>
worst measure(frequencies const& f, std::int64_t last, auto const& rows_of, auto const& bound) {
  constexpr std::size_t tokens = oracle::wide_cost == 1 ? 64 : 4;
  std::vector<std::int64_t> positions;
  for (std::size_t t = 0; t < tokens; ++t)
    positions.push_back(last + 1 - std::int64_t{tokens} + static_cast<std::int64_t>(t));
  std::mt19937_64 bits(3);
  std::normal_distribution<double> normal;
  std::vector<T> heads(tokens * dims);
  for (auto& x : heads) store(x, static_cast<arithmetic_t<T>>(normal(bits)));
  auto const before = heads;
  rotate<halves>(heads_view(heads.data(), {tokens, 1, dims}), rows_of(positions));
  worst result;
  for (std::size_t t = 0; t < tokens; ++t) {
    for (std::size_t i = 0; i < dims / 2; ++i) {
      auto const at = t * dims + i;
      auto const number = [](T const& x) { return static_cast<oracle::wide>(load(x)); };
      auto const [cos, sin] = oracle::direction_at(static_cast<oracle::wide>(positions[t]),
                                                   static_cast<oracle::wide>(f.inv_freq()[i]));
      auto const x = number(before[at]), y = number(before[at + dims / 2]);
      auto const off =
          std::hypot(static_cast<double>(number(heads[at]) - (x * cos - y * sin)),
                     static_cast<double>(number(heads[at + dims / 2]) - (x * sin + y * cos)));
      auto const error = off / std::hypot(static_cast<double>(x), static_cast<double>(y));
      result.error = std::max(result.error, error);
      result.of_bound = std::max(result.of_bound, error / bound(f.inv_freq()[i], positions[t]));
    }
  }
  return result;
}

auto const rows_by_exact_angles = [](frequencies const& f) {
  return [&f](auto const& positions) { return cos_sin_rows(f, positions); };
};
auto const rows_by_float_angles = [](frequencies const& f) {
  return [&f](auto const& positions) { return float_angle_rows(f, positions); };
};

template <storable T>
void expect_bounds(frequencies const& f, std::int64_t last) {
  auto const of = [](auto const& how) {
    return [how](double inv_freq, std::int64_t at) {
      return rotation_bound<T>(how.bound(inv_freq, at));
    };
  };
  auto const exact = measure<T>(f, last, rows_by_exact_angles(f), of(exact_angles{})),
             in_float = measure<T>(f, last, rows_by_float_angles(f), of(float_angles{}));
  auto const name = std::to_string(sizeof(T)) + " bytes, position " + std::to_string(last);
  EXPECT_LE(exact.of_bound, 1) << name;
  EXPECT_GE(exact.of_bound, 0.5) << name;
  EXPECT_LE(in_float.of_bound, 1) << name;
  EXPECT_GE(in_float.of_bound, 0.4) << name;
}

TEST(precision_wall, rotated_numbers_are_within_the_bounds_and_near_them) {
  auto const f = llama_3();
  for (auto const last : {std::int64_t{1000}, std::int64_t{100'000}, std::int64_t{1} << 20,
                          std::int64_t{1} << 24, std::int64_t{1} << 31}) {
    expect_bounds<float>(f, last);
    expect_bounds<half>(f, last);
    expect_bounds<bfloat16>(f, last);
  }
}

TEST(precision_wall, exact_angles_lose_nothing_with_the_position) {
  auto const f = llama_3();
  auto const in_double = [&](auto const& positions) { return cos_sin_rows<double>(f, positions); };
  auto const bound = [](double inv_freq, std::int64_t at) {
    return rotation_bound<double>(exact_angles{}.bound(inv_freq, at));
  };
  for (auto const last : {std::int64_t{1000}, std::int64_t{1} << 31, std::int64_t{1} << 53}) {
    auto const found = measure<double>(f, last, in_double, bound);
    EXPECT_LE(found.of_bound, 1) << last;
    EXPECT_GE(found.of_bound, 0.2) << last;
  }
  EXPECT_LT(exact_angles{}.bound(1, std::int64_t{1} << 31), 9e-19);
  EXPECT_LT(exact_angles{}.bound(1, std::numeric_limits<std::int64_t>::max()), 8e-10);
}

TEST(precision_wall, float_angles_lose_position_times_2_to_minus_23) {
  for (double const inv_freq : {1.0, 0.3, 1e-6}) {
    EXPECT_NEAR(float_angles{}.bound(inv_freq, 1 << 20), inv_freq * 0x1p-3, inv_freq * 1e-7);
    EXPECT_NEAR(float_angles{}.bound(inv_freq, 1 << 23), inv_freq, inv_freq * 1e-6) << "one token";
    EXPECT_NEAR(float_angles{}.bound(inv_freq, std::int64_t{1} << 30), inv_freq * 192,
                inv_freq * 1e-4)
        << "the position is rounded too";
  }
}

// Other types: the bound holds for each of the ways that precision_budget measures.
TEST(precision_wall, bounds_hold_for_other_roundings) {
  auto const f = geometric(dims, 1e4);
  auto const expect = [&](auto const& how, double least) {
    double largest = 0;
    std::vector<formed_angle> angles(dims / 2);
    for (std::int64_t const last : {255, 2047, 65'000}) {
      for (auto at = last - 64; at < last; ++at) {
        how(f, at, angles);
        for (std::size_t i = 0; i < dims / 2; ++i) {
          auto const right = detail::two_doubles(static_cast<double>(at)) * detail::with_rest(f, i);
          auto const error = std::abs((detail::two_doubles(angles[i].angle) - right).high);
          largest = std::max(largest, error / how.bound(f.inv_freq()[i], at));
        }
      }
    }
    EXPECT_LE(largest, 1);
    EXPECT_GE(largest, least);
  };
  expect(float_angles{}, 0.6);
  expect(rounded_angles<float, bfloat16>{}, 0.6);
  expect(rounded_angles<bfloat16, float>{}, 0.6);
  expect(rounded_angles<bfloat16, bfloat16>{}, 0.6);
  expect(rounded_angles<half, half>{}, 0.6);
}

/// The largest distance, relative to tokens_told_apart, of two keys whose order a pair loses. Keys
/// lie near 45 degrees, each number just above a power of two, where rounding costs most.
template <storable T>
double farthest_lost(double inv_freq) {
  constexpr double u = detail::unit_roundoff<T>();
  auto const told_apart = tokens_told_apart<T>(inv_freq);
  std::mt19937_64 bits(5);
  std::uniform_real_distribution<double> part(0, 1);
  double farthest = 0;
  for (int draw = 0; draw < 20'000; ++draw) {
    auto const length = std::sqrt(2.0) * (1 + 4 * u * part(bits)),
               first = std::atan(1.0) + 4 * u * (part(bits) - 0.7);
    auto const n = std::floor(told_apart * 1.2 * part(bits)) + 1;
    auto const key = [&](double tokens) {
      auto const angle = first + tokens * inv_freq;
      std::array<T, 2> made;
      store(made[0], static_cast<arithmetic_t<T>>(length * std::cos(angle)));
      store(made[1], static_cast<arithmetic_t<T>>(length * std::sin(angle)));
      return std::array{static_cast<double>(load(made[0])), static_cast<double>(load(made[1]))};
    };
    auto const near = key(0), far = key(n);
    bool const is_lost = near[0] * far[1] - near[1] * far[0] <= 0;
    if (is_lost) farthest = std::max(farthest, n / told_apart);
  }
  return farthest;
}

TEST(precision_wall, rounding_ends_where_a_pair_tells_keys_apart) {
  for (auto const lost : {farthest_lost<bfloat16>(1e-5), farthest_lost<half>(1e-6)}) {
    EXPECT_LE(lost, 1);
    EXPECT_GE(lost, 0.8);
  }
  auto const in_float =
      farthest_lost<float>(1e-10);  // of its rounding; rotating costs as much more
  EXPECT_LE(in_float, 1);
  EXPECT_GE(in_float, 0.25);
}

TEST(precision_wall, some_pairs_tell_neighbours_apart_and_others_do_not) {
  auto const f = geometric(dims, 5e5);
  EXPECT_EQ(neighbours_told_apart<float>(f), 64u);
  EXPECT_EQ(neighbours_told_apart<half>(f), 34u);
  EXPECT_EQ(neighbours_told_apart<bfloat16>(f), 24u);
  EXPECT_NEAR(tokens_told_apart<bfloat16>(f.inv_freq().back()), 3182, 0.5);
  EXPECT_EQ(tokens_told_apart<bfloat16>(0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(tokens_told_apart<bfloat16>(1, 1), std::numeric_limits<double>::infinity());
}

/// Where two neighbours first have the same float angle in some pair, looking at every 16th.
std::int64_t first_shared(frequencies const& f) {
  std::vector<formed_angle> one(f.pairs()), next(f.pairs());
  for (std::int64_t at = (std::int64_t{1} << 23) - 10'000;; at += 16) {
    float_angles{}(f, at, one), float_angles{}(f, at + 1, next);
    for (std::size_t i = 0; i < f.pairs(); ++i)
      if (one[i].angle == next[i].angle) return at;
  }
}

// The wall of products is a position, whatever the base: not the base of Liu 2026.
TEST(precision_wall, float_angles_of_neighbours_coincide_from_2_to_23_on_for_any_base) {
  EXPECT_EQ(precision_wall(0.5, 1).base, 8'388'608);
  for (double const base : {1e4, 5e5, 1e9}) {
    auto const at = first_shared(geometric(dims, base));
    EXPECT_GT(at, 1 << 23) << base;
    EXPECT_LT(at, (1 << 23) + 200'000) << base;
  }
}

// In a table of floats a base beyond the wall does cost the slowest pair its neighbours. Exact
// angles tell them apart still.
TEST(precision_wall, a_table_of_floats_loses_steps_of_slow_pairs) {
  auto const shares = [](auto const& rows) {
    for (std::size_t t = 1; t < rows.tokens(); ++t)
      if (rows.cos(t)[dims / 2 - 1] == rows.cos(t - 1)[dims / 2 - 1] &&
          rows.sin(t)[dims / 2 - 1] == rows.sin(t - 1)[dims / 2 - 1])
        return true;
    return false;
  };
  auto const around_45_degrees = [](frequencies const& f) {
    std::vector<std::int64_t> positions;
    auto const first = std::llround(std::atan(1.0) / f.inv_freq().back());
    for (std::int64_t p = 0; p < 100; ++p) positions.push_back(first + p);
    return positions;
  };
  auto const below = geometric(dims, 4e6), beyond = geometric(dims, 1e9);
  EXPECT_FALSE(shares(cos_sin_rows(below, around_45_degrees(below))));
  EXPECT_TRUE(shares(cos_sin_rows(beyond, around_45_degrees(beyond))));
  EXPECT_FALSE(shares(cos_sin_rows<double>(beyond, around_45_degrees(beyond))));
}

TEST(precision_wall, is_where_the_bounds_of_liu_meet) {
  EXPECT_EQ(precision_wall<half>(0.5, 1).base, 1024);
  EXPECT_EQ(precision_wall<bfloat16>(0.5, 1).base, 128);
  auto const wall = precision_wall(0.8, 32);
  EXPECT_NEAR(wall.context, 989'503, 1);
  EXPECT_NEAR(std::pow(std::cos(wall.context / wall.base), 32), 0.8, 1e-12);
}

TEST(precision_wall, bad_input_is_rejected) {
  EXPECT_EQ(message_of([] { rotation_bound<float>(-1); }),
            "posenc: rotation_bound: angle_error must be finite and not negative, got -1");
  EXPECT_EQ(message_of([] { tokens_told_apart<float>(not_a_number()); }),
            "posenc: tokens_told_apart: inv_freq must be finite and not negative, got NaN");
  EXPECT_EQ(message_of([] { precision_wall(1, 32); }),
            "posenc: precision_wall: cosine must be in (0, 1), got 1");
  EXPECT_EQ(message_of([] { precision_wall(not_a_number(), 32); }),
            "posenc: precision_wall: cosine must be in (0, 1), got NaN");
  EXPECT_EQ(message_of([] { precision_wall(0.5, 0); }),
            "posenc: precision_wall: there must be at least one layer, got 0");
  EXPECT_EQ(message_of([] { rounded_angles<half, float>{}.bound(1, 70'000); }),
            "posenc: rounded_angles: numbers must be below 65520 for half, got 70000");
}

}  // namespace
