#include "posenc/rows/cos_sin_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <limits>
#include <list>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "farthest.hpp"
#include "frequency/of_doubles.hpp"
#include "golden/float_angles.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/angle.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/axis_rows.hpp"
#include "posenc/rows/row_maker.hpp"
#include "rejects.hpp"
#include "rotation/all_rows.hpp"
#include "tolerance.hpp"

namespace {

using posenc::cos_sin_rows;
using posenc::cos_sin_view;
using posenc::frequencies;
using posenc::geometric;

// Positions up to `bits` bits, of either sign.
std::vector<std::int64_t> some_integers(std::size_t count, int bits) {
  std::mt19937_64 random(static_cast<std::uint64_t>(bits));
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(static_cast<std::int64_t>(random() >> (64 - bits)) * (i % 2 == 0 ? 1 : -1));
  return result;
}

// Rows of Real against exact arithmetic: the documented error, plus `more` at that position, times
// the attention factor.
template <class Real>
void expect_exact(frequencies const& f, auto const& positions, auto const& more) {
  cos_sin_rows<Real> const rows(of_doubles(f), positions);
  ASSERT_EQ(rows.tokens(), positions.size());
  ASSERT_EQ(rows.pairs(), f.pairs());
  ASSERT_EQ(rows.rotary_dim(), 2 * f.pairs());
  for (std::size_t token = 0; token < positions.size(); ++token) {
    ASSERT_EQ(rows.cos(token).size(), f.pairs());
    ASSERT_EQ(rows.sin(token).size(), f.pairs());
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const [cos, sin] = oracle::direction_at(static_cast<oracle::wide>(positions[token]),
                                                   static_cast<oracle::wide>(f.inv_freq()[i]));
      auto const bound = f.attention_factor() * (tolerance::of_cosine<Real>() +
                                                 more(static_cast<double>(positions[token])));
      ASSERT_NEAR(static_cast<double>(rows.cos(token)[i]),
                  f.attention_factor() * static_cast<double>(cos), bound)
          << positions[token];
      ASSERT_NEAR(static_cast<double>(rows.sin(token)[i]),
                  f.attention_factor() * static_cast<double>(sin), bound)
          << positions[token];
    }
  }
}

constexpr auto nothing_more = [](double) { return 0.0; };

TEST(cos_sin_rows, are_as_exact_as_documented_at_every_common_position) {
  for (auto const base : {1e4, 5e5, 1e6}) {
    auto const f = geometric(128, base);
    for (int const bits : {8, 20, 31, 39}) {
      auto const positions = some_integers(40, bits);
      expect_exact<float>(f, positions, nothing_more);
      expect_exact<double>(f, positions, nothing_more);
    }
  }
}

TEST(cos_sin_rows, are_exact_but_for_the_phase_at_the_farthest_positions) {
  auto const f = geometric(128, 1e4);
  auto positions = some_integers(100, 63);
  positions.insert(positions.end(),
                   {farthest, farthest_back, farthest_back + 1, 1ll << 40, 1ll << 50});
  expect_exact<float>(f, positions, tolerance::of_phase);
  expect_exact<double>(f, positions, tolerance::of_phase);
}

TEST(cos_sin_rows, in_float_round_correctly_but_for_near_ties) {
  auto const f = geometric(128, 1e4);
  auto const positions = some_integers(200, 31);
  cos_sin_rows<float> const rows(f, positions);
  cos_sin_rows<double> const exact(f, positions);
  for (std::size_t token = 0; token < positions.size(); ++token) {
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      EXPECT_EQ(rows.cos(token)[i], static_cast<float>(exact.cos(token)[i]));
      EXPECT_EQ(rows.sin(token)[i], static_cast<float>(exact.sin(token)[i]));
    }
  }
}

TEST(cos_sin_rows, take_fractional_positions) {
  auto const f = geometric(64, 1e4);
  std::vector<double> positions{0.5, -0.5, -1e-20, 1e-300, 0.1, -1234567.75, 0x1p52 + 0.5};
  for (auto const n : some_integers(100, 40)) positions.push_back(static_cast<double>(n) * 0x1p-12);
  // The angle of the fraction takes four roundings.
  auto const more = [](double position) {
    return 4 * tolerance::unit_roundoff<double>() + tolerance::of_phase(position);
  };
  expect_exact<float>(f, positions, more);
  expect_exact<double>(f, positions, more);
  std::vector<float> const floats{0.1f, -3.3f, 1e6f, 0x1p62f, -0x1p63f};
  expect_exact<float>(f, floats, more);
}

