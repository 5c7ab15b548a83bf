#include "posenc/rows/rerotation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "farthest.hpp"
#include "frequency/of_doubles.hpp"
#include "non_numbers.hpp"
#include "oracle/angle.hpp"
#include "oracle/wide.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using posenc::cos_sin_rows;
using posenc::frequencies;
using posenc::geometric;
using posenc::rerotation_rows;
using posenc::shift_rows;
using complex = std::complex<oracle::wide>;

complex rotation_by(oracle::wide position, double inv_freq) {
  auto const [cos, sin] = oracle::direction_at(position, static_cast<oracle::wide>(inv_freq));
  return {cos, sin};
}

frequencies scaled(frequencies const& f, double attention_factor) {
  return frequencies({f.inv_freq().begin(), f.inv_freq().end()}, attention_factor);
}

// The errors of two phases, and of the oracle.
double of_difference(double p, double q) { return tolerance::of_phase(p) + tolerance::of_phase(q); }

template <class Real>
void expect_rerotated(cos_sin_rows<Real> const& rows, frequencies const& from,
                      frequencies const& to, auto const& p, auto const& q) {
  auto const gain = to.attention_factor() / from.attention_factor();
  auto const more =
      gain == 1 ? 0 : 2 * tolerance::unit_roundoff<Real>();  // the gain is rounded, and the product
  for (std::size_t token = 0; token < p.size(); ++token) {
    for (std::size_t i = 0; i < from.pairs(); ++i) {
      auto const exact =
          rotation_by(static_cast<oracle::wide>(q[token]), to.inv_freq()[i]) *
          std::conj(rotation_by(static_cast<oracle::wide>(p[token]), from.inv_freq()[i]));
      auto const bound =
          gain * (tolerance::of_cosine<Real>() + more +
                  of_difference(static_cast<double>(p[token]), static_cast<double>(q[token])));
      ASSERT_NEAR(static_cast<double>(rows.cos(token)[i]), gain * static_cast<double>(exact.real()),
                  bound)
          << p[token] << ", " << i;
      ASSERT_NEAR(static_cast<double>(rows.sin(token)[i]), gain * static_cast<double>(exact.imag()),
                  bound)
          << p[token] << ", " << i;
    }
  }
}

std::vector<std::int64_t> some_positions() {
  std::vector<std::int64_t> result{0, 1, -1, 131072, farthest, farthest_back};
  std::mt19937_64 random(1);
  for (int i = 0; i < 30; ++i)
    result.push_back(static_cast<std::int64_t>(random() >> (24 + random() % 40)) *
                     (i % 2 == 0 ? 1 : -1));
  return result;
}

TEST(shift_rows, is_a_pure_rotation) {
  auto const f = of_doubles(geometric(78, 1e4));
  auto const rows = shift_rows(scaled(f, 1.25), some_positions());
  cos_sin_rows const pure(f, some_positions());
  for (std::size_t token = 0; token < some_positions().size(); ++token) {
    EXPECT_TRUE(std::ranges::equal(rows.cos(token), pure.cos(token)));
    EXPECT_TRUE(std::ranges::equal(rows.sin(token), pure.sin(token)));
  }
  EXPECT_EQ(shift_rows<double>(f, std::vector{0.5}).cos(0)[0],
            cos_sin_rows<double>(f, std::vector{0.5}).cos(0)[0]);
  EXPECT_TRUE(shift_rows(frequencies({0}, 1.5), std::vector{3}).view().rotated_pairs().empty())
      << "nothing is left to do";
}

TEST(rerotation_rows, turns_by_the_difference_of_the_angles) {
  auto const from = of_doubles(geometric(78, 1e4)), to = of_doubles(geometric(78, 5e5));
  expect_rerotated(rerotation_rows(from, to, some_positions()), from, to, some_positions(),
                   some_positions());
  expect_rerotated(rerotation_rows<double>(from, to, some_positions()), from, to, some_positions(),
                   some_positions());
  auto const longer = scaled(to, 1.19023807), smaller = scaled(from, 1.1);
  expect_rerotated(rerotation_rows(smaller, longer, some_positions()), smaller, longer,
                   some_positions(), some_positions());
  expect_rerotated(rerotation_rows<double>(smaller, longer, some_positions()), smaller, longer,
                   some_positions(), some_positions());
}

TEST(rerotation_rows, moves_to_other_positions) {
  auto const from = of_doubles(geometric(78, 1e4)), to = of_doubles(geometric(78, 5e5));
  auto const p = some_positions();
  auto q = p;
  std::ranges::reverse(q);
  expect_rerotated(rerotation_rows(from, to, p, q), from, to, p, q);
  std::vector<double> halves;  // as linear interpolation has them
  for (std::size_t i = 0; i < p.size(); ++i) halves.push_back(static_cast<double>(i) / 2);
  expect_rerotated(rerotation_rows(from, to, p, halves), from, to, p, halves);
}

