#include "posenc/query_key/xpos.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "laws/query_key_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/angle.hpp"
#include "oracle/rotary.hpp"
#include "oracle/rotated_pairs.hpp"
#include "oracle/xpos.hpp"
#include "oracle_pairing.hpp"
#include "posenc/frequency/geometric.hpp"
#include "query_key/transposed.hpp"
#include "rejects.hpp"
#include "site_2.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

long double gain_of(frequencies const& f, xpos_decay const& decay, std::size_t pair,
                    long double from_center) {
  return std::pow(oracle::xpos_zeta(pair, f.rotary_dim(), decay.gamma),
                  from_center / static_cast<long double>(decay.scale_base));
}

// By how much the gain is off on top, relative: a rounding to the arithmetic's type, and what is
// documented.
template <class T>
double of_gain() {
  return 2e-15 + 4e-18 * 4000 + 2 * tolerance::unit_roundoff<arithmetic_t<T>>();
}

template <class T, class Layout>
void expect_encoded(xpos<Layout> const& encoding, std::size_t head_dim, std::size_t first_dim) {
  auto const& f = encoding.frequencies();
  auto const center = encoding.decay().center;
  std::vector<std::int64_t> const positions{center,       center + 1,    center - 1,   center + 700,
                                            center - 700, center + 3900, center - 3900};
  auto const x = numbers::random<T>(positions.size() * head_dim);
  for (bool const is_query : {true, false}) {
    auto y = x;
    auto const view = numbers::view(y, positions.size(), head_dim);
    is_query ? site_2::encode_queries(encoding, view, positions)
             : site_2::encode_keys(encoding, view, positions);
    auto const before = numbers::exact(x), after = numbers::exact(y);
    for (std::size_t token = 0; token < positions.size(); ++token) {
      std::vector<oracle::pair_rotation> turns;
      for (std::size_t pair = 0; pair < f.pairs(); ++pair) {
        auto const from_center = static_cast<long double>(positions[token] - center);
        turns.push_back({static_cast<long double>(positions[token]), f.inv_freq()[pair],
                         f.attention_factor() * gain_of(f, encoding.decay(), pair,
                                                        is_query ? from_center : -from_center)});
      }
      auto const first = before.begin() + static_cast<std::ptrdiff_t>(token * head_dim);
      std::vector<double> expected(first, first + static_cast<std::ptrdiff_t>(head_dim));
      oracle::rotate_pairs(expected, turns, oracle_pairing<Layout>, first_dim);
      for (std::size_t pair = 0; pair < f.pairs(); ++pair) {
        auto const gain = static_cast<double>(turns[pair].gain);
        for (auto const i : {Layout::x_index(pair, f.pairs()), Layout::y_index(pair, f.pairs())}) {
          auto const at = first_dim + i;
          EXPECT_NEAR(after[token * head_dim + at], expected[at],
                      tolerance::of_rotated<T>(1, 1, expected[at], gain) + 2 * gain * of_gain<T>() +
                          tolerance::of_storing<T>(0))
              << (is_query ? "query " : "key ") << positions[token] << ", dim " << at;
        }
      }
      for (std::size_t i = 0; i < head_dim; ++i) {
        if (i < first_dim || i >= first_dim + f.rotary_dim()) {
          EXPECT_EQ(after[token * head_dim + i], before[token * head_dim + i]);
        }
      }
    }
  }
}