// Frequencies above 1 magnify the rounding of the fraction's angle: at 1000 radians per position to
// 1e-13, far beyond what holds for whole positions.
TEST(cos_sin_rows, at_fractional_positions_add_the_error_of_the_fraction_s_angle) {
  std::vector<double> positions;
  for (auto const n : some_integers(100, 40)) positions.push_back(static_cast<double>(n) * 0x1p-41);
  for (double const inv_freq : {3.0, 50.3, 402.1, 1016.54, 0x1p20 / 3}) {
    auto const more = [inv_freq](double position) {
      return 0x1p-51 * (position - std::floor(position)) * inv_freq + tolerance::of_phase(position);
    };
    frequencies const f(std::vector{inv_freq});
    expect_exact<float>(f, positions, more);
    expect_exact<double>(f, positions, more);
  }
}

TEST(cos_sin_rows, are_the_same_from_positions_of_any_type) {
  auto const f = geometric(20, 1e4);
  auto const expected = all(cos_sin_rows(f, std::vector<std::int64_t>{0, 5, 3, 3, 127}).view());
  auto const expect_same = [&](auto const& positions) {
    EXPECT_TRUE(numbers::same_bits(all(cos_sin_rows(f, positions).view()), expected));
  };
  expect_same(std::array<std::int8_t, 5>{0, 5, 3, 3, 127});
  expect_same(std::vector<std::uint8_t>{0, 5, 3, 3, 127});
  expect_same(std::vector<int>{0, 5, 3, 3, 127});
  expect_same(std::vector<unsigned>{0, 5, 3, 3, 127});
  expect_same(std::vector<std::uint64_t>{0, 5, 3, 3, 127});
  expect_same(std::vector<float>{0, 5, 3, 3, 127});
  expect_same(std::vector<double>{0, 5, 3, 3, 127});
  expect_same(std::vector<long double>{0, 5, 3, 3, 127});
  expect_same(std::list<long>{0, 5, 3, 3, 127});
  int const raw[] = {0, 5, 3, 3, 127};
  expect_same(raw);
  expect_same(std::span(raw));
}

template <class Positions>
constexpr bool taken = std::constructible_from<cos_sin_rows<float>, frequencies, Positions>;

TEST(cos_sin_rows, take_no_other_positions) {
  static_assert(taken<std::vector<std::int64_t>> && taken<std::span<double const>>);
  static_assert(!taken<std::vector<bool>> && !taken<std::vector<std::string>> && !taken<int>);
  static_assert(!taken<std::forward_list<int>>, "whose size is not known");
}

TEST(cos_sin_rows, of_integers_beyond_what_a_double_holds_are_told_apart) {
  auto const f = geometric(2, 1e4);
  cos_sin_rows const rows(f, std::vector<std::int64_t>{(1ll << 60) + 1, 1ll << 60});
  EXPECT_GT(std::abs(rows.cos(0)[0] - rows.cos(1)[0]), 0.1f);
}

TEST(cos_sin_rows, of_no_tokens_are_empty) {
  cos_sin_rows const rows(geometric(8, 1e4), std::vector<int>{});
  EXPECT_EQ(rows.tokens(), 0u);
  EXPECT_EQ(rows.pairs(), 4u);
  EXPECT_EQ(rows.slice_tokens(0, 0).tokens(), 0u);
  EXPECT_EQ(rows.inverse().tokens(), 0u);
}

TEST(cos_sin_rows, carry_the_attention_factor) {
  auto const positions = some_integers(50, 20);
  for (double const factor : {1.19023807, 0.1, 1e3}) {
    frequencies const f({1, 0.01, 0}, factor);
    expect_exact<float>(f, positions, [](double) {
      return tolerance::unit_roundoff<float>();
    });  // the product is rounded to Real
    expect_exact<double>(f, positions, [](double) { return tolerance::unit_roundoff<double>(); });
  }
}

TEST(cos_sin_rows, that_were_moved_are_of_no_token) {
  cos_sin_rows<float> rows(frequencies({1, 0.5}), std::vector{1, 2});
  auto const moved = std::move(rows);
  EXPECT_EQ(moved.tokens(), 2u);
  EXPECT_EQ(rows.tokens(), 0u);
}