// R(q) R(-p) = R(q - p), which is exact for one set of frequencies.
TEST(rerotation_rows, to_the_same_frequencies_is_a_shift) {
  auto const f = geometric(64, 1e4);
  std::vector<int> const p{0, 7, 1000, 131071}, q{5, 3, 1'000'000, -131071},
      deltas{5, -4, 999'000, -262142};
  auto const rows = rerotation_rows<double>(f, f, p, q), shifted = shift_rows<double>(f, deltas);
  for (std::size_t token = 0; token < p.size(); ++token) {
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      EXPECT_NEAR(rows.cos(token)[i], shifted.cos(token)[i], 2 * tolerance::of_cosine<double>());
      EXPECT_NEAR(rows.sin(token)[i], shifted.sin(token)[i], 2 * tolerance::of_cosine<double>());
    }
  }
}

TEST(rerotation_rows, there_and_back_is_the_identity) {
  auto const from = scaled(geometric(64, 1e4), 1.1), to = geometric(64, 5e5);
  auto const there = rerotation_rows(from, to, some_positions()),
             back = rerotation_rows(to, from, some_positions()), undo = there.inverse();
  for (std::size_t token = 0; token < some_positions().size(); ++token) {
    for (std::size_t i = 0; i < from.pairs(); ++i) {
      EXPECT_NEAR(back.cos(token)[i], undo.cos(token)[i], 4 * tolerance::unit_roundoff<float>());
      EXPECT_NEAR(back.sin(token)[i], undo.sin(token)[i], 4 * tolerance::unit_roundoff<float>());
    }
  }
}

std::vector<std::size_t> rotated_pairs(cos_sin_rows<float> const& rows) {
  std::vector<std::size_t> result;
  for (auto const [first, last] : rows.view().rotated_pairs())
    for (auto i = first; i < last; ++i) result.push_back(i);
  return result;
}

TEST(rerotation_rows, leaves_alone_what_stays) {
  frequencies const from({1, 0.5, 0.25, 0, 0}), to({1, 0.4, 0.25, 0, 0.1});
  std::vector<int> const p{3, 4};
  EXPECT_EQ(rotated_pairs(rerotation_rows(from, to, p)), (std::vector<std::size_t>{1, 4}));
  EXPECT_EQ(rotated_pairs(rerotation_rows(from, to, p, p)), (std::vector<std::size_t>{0, 1, 2, 4}))
      << "elsewhere, equal frequencies rotate too";
  EXPECT_EQ(rotated_pairs(rerotation_rows(scaled(from, 1.5), scaled(to, 1.5), p)),
            (std::vector<std::size_t>{1, 4}));
  EXPECT_EQ(rotated_pairs(rerotation_rows(scaled(from, 1.5), to, p)),
            (std::vector<std::size_t>{0, 1, 2, 3, 4}))
      << "the gain reaches all";
  EXPECT_EQ(rerotation_rows(from, to, p).cos(1)[0], 1);
}

TEST(rerotation_rows, refuses_what_does_not_match) {
  std::vector<int> const p{3, 4};
  EXPECT_EQ(
      message_of([&] { rerotation_rows(geometric(8, 1e4), geometric(16, 1e4), p); }),
      "posenc: rerotation_rows: both frequencies must have the same number of pairs, got 4 and 8");
  EXPECT_EQ(
      message_of([&] { rerotation_rows(geometric(8, 1e4), geometric(8, 1e4), p, std::vector{1}); }),
      "posenc: rerotation_rows: there must be as many new positions as old ones, got 1 for 2");
  EXPECT_EQ(
      message_of([&] {
        rerotation_rows(geometric(8, 1e4), geometric(8, 1e4), p, std::vector{1, not_a_number()});
      }),
      "posenc: rerotation_rows: a position must be finite and within [-2^63, 2^63), got NaN at "
      "token 1");
}

TEST(rerotation_rows, turn_pairs_whose_frequencies_differ_in_their_rest_alone) {
  frequencies const from({1, 0.5}, {0, 0}, 1), to({1, 0.5}, {0x1p-54, 0}, 1);
  auto const rows = posenc::rerotation_rows(from, to, std::vector{std::int64_t{1} << 50});
  EXPECT_TRUE(
      std::ranges::equal(rows.view().rotated_pairs(), std::vector<posenc::pair_range>{{0, 1}}));
  EXPECT_NEAR(rows.sin(0)[0], std::sin(0x1p-4), 6e-8);
}

}  // namespace