TEST(xpos, queries_fade_and_keys_grow_as_the_definition_says_in_every_format_layout_and_block) {
  numbers::in_every_format([]<class T>() {
    frequencies const f(oracle::inv_freq(34, 1e4)), louder(oracle::inv_freq(34, 1e4), 1.25);
    expect_encoded<T>(xpos<interleaved>(f), 34, 0);
    expect_encoded<T>(xpos<halves>(f, {.center = 100'000}), 41, 0);
    expect_encoded<T>(
        xpos<halves>(louder, {.gamma = 0.9, .scale_base = 1000}, rotary_block::last()), 41, 7);
  });
}

// The score, and that of each pair alone: <R_t q, R_s k> zeta^((t - s) / 512).
TEST(xpos, a_score_is_that_of_rope_faded_by_the_distance_alone) {
  constexpr std::size_t head_dim = 64;
  frequencies const f(oracle::inv_freq(head_dim, 1e4));
  for (xpos_decay const decay :
       {xpos_decay{}, xpos_decay{.gamma = 0.7, .scale_base = 300, .center = -50}}) {
    xpos<interleaved> const encoding(f, decay);
    auto const q = numbers::random<double>(head_dim, 1), k = numbers::random<double>(head_dim, 2);
    for (std::int64_t const distance : {0, 1, 17, 512, 3000, -40}) {
      for (std::int64_t const start : {0, 1, -50, 2000, -2000, 5000}) {
        auto q_t = q, k_s = k;
        site_2::encode_queries(encoding, numbers::view(q_t, 1, head_dim),
                               std::vector{start + distance});
        site_2::encode_keys(encoding, numbers::view(k_s, 1, head_dim), std::vector{start});
        for (std::size_t pair = 0; pair < f.pairs(); ++pair) {
          auto const at = [&](std::vector<double> const& x, std::size_t i) {
            return static_cast<long double>(x[2 * pair + i]);
          };
          auto const [c, s] = oracle::direction_at(static_cast<long double>(distance),
                                                   static_cast<long double>(f.inv_freq()[pair]));
          auto const gain = gain_of(f, decay, pair, static_cast<long double>(distance));
          auto const expected = gain * (c * (at(q, 0) * at(k, 0) + at(q, 1) * at(k, 1)) +
                                        s * (at(q, 0) * at(k, 1) - at(q, 1) * at(k, 0)));
          auto const score = at(q_t, 0) * at(k_s, 0) + at(q_t, 1) * at(k_s, 1);
          // Two products, none beyond 2 gains of each other; the gains' exponents are from both
          // positions.
          auto const relative =
              2 * (tolerance::of_rotated<double>(1, 1, 1.5) + 2e-15 + 4e-18 * 8100);
          EXPECT_NEAR(static_cast<double>(score), static_cast<double>(expected),
                      4 * static_cast<double>(gain) * relative)
              << "distance " << distance << " from " << start << ", pair " << pair;
        }
      }
    }
  }
}

TEST(xpos, the_center_is_the_identity_but_for_the_rotation) {
  numbers::in_every_format([]<class T>() {
    auto const x = numbers::random<T>(2 * 34);
    auto q = x, k = x;
    std::vector<std::int64_t> const positions{0, 0};
    xpos<halves> const encoding(geometric(34, 1e4));
    site_2::encode_queries(encoding, numbers::view(q, 2, 34), positions);
    site_2::encode_keys(encoding, numbers::view(k, 2, 34), positions);
    EXPECT_TRUE(numbers::same_bits(q, x));
    EXPECT_TRUE(numbers::same_bits(k, x));
  });
}

TEST(xpos, refuses_what_leaves_the_range_of_the_numbers_and_changes_nothing) {
  xpos<halves> const encoding(geometric(4, 1e4));
  auto const message = [&]<class T>(std::vector<T> const& x, std::int64_t position, bool is_query) {
    auto y = x;
    auto const result = message_of([&] {
      std::vector<std::int64_t> const positions{0, position};
      is_query ? site_2::encode_queries(encoding, numbers::view(y, 2, 4), positions)
               : site_2::encode_keys(encoding, numbers::view(y, 2, 4), positions);
    });
    EXPECT_TRUE(numbers::same_bits(x, y));
    return result;
  };
  std::string const of_half =
      "posenc: xpos: gains must stay within 2^-14 to 2^14, the range of half, got position ";
  EXPECT_EQ(message(numbers::random<half>(8), 4000, true),
            of_half + "4000 at token 1, the center being 0 and the attention factor 1");
  EXPECT_EQ(message(numbers::random<half>(8), -4000, false),
            of_half + "-4000 at token 1, the center being 0 and the attention factor 1");
  EXPECT_EQ(message(numbers::random<bfloat16>(8), 36'000, false),
            "posenc: xpos_query_rows: gains must stay within 2^-126 to 2^126, the range of float, "
            "got position 36000 at token 1, the "
            "center being 0 and the attention factor 1");
  auto x = numbers::random<half>(8);
  EXPECT_NO_THROW(site_2::encode_queries(encoding, numbers::view(x, 2, 4),
                                         std::vector<std::int64_t>{3900, -3900}));
  EXPECT_NO_THROW(site_2::encode_queries(xpos<halves>(geometric(4, 1e4), {.center = 4000}),
                                         numbers::view(x, 2, 4),
                                         std::vector<std::int64_t>{7900, 100}));
  EXPECT_EQ(message_of([] { xpos<halves>(geometric(4, 1e4), {.gamma = -1}); }),
            "posenc: xpos: gamma must be finite and positive, got -1");
  EXPECT_EQ(message_of([] { xpos<halves>(geometric(4, 1e4), {.scale_base = 0}); }),
            "posenc: xpos: scale_base must be finite and positive, got 0");
}

// At 2000 queries shrink by 2^-7.2 and keys grow as much; with a factor of 2^-10, or of 2^10, one
// of them leaves half's 2^-14 to 2^14.
TEST(xpos, keys_leave_the_range_of_half_where_queries_do_not) {
  for (auto const factor : {0x1p-10, 0x1p10}) {
    xpos<halves> const encoding(geometric(4, 1e4).with_attention_factor(factor));
    for (std::int64_t const position : {2000, -2000}) {
      bool const queries_fit = (position < 0) == (factor < 1);
      auto x = numbers::random<half>(4);
      std::vector<std::int64_t> const at{position};
      auto const refused = [](auto&& act) {
        try {
          act();
        } catch (std::invalid_argument const&) {
          return true;
        }
        return false;
      };
      auto const view = numbers::view(x, 1, 4);
      EXPECT_EQ(refused([&] { site_2::encode_queries(encoding, view, at); }), !queries_fit);
      EXPECT_EQ(refused([&] { site_2::encode_keys(encoding, view, at); }), queries_fit);
      EXPECT_EQ(refused([&] { site_2::backward_queries(encoding, view, at); }), !queries_fit);
      EXPECT_EQ(refused([&] { site_2::backward_keys(encoding, view, at); }), queries_fit);
    }
  }
}

TEST(xpos, frequencies_of_a_temporary_can_be_read_in_a_loop) {
  std::vector<double> inv_freq;
  for (auto const x : xpos<halves>(frequencies({1, 0.5})).frequencies().inv_freq())
    inv_freq.push_back(x);
  EXPECT_EQ(inv_freq, (std::vector<double>{1, 0.5}));
}

TEST(xpos, gradients_are_pulled_back_by_the_transpose) {
  std::vector<std::int64_t> const positions{100, 3, -7, 400};
  transposed::pulls_back_by_the_transpose(xpos<halves>(geometric(6, 1e4), {.center = 100}), 6,
                                          positions);
  transposed::pulls_back_by_the_transpose(
      xpos<interleaved>(frequencies(oracle::inv_freq(6, 1e4), 1.25), {}, rotary_block::last()), 9,
      positions);
}

TEST(xpos, gradients_at_positions_beyond_the_range_are_refused_and_left_alone) {
  xpos<halves> const encoding(geometric(8, 1e4));
  auto const before = numbers::random<half>(8);
  auto x = before;
  std::vector<std::int64_t> const far{5000};
  auto const message =
      message_of([&] { site_2::encode_queries(encoding, numbers::view(x, 1, 8), far); });
  EXPECT_EQ(message_of([&] { site_2::backward_queries(encoding, numbers::view(x, 1, 8), far); }),
            message);
  EXPECT_EQ(message_of([&] { site_2::backward_keys(encoding, numbers::view(x, 1, 8), far); }),
            message);
  EXPECT_TRUE(numbers::same_bits(x, before));
}

TEST(xpos, obeys_the_laws_of_its_site) {
  // For a key 3 tokens after its query, the gain is zeta^(-3 / 512) < 1.01.
  laws::places const near{.starts = {0, 1, 17, -5, 2000, -2000},
                          .positions = {7, -2, 1003, 7, 0, 5}};
  laws::obey("halves", xpos<halves>(geometric(64, 1e4)), 64, 1.01, laws::of_distance, near);
  laws::obey("interleaved, at its center", xpos<interleaved>(geometric(64, 1e4)), 64, 1,
             laws::identity_at_zero, near);
}

}  // namespace