TEST(cos_sin_rows, times_their_inverse_are_one) {
  for (double const factor : {1.0, 1.25, 0.1, 1e3}) {
    frequencies const f({1, 0.3, 0.001, 0}, factor);
    auto const positions = some_integers(50, 30);
    auto const check = [&]<class Real>(cos_sin_rows<Real> const& rows) {
      auto const undo = rows.inverse(), twice = undo.inverse();
      // (c + is)(c' + is'): the error of_cosine of both, and three roundings.
      auto const bound = 2 * std::numbers::sqrt2 * tolerance::of_cosine<Real>() +
                         6 * tolerance::unit_roundoff<Real>();
      for (std::size_t token = 0; token < rows.tokens(); ++token) {
        for (std::size_t i = 0; i < f.pairs(); ++i) {
          double const c = rows.cos(token)[i], s = rows.sin(token)[i], c_undo = undo.cos(token)[i],
                       s_undo = undo.sin(token)[i];
          EXPECT_NEAR(c * c_undo - s * s_undo, 1, bound);
          EXPECT_NEAR(s * c_undo + c * s_undo, 0, bound);
          EXPECT_NEAR(static_cast<double>(twice.cos(token)[i]), c,
                      4 * tolerance::unit_roundoff<Real>() * factor);
          EXPECT_NEAR(static_cast<double>(twice.sin(token)[i]), s,
                      4 * tolerance::unit_roundoff<Real>() * factor);
        }
      }
      EXPECT_EQ(undo.view().rotated_pairs().size(), rows.view().rotated_pairs().size());
    };
    check(cos_sin_rows<float>(f, positions));
    check(cos_sin_rows<double>(f, positions));
  }
}

/// Factors whose square is beyond the range of doubles.
TEST(cos_sin_rows, of_any_factor_have_an_inverse) {
  for (double const factor : {1e-160, 1e-300, 1e160, 1e300}) {
    cos_sin_rows<double> const rows(frequencies({1, 0}, factor), std::vector{0, 3});
    auto const undo = rows.inverse(), twice = undo.inverse();
    for (std::size_t token : {0u, 1u}) {
      for (std::size_t i : {0u, 1u}) {
        auto const c = rows.cos(token)[i], s = rows.sin(token)[i], c_undo = undo.cos(token)[i],
                   s_undo = undo.sin(token)[i];
        EXPECT_NEAR(c * c_undo - s * s_undo, 1, 16 * tolerance::unit_roundoff<double>()) << factor;
        EXPECT_NEAR(s * c_undo + c * s_undo, 0, 16 * tolerance::unit_roundoff<double>()) << factor;
        EXPECT_NEAR(twice.cos(token)[i], c, 4 * tolerance::unit_roundoff<double>() * factor);
        EXPECT_NEAR(twice.sin(token)[i], s, 4 * tolerance::unit_roundoff<double>() * factor);
      }
    }
  }
}

TEST(cos_sin_rows, transposed_turn_back_and_keep_the_factor) {
  for (double const factor : {1.0, 1.25}) {
    frequencies const f({1, 0.3, 0, 0.001}, factor);
    auto const positions = some_integers(50, 30);
    auto const check = [&]<class Real>(cos_sin_rows<Real> const& rows) {
      auto const back = rows.transpose(), undo = rows.inverse();
      for (std::size_t token = 0; token < rows.tokens(); ++token) {
        for (std::size_t i = 0; i < f.pairs(); ++i) {
          EXPECT_EQ(back.cos(token)[i], rows.cos(token)[i]);
          EXPECT_EQ(back.sin(token)[i], -rows.sin(token)[i]);
          auto const bound = 2 * factor * tolerance::unit_roundoff<Real>();
          EXPECT_NEAR(static_cast<double>(back.cos(token)[i]),
                      factor * factor * static_cast<double>(undo.cos(token)[i]), bound);
        }
      }
      EXPECT_TRUE(numbers::same_bits(all(back.transpose().view()), all(rows.view())));
      EXPECT_EQ(numbers::same_bits(all(back.view()), all(undo.view())), factor == 1);
      EXPECT_TRUE(std::ranges::equal(back.view().rotated_pairs(), rows.view().rotated_pairs()));
      EXPECT_TRUE(numbers::same_bits(all(back.inverse().view()), all(undo.transpose().view())));
    };
    check(cos_sin_rows<float>(f, positions));
    check(cos_sin_rows<double>(f, positions));
  }
}

