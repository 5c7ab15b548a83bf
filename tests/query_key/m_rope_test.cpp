#include "posenc/query_key/m_rope.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "laws/query_key_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/rotary.hpp"
#include "oracle/rotated_pairs.hpp"
#include "oracle_pairing.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/rows/axis_rows.hpp"
#include "query_key/transposed.hpp"
#include "rejects.hpp"
#include "site_2.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using sections = std::vector<std::size_t>;

axis_position_builder<> prompt() {
  return axis_position_builder<>().text(3).image(2, 4).text(2).video(3, 2, 2, 2.5).text(4);
}

frequencies some_frequencies(double attention_factor = 1) {
  return frequencies(oracle::inv_freq(34, 1e4), attention_factor);
}

template <class T, class Layout, class P>
void expect_rotated(m_rope<Layout, P> const& encoding, P delta,
                    std::vector<std::int64_t> const& indices, std::size_t head_dim,
                    std::size_t first_dim) {
  constexpr std::size_t heads = 2;
  auto const& f = encoding.frequencies();
  auto const x = numbers::random<T>(indices.size() * heads * head_dim);
  auto q = x, k = x;
  site_2::encode_queries(encoding, numbers::view(q, indices.size(), head_dim), indices);
  site_2::encode_keys(encoding, numbers::view(k, indices.size(), head_dim), indices);
  EXPECT_TRUE(numbers::same_bits(q, k));
  auto const before = numbers::exact(x), after = numbers::exact(q);
  for (std::size_t head = 0; head < indices.size() * heads; ++head) {
    auto const index = static_cast<std::size_t>(indices[head / heads]);
    std::vector<oracle::pair_rotation> turns;
    for (std::size_t pair = 0; pair < f.pairs(); ++pair) {
      auto const& positions = encoding.positions();
      auto const position =
          index < positions.tokens()
              ? static_cast<long double>(positions.of(encoding.axes().axis(pair))[index])
              : static_cast<long double>(index) + static_cast<long double>(delta);
      turns.push_back({position, f.inv_freq()[pair], f.attention_factor()});
    }
    auto const first = before.begin() + static_cast<std::ptrdiff_t>(head * head_dim);
    std::vector<double> expected(first, first + static_cast<std::ptrdiff_t>(head_dim));
    oracle::rotate_pairs(expected, turns, oracle_pairing<Layout>, first_dim);
    for (std::size_t i = 0; i < head_dim; ++i) {
      auto const inside = i >= first_dim && i < first_dim + f.rotary_dim();
      auto const bound =
          inside ? tolerance::of_rotated<T>(1, 1, expected[i], f.attention_factor()) : 0;
      EXPECT_NEAR(after[head * head_dim + i], expected[i], bound)
          << "index " << index << ", dim " << i;
    }
  }
}

TEST(m_rope,
     queries_and_keys_turn_by_their_positions_on_each_axis_in_every_format_layout_and_block) {
  auto const built = prompt();
  auto const positions = built.positions();
  auto const delta = built.rope_delta();
  std::vector<std::int64_t> const indices{0, 3, 7, 4, 2, 12, 15, 24, 28, 29, 30, 1'000'000, 5};
  numbers::in_every_format([&]<class T>() {
    expect_rotated<T>(
        m_rope<halves>(some_frequencies(), contiguous_axes(sections{5, 6, 6}), positions, delta),
        delta, indices, 34, 0);
    expect_rotated<T>(m_rope<interleaved>(some_frequencies(1.25),
                                          interleaved_axes(sections{7, 5, 5}), positions, delta),
                      delta, indices, 41, 0);
    expect_rotated<T>(m_rope<interleaved>(some_frequencies(), contiguous_axes(sections{5, 6, 6}),
                                          positions, delta, rotary_block::last()),
                      delta, indices, 41, 7);
  });
}