// Whole registers and tails; each row alone and among others; each pair among few and among many.
TEST(cos_sin_rows, have_the_same_bits_in_any_company) {
  auto const f = of_doubles(geometric(78, 1e4));
  std::vector<std::int64_t> positions{
      0, 1, -1, 1 << 20, (1ll << 32) - 1, 1ll << 32, -(1ll << 32), farthest, farthest_back};
  for (auto const n : some_integers(20, 40)) positions.push_back(n);
  auto const check = [&]<class Real>(cos_sin_rows<Real> const& rows) {
    for (std::size_t token = 0; token < positions.size(); ++token) {
      cos_sin_rows<Real> const alone(f, std::vector{positions[token]});
      EXPECT_TRUE(numbers::same_bits(all(alone.view()), all(rows.slice_tokens(token, 1))))
          << positions[token];
    }
    for (std::size_t pairs = 1; pairs <= f.pairs(); ++pairs) {
      cos_sin_rows<Real> const few(
          frequencies(
              {f.inv_freq().begin(), f.inv_freq().begin() + static_cast<std::ptrdiff_t>(pairs)}),
          positions);
      for (std::size_t token = 0; token < positions.size(); ++token) {
        for (std::size_t i = 0; i < pairs; ++i) {
          ASSERT_EQ(few.cos(token)[i], rows.cos(token)[i]) << pairs << ", " << positions[token];
          ASSERT_EQ(few.sin(token)[i], rows.sin(token)[i]) << pairs << ", " << positions[token];
        }
      }
    }
  };
  check(cos_sin_rows<float>(f, positions));
  check(cos_sin_rows<double>(f, positions));
}

TEST(cos_sin_rows, of_pairs_that_stand_still_are_1_and_0) {
  frequencies const f({1, 0, 0, 0.5, 0});
  cos_sin_rows const rows(f, std::vector{3, -3});
  for (auto const& each : {rows, rows.inverse(), rows.transpose()}) {
    for (std::size_t token = 0; token < 2; ++token) {
      for (std::size_t i : {1u, 2u, 4u}) {
        EXPECT_EQ(each.cos(token)[i], 1);
        EXPECT_EQ(each.sin(token)[i], 0);
      }
    }
  }
}

TEST(cos_sin_rows, of_the_opposite_position_are_the_inverse) {
  auto const f = geometric(64, 1e4);
  cos_sin_rows const there(f, std::vector{1, 7, 4096, 1'000'000}),
      back(f, std::vector{-1, -7, -4096, -1'000'000});
  for (std::size_t token = 0; token < 4; ++token)
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      EXPECT_NEAR(back.cos(token)[i], there.inverse().cos(token)[i],
                  2 * tolerance::of_cosine<float>());
      EXPECT_NEAR(back.sin(token)[i], there.inverse().sin(token)[i],
                  2 * tolerance::of_cosine<float>());
    }
}

TEST(cos_sin_rows, leave_alone_the_pairs_of_frequency_0) {
  auto const rotated_pairs = [](frequencies const& f) {
    std::vector<bool> result(f.pairs(), false);
    auto last = std::size_t{0};
    cos_sin_rows const rows(f, std::vector{3});
    for (auto const& range : rows.view().rotated_pairs()) {
      EXPECT_LT(range.first, range.last);
      EXPECT_TRUE(last == 0 || last < range.first) << "neighbours make one range, in rising order";
      for (auto i = range.first; i < range.last; ++i) result[i] = true;
      last = range.last;
    }
    return result;
  };
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> inv_freq(1 + random() % 12);
    for (auto& f : inv_freq) f = random() % 2 == 0 ? 0 : 0.5;
    auto const moves = rotated_pairs(frequencies(inv_freq));
    for (std::size_t pair = 0; pair < inv_freq.size(); ++pair)
      EXPECT_EQ(moves[pair], inv_freq[pair] != 0);
  }
  EXPECT_EQ(rotated_pairs(frequencies({0, 1, 0}, 1.5)), std::vector({true, true, true}))
      << "the attention factor has to reach them";
  EXPECT_EQ(rotated_pairs(frequencies({-0.0, 1})), std::vector({false, true}));
  EXPECT_EQ(cos_sin_rows(posenc::truncated(geometric(512, 1e6), 0.25), std::vector{3})
                .view()
                .rotated_pairs()
                .size(),
            1u);
}