TEST(m_rope, takes_fractional_positions) {
  auto const built = axis_position_builder<double>().text(1).video(3, 1, 2, 0.75).text(1);
  // Text goes on at 4.5.
  m_rope<halves, double> const encoding(some_frequencies(), contiguous_axes(sections{5, 6, 6}),
                                        built.positions(), built.rope_delta());
  expect_rotated<double>(encoding, built.rope_delta(), {0, 3, 5, 6, 7, 8, 9}, 34, 0);
  EXPECT_EQ(8 + built.rope_delta(), 4.5);
}

TEST(m_rope, frequencies_and_positions_of_a_temporary_can_be_read_in_a_loop) {
  auto const encoding = [] {
    return m_rope<halves>(frequencies({1, 0.5}), contiguous_axes({1, 1}),
                          axis_positions(2, std::vector{1, 2, 3, 4}), 0);
  };
  std::vector<double> inv_freq;
  std::vector<std::int64_t> heights;
  for (auto const x : encoding().frequencies().inv_freq()) inv_freq.push_back(x);
  for (auto const x : encoding().positions().of(1)) heights.push_back(x);
  EXPECT_EQ(inv_freq, (std::vector<double>{1, 0.5}));
  EXPECT_EQ(heights, (std::vector<std::int64_t>{3, 4}));
}

TEST(m_rope, of_text_alone_is_rope_bit_for_bit) {
  std::vector<std::int64_t> const indices{0, 9, 10, 1, 11, 1'000'003};
  auto const text = axis_position_builder<>().text(10);
  numbers::in_every_format([&]<class T>() {
    auto const x = numbers::random<T>(indices.size() * 34);
    auto a = x, b = x;
    m_rope<halves> const encoding(some_frequencies(1.25), interleaved_axes(sections{7, 5, 5}),
                                  text.positions(), text.rope_delta());
    site_2::encode_queries(encoding, numbers::view(a, indices.size(), 34), indices);
    site_2::encode_queries(rope<halves>(some_frequencies(1.25)),
                           numbers::view(b, indices.size(), 34), indices);
    EXPECT_TRUE(numbers::same_bits(a, b));
  });
}

TEST(m_rope, generated_text_goes_on_where_the_prompt_ended) {
  auto const built = prompt();
  auto longer = prompt();
  longer.text(5);
  auto const x = numbers::random<float>(5 * 34);
  auto a = x, b = x;
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < 5; ++i)
    indices.push_back(static_cast<std::int64_t>(built.tokens() + i));
  auto const encode = [&](axis_position_builder<> const& known, std::vector<float>& to) {
    m_rope<halves> const encoding(some_frequencies(), contiguous_axes(sections{5, 6, 6}),
                                  known.positions(), known.rope_delta());
    site_2::encode_keys(encoding, numbers::view(to, 5, 34), indices);
  };
  encode(built, a), encode(longer, b);
  EXPECT_TRUE(numbers::same_bits(a, b));
}