TEST(cos_sin_rows, are_shown_by_a_view) {
  cos_sin_rows const rows(geometric(8, 1e4), std::vector{3, 1, 4, 1, 5});
  cos_sin_view<float> const view = rows;
  EXPECT_EQ(view.tokens(), 5u);
  EXPECT_EQ(view.pairs(), 4u);
  EXPECT_EQ(view.rotary_dim(), 8u);
  EXPECT_EQ(view.cos(2).data(), rows.cos(2).data());
  EXPECT_EQ(view.sin(2).data(), rows.sin(2).data());
}

TEST(cos_sin_rows, of_a_temporary_can_be_read_in_a_loop) {
  cos_sin_rows<float> const rows(frequencies({1, 0.5}), std::vector{3});
  auto const temporary = [&] { return rows; };
  static_assert(std::is_same_v<decltype(temporary().cos(0)), std::vector<float>>);
  static_assert(std::is_same_v<decltype(temporary().sin(0)), std::vector<float>>);
  EXPECT_TRUE(std::ranges::equal(temporary().cos(0), rows.cos(0)));
  EXPECT_TRUE(std::ranges::equal(temporary().sin(0), rows.sin(0)));
}

TEST(cos_sin_rows, a_slice_shows_the_same_tokens) {
  cos_sin_rows const rows(geometric(8, 1e4), std::vector{3, 1, 4, 1, 5});
  for (std::size_t first = 0; first <= 5; ++first)
    for (std::size_t count = 0; count <= 5 - first; ++count) {
      auto const slice = rows.slice_tokens(first, count);
      EXPECT_EQ(slice.tokens(), count);
      for (std::size_t token = 0; token < count; ++token) {
        EXPECT_EQ(slice.cos(token).data(), rows.cos(first + token).data());
        EXPECT_EQ(slice.sin(token).data(), rows.sin(first + token).data());
      }
      EXPECT_EQ(slice.rotated_pairs().data(), rows.view().rotated_pairs().data());
    }
}

TEST(cos_sin_rows, a_slice_of_a_temporary_keeps_its_rows) {
  cos_sin_rows const rows(geometric(8, 1e4), std::vector{3, 1, 4, 1, 5});
  auto const temporary = [&] { return rows; };
  for (std::size_t first = 0; first <= 5; ++first)
    for (std::size_t count = 0; count <= 5 - first; ++count) {
      cos_sin_rows<float> const slice = temporary().slice_tokens(first, count);
      ASSERT_EQ(slice.tokens(), count);
      for (std::size_t token = 0; token < count; ++token) {
        EXPECT_TRUE(std::ranges::equal(slice.cos(token), rows.cos(first + token)));
        EXPECT_TRUE(std::ranges::equal(slice.sin(token), rows.sin(first + token)));
      }
    }
  EXPECT_NE(message_of([&] { temporary().slice_tokens(3, 3); }), "");
}

TEST(cos_sin_rows, a_slice_must_lie_within) {
  cos_sin_rows const rows(geometric(8, 1e4), std::vector{3, 1, 4, 1, 5});
  std::string const must = "posenc: cos_sin_view: a slice of tokens must lie within [0, 5), got ";
  EXPECT_EQ(message_of([&] { rows.slice_tokens(3, 3); }), must + "first 3, count 3");
  EXPECT_EQ(message_of([&] { rows.slice_tokens(6, 0); }), must + "first 6, count 0");
  auto const most = ~std::size_t{0};
  EXPECT_EQ(message_of([&] { rows.slice_tokens(1, most); }),
            must + "first 1, count " + std::to_string(most));
}

TEST(cos_sin_rows, refuse_a_position_that_is_no_number) {
  auto const message = [](auto position) {
    return message_of([&] {
      cos_sin_rows(geometric(8, 1e4), std::vector{decltype(position){}, position});
    });
  };
  std::string const must =
      "posenc: cos_sin_rows: a position must be finite and within [-2^63, 2^63), got ";
  EXPECT_EQ(message(not_a_number()), must + "NaN at token 1");
  EXPECT_EQ(message(float_of_bits(0xffc0'0001)), must + "NaN at token 1");
  EXPECT_EQ(message(static_cast<long double>(infinity())), must + "infinity at token 1");
  EXPECT_EQ(message(infinity()), must + "infinity at token 1");
  EXPECT_EQ(message(minus_infinity()), must + "-infinity at token 1");
}

TEST(cos_sin_rows, refuse_a_position_that_does_not_fit) {
  auto const message = [](auto position) {
    return message_of([&] {
      cos_sin_rows(geometric(8, 1e4), std::vector{decltype(position){}, position});
    });
  };
  EXPECT_EQ(message(0x1p63),
            "posenc: cos_sin_rows: a position must be finite and within [-2^63, 2^63), got "
            "9223372036854775808 at token 1");
  EXPECT_NE(message(-0x1.0000000000001p63), "");
  EXPECT_NE(message(1e300), "");
  EXPECT_EQ(message(std::uint64_t{1} << 63),
            "posenc: cos_sin_rows: a position must fit int64, got 9223372036854775808 at token 1");
  EXPECT_NO_THROW(cos_sin_rows(geometric(8, 1e4), std::vector{-0x1p63, 0x1.fffffffffffffp62}));
  EXPECT_NO_THROW(cos_sin_rows(geometric(8, 1e4), std::vector{(std::uint64_t{1} << 63) - 1}));
}

TEST(cos_sin_rows, are_not_what_angles_in_float_give) {
  auto const f = geometric(128, 1e4);
  std::vector<int> const positions{1'000'000 - 1, 1'000'000, 1'048'575};
  cos_sin_rows const rows(f, positions);
  for (std::size_t token = 0; token < positions.size(); ++token) {
    double worst = 0;
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      float const volatile angle = static_cast<float>(positions[token]) *
                                   static_cast<float>(f.inv_freq()[i]);  // a port that rounds here
      worst = std::max(worst, std::abs(std::cos(static_cast<double>(angle)) -
                                       static_cast<double>(rows.cos(token)[i])));
    }
    EXPECT_GT(worst, 0.01);
    EXPECT_LT(worst, 0.16);
  }
}

using namespace posenc;

// 33 pairs, some of frequency 0: no whole registers.
frequencies some_frequencies(double factor = 1) {
  return truncated(geometric(66, 1e4), 0.7).with_attention_factor(factor);
}

template <class Real>
void expect_same(cos_sin_view<Real> const& actual, cos_sin_rows<Real> const& expected) {
  ASSERT_EQ(actual.tokens(), expected.tokens());
  EXPECT_TRUE(std::ranges::equal(actual.rotated_pairs(), expected.view().rotated_pairs()));
  for (std::size_t token = 0; token < expected.tokens(); ++token) {
    EXPECT_TRUE(std::ranges::equal(actual.cos(token), expected.cos(token))) << token;
    EXPECT_TRUE(std::ranges::equal(actual.sin(token), expected.sin(token))) << token;
  }
}

template <class Position, class Real>
void writes_the_rows_of(row_maker const& maker, frequencies const& f,
                        std::vector<Position> const& positions) {
  std::vector<Real> memory(positions.size() * maker.rotary_dim() + 1,
                           std::numeric_limits<Real>::max());
  static_assert(noexcept(maker.write(positions, memory.data())));
  auto const rows = maker.write(positions, memory.data());
  EXPECT_EQ(rows.cos(0).data(), memory.data());
  expect_same(rows, cos_sin_rows<Real>(f, positions));
  EXPECT_EQ(memory.back(), std::numeric_limits<Real>::max()) << "nothing is written beyond";
}

TEST(row_maker, writes_the_rows_of_cos_sin_rows_to_the_bit) {
  for (auto const factor : {1.0, 1.25}) {
    auto const f = some_frequencies(factor);
    row_maker const maker(f);
    EXPECT_EQ(maker.pairs(), 33u);
    EXPECT_EQ(maker.rotary_dim(), 66u);
    writes_the_rows_of<std::int64_t, float>(
        maker, f,
        {0, 7, -3, 1'000'000, std::int64_t{1} << 40, std::numeric_limits<std::int64_t>::min()});
    writes_the_rows_of<std::int64_t, double>(maker, f,
                                             {0, 7, -3, 1'000'000, std::int64_t{1} << 40});
    writes_the_rows_of<std::int32_t, float>(maker, f, {5, -1, 2'000'000'000});
    writes_the_rows_of<std::uint16_t, double>(maker, f, {5, 65'535});
    writes_the_rows_of<std::uint64_t, float>(maker, f, {5, std::uint64_t{1} << 62});
  }
}

TEST(row_maker, frequencies_of_a_temporary_can_be_read_in_a_loop) {
  std::vector<double> inv_freq;
  for (auto const x : row_maker(frequencies({1, 0.5})).frequencies().inv_freq())
    inv_freq.push_back(x);
  EXPECT_EQ(inv_freq, (std::vector<double>{1, 0.5}));
}

TEST(row_maker, rows_rotate) {
  auto const f = some_frequencies();
  std::vector<int> const positions{4, 9};
  auto a = numbers::random<float>(2 * 66), b = a;
  std::vector<float> memory(a.size());
  row_maker const maker(f);
  rotate<halves>(heads_view(a.data(), {2, 1, 66}), maker.write(positions, memory.data()));
  rotate<halves>(heads_view(b.data(), {2, 1, 66}), cos_sin_rows(f, positions));
  EXPECT_TRUE(numbers::same_bits(a, b));
}

TEST(row_maker, of_no_positions_writes_nothing) {
  row_maker const maker(some_frequencies());
  EXPECT_EQ(maker.write<float>(std::vector<int>(), nullptr).tokens(), 0u);
}

// A view would see the pairs of a maker that is gone.
TEST(row_maker, without_a_name_writes_and_gives_no_view) {
  std::vector<int> const positions{4, 9};
  std::vector<float> memory(2 * 66), others(2 * 66);
  row_maker const maker(some_frequencies());
  maker.write(positions, memory.data());
  static_assert(
      std::is_void_v<decltype(row_maker(some_frequencies()).write(positions, others.data()))>);
  row_maker(some_frequencies()).write(positions, others.data());
  EXPECT_TRUE(numbers::same_bits(memory, others));
}

template <class P>
void writes_the_axis_rows_of(std::vector<std::vector<P>> const& of_axis) {
  auto const f = some_frequencies(1.25);
  auto const axes = contiguous_axes(std::vector<std::size_t>{10, 11, 12});
  axis_row_maker const maker(f, axes);
  auto const tokens = of_axis[0].size();
  std::vector<P> flat;
  for (auto const& one : of_axis) flat.insert(flat.end(), one.begin(), one.end());
  std::vector<float> memory(tokens * maker.rotary_dim() + 1, 9);
  expect_same(maker.write(flat, memory.data()), axis_rows(f, axes, axis_positions<P>(of_axis)));
  EXPECT_EQ(memory.back(), 9);
}

TEST(axis_row_maker, writes_the_rows_of_axis_rows_to_the_bit) {
  writes_the_axis_rows_of<std::int64_t>(
      {{0, 5, 1, -7}, {0, 6, std::int64_t{1} << 40, 3}, {0, 7, 2, 3}});
  writes_the_axis_rows_of<std::int32_t>({{0, 5, 1, -7}, {0, 6, 1 << 30, 3}, {0, 7, 2, 3}});
}

TEST(axis_row_maker, needs_an_axis_for_every_pair) {
  EXPECT_EQ(message_of([] {
              axis_row_maker(geometric(8, 1e4), contiguous_axes(std::vector<std::size_t>{1, 2}));
            }),
            "posenc: axis_rows: axes must be given for each of the 4 pairs, got 3");
}

using posenc::float_angle_rows;

TEST(float_angle_rows, have_the_known_bits) {
  for (auto const& known : golden::float_angles) {
    auto const rows =
        float_angle_rows(geometric(128, known.base), std::vector{known.position, -known.position});
    EXPECT_EQ(rows.cos(0)[known.pair], known.cos) << known.position << " * " << known.inv_freq;
    EXPECT_EQ(rows.sin(0)[known.pair], known.sin) << known.position << " * " << known.inv_freq;
    EXPECT_EQ(rows.cos(1)[known.pair], known.cos);
    EXPECT_EQ(rows.sin(1)[known.pair], -known.sin);
  }
}

TEST(float_angle_rows, are_of_the_product_rounded_to_float) {
  std::vector<std::int64_t> const positions{
      0, 1, 1000, 131071, 1048575, -1048575, (1ll << 24) + 1, (1ll << 62) + 1};
  for (auto const base : {1e4, 5e5}) {
    for (double const factor : {1.0, 1.19023807}) {
      auto const g = geometric(128, base);
      frequencies const f({g.inv_freq().begin(), g.inv_freq().end()}, factor);
      auto const rows = float_angle_rows(f, positions);
      for (std::size_t token = 0; token < positions.size(); ++token) {
        for (std::size_t i = 0; i < f.pairs(); ++i) {
          float const volatile position = static_cast<float>(positions[token]),
                               inv_freq = static_cast<float>(f.inv_freq()[i]);
          float const volatile angle = position * inv_freq;
          auto const scale = static_cast<double>(static_cast<float>(factor));
          auto const bound = scale * (tolerance::of_cosine<float>() +
                                      (factor == 1 ? 0 : tolerance::unit_roundoff<float>()));
          EXPECT_NEAR(static_cast<double>(rows.cos(token)[i]),
                      scale * static_cast<double>(oracle::cosine(angle)), bound);
          EXPECT_NEAR(static_cast<double>(rows.sin(token)[i]),
                      scale * static_cast<double>(oracle::sine(angle)), bound);
        }
      }
    }
  }
}

// Measured with Hugging Face's code for base 1e4: 4.2e-3 at 131071, 2.5e-2 at 1048575.
TEST(float_angle_rows, are_not_exact) {
  std::vector<int> const positions{1000, 131071, 1048575};
  double const least[] = {1e-6, 2e-3, 1e-2}, most[] = {1e-4, 2e-2, 0.1};
  auto const f = geometric(128, 1e4);
  auto const rows = float_angle_rows(f, positions);
  posenc::cos_sin_rows const exact(f, positions);
  for (std::size_t token = 0; token < positions.size(); ++token) {
    double worst = 0;
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      worst = std::max({worst,
                        std::abs(static_cast<double>(rows.cos(token)[i]) -
                                 static_cast<double>(exact.cos(token)[i])),
                        std::abs(static_cast<double>(rows.sin(token)[i]) -
                                 static_cast<double>(exact.sin(token)[i]))});
    }
    EXPECT_GT(worst, least[token]);
    EXPECT_LT(worst, most[token]);
  }
}

TEST(float_angle_rows, take_fractional_positions_as_floats) {
  auto const f = geometric(8, 1e4);
  auto const rows = float_angle_rows(f, std::vector{0.1, 1.0 / 3});
  auto const floats = float_angle_rows(f, std::vector{0.1f, static_cast<float>(1.0 / 3)});
  for (std::size_t token = 0; token < 2; ++token)
    for (std::size_t i = 0; i < f.pairs(); ++i) EXPECT_EQ(rows.sin(token)[i], floats.sin(token)[i]);
}

TEST(float_angle_rows, leave_alone_the_pairs_of_frequency_0) {
  auto const rows = float_angle_rows(frequencies({1, 0}), std::vector{3});
  ASSERT_EQ(rows.view().rotated_pairs().size(), 1u);
  EXPECT_EQ(rows.view().rotated_pairs()[0].last, 1u);
  EXPECT_EQ(rows.cos(0)[1], 1);
  EXPECT_EQ(rows.sin(0)[1], 0);
}

TEST(float_angle_rows, stand_the_greatest_angle) {
  auto const rows = float_angle_rows(frequencies({0x1p64}), std::vector{-0x1p63});
  auto const angle = -0x1p127L;
  EXPECT_NEAR(static_cast<double>(rows.cos(0)[0]), static_cast<double>(oracle::cosine(angle)),
              tolerance::of_cosine<float>());
  EXPECT_NEAR(static_cast<double>(rows.sin(0)[0]), static_cast<double>(oracle::sine(angle)),
              tolerance::of_cosine<float>());
}

TEST(float_angle_rows, refuse_a_position_that_is_no_number) {
  EXPECT_EQ(message_of([] {
              float_angle_rows(geometric(8, 1e4), std::vector{0.0, not_a_number()});
            }),
            "posenc: float_angle_rows: a position must be finite and within [-2^63, 2^63), got NaN "
            "at token 1");
}

}  // namespace