// Two images, the second after a text: the score of a query in one and a key in it is the same in
// the other.
TEST(m_rope, scores_depend_on_the_differences_of_positions_alone) {
  auto const built = axis_position_builder<>().text(2).image(3, 5).text(100'000).image(3, 5);
  m_rope<halves> const encoding(some_frequencies(), contiguous_axes(sections{5, 6, 6}),
                                built.positions(), built.rope_delta());
  auto const q = numbers::random<double>(34, 1), k = numbers::random<double>(34, 2);
  auto const score = [&](std::int64_t t, std::int64_t s) {
    auto q_t = q, k_s = k;
    site_2::encode_queries(encoding, numbers::view(q_t, 1, 34), std::vector{t});
    site_2::encode_keys(encoding, numbers::view(k_s, 1, 34), std::vector{s});
    long double sum = 0;
    for (std::size_t i = 0; i < 34; ++i)
      sum += static_cast<long double>(q_t[i]) * static_cast<long double>(k_s[i]);
    return static_cast<double>(sum);
  };
  // 34 products of numbers below sqrt 2, each of which is off by the error of a rotated number.
  auto const error = tolerance::of_rotated<double>(1, 1, std::sqrt(2.0));
  auto const bound = 2 * 34 * (2 * std::sqrt(2.0) + error) * error;
  for (std::int64_t t = 0; t < 15; ++t)
    for (std::int64_t s = 0; s < 15; ++s)
      EXPECT_NEAR(score(2 + t, 2 + s), score(100'017 + t, 100'017 + s), bound) << t << " " << s;
  EXPECT_GT(std::abs(score(2, 7) - score(2, 3)), 1e-3) << "one down is not one to the right";
}

TEST(m_rope, refuses_what_does_not_match) {
  auto const positions = prompt().positions();
  EXPECT_EQ(message_of([&] {
              m_rope<halves>(some_frequencies(), pair_axes({0, 1}), positions, 0);
            }),
            "posenc: m_rope: axes must be given for each of the 17 pairs, got 2");
  EXPECT_EQ(message_of([&] {
              m_rope<halves>(frequencies({1, 0.5}), pair_axes({0, 3}), positions, 0);
            }),
            "posenc: m_rope: positions must have each of the 4 axes of the pairs, got 3");
  EXPECT_EQ(message_of([&] {
              m_rope<halves, double>(frequencies({1}), pair_axes({0}),
                                     axis_positions<double>({{0, 1}, {2, 3}}), not_a_number());
            }),
            "posenc: m_rope: delta must be finite, got NaN");
}

TEST(m_rope, refuses_indices_that_no_token_has_and_changes_nothing) {
  constexpr auto farthest = std::numeric_limits<std::int64_t>::max();
  m_rope<halves> const encoding(frequencies({1, 0.5}), pair_axes({0, 1}), prompt().positions(), 3);
  auto const x = numbers::random<float>(2 * 4);
  auto y = x;
  auto const message = [&](std::vector<std::int64_t> const& indices) {
    return message_of([&] { site_2::encode_queries(encoding, numbers::view(y, 2, 4), indices); });
  };
  EXPECT_EQ(message({0, -1}), "posenc: m_rope: an index must not be negative, got -1 at token 1");
  EXPECT_EQ(message({farthest - 2, 0}),
            "posenc: m_rope: an index plus delta must fit int64, got 9223372036854775805 plus 3 at "
            "token 0");
  EXPECT_NE(message({1}), "") << "one index per token";
  EXPECT_TRUE(numbers::same_bits(x, y));
  EXPECT_NO_THROW(site_2::encode_queries(encoding, numbers::view(y, 2, 4),
                                         std::vector{farthest - 3, farthest - 4}));
}

TEST(m_rope, gradients_are_pulled_back_by_the_transpose) {
  auto const built = prompt();
  std::vector<std::int64_t> const indices{0, 7, 15, 29, 1'000'000};
  frequencies const f(oracle::inv_freq(6, 1e4)), louder(oracle::inv_freq(6, 1e4), 1.25);
  auto const axes = contiguous_axes(sections{1, 1, 1});
  transposed::pulls_back_by_the_transpose(
      m_rope<halves>(f, axes, built.positions(), built.rope_delta()), 6, indices);
  transposed::pulls_back_by_the_transpose(
      m_rope<interleaved>(louder, axes, built.positions(), built.rope_delta(),
                          rotary_block::from(1)),
      9, indices);
}

// A multimodal prompt: a word, an image of 2 x 2 patches, a word; 3 axes, of 8, 4 and 4 pairs.
TEST(m_rope, obeys_the_laws_of_its_site) {
  axis_positions<std::int64_t> const prompt(std::vector<std::vector<std::int64_t>>{
      {0, 1, 1, 1, 1, 3}, {0, 1, 1, 2, 2, 3}, {0, 1, 2, 1, 2, 3}});
  laws::obey(
      "an image and the text behind it",
      m_rope<halves>(geometric(32, 1e6), contiguous_axes(sections{8, 4, 4}), prompt, -2), 32, 1,
      laws::rotation_by_position,
      {.starts = {9, 10, 17, 1'000'000, 1'234'567}, .positions = {7, 2, 1'000'003, 7, 0, 5, 3}});
}

}  // namespace
