#include "posenc/query_key/rope.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "golden/all_ones_kernel.hpp"
#include "golden/p_rope.hpp"
#include "golden/prop31.hpp"
#include "laws/query_key_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/rotary.hpp"
#include "oracle_pairing.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "query_key/transposed.hpp"
#include "rejects.hpp"
#include "site_2.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

/// As the definition has it, head by head; `first_dim` is where the rotary block begins.
template <class T, class Layout>
void expect_rotated(rope<Layout> const& encoding, std::size_t head_dim, std::size_t first_dim) {
  std::vector<std::int64_t> const positions{
      0, 1, -1, 4095, 131'071, 1'048'575, 2'147'483'647, -2'147'483'648, 3};
  constexpr std::size_t heads = 2;
  auto const& f = encoding.frequencies();
  auto const x = numbers::random<T>(positions.size() * heads * head_dim);
  auto q = x, k = x;
  site_2::encode_queries(encoding, numbers::view(q, positions.size(), head_dim), positions);
  site_2::encode_keys(encoding, numbers::view(k, positions.size(), head_dim), positions);
  EXPECT_TRUE(numbers::same_bits(q, k));

  auto const before = numbers::exact(x), after = numbers::exact(q);
  for (std::size_t head = 0; head < positions.size() * heads; ++head) {
    auto const first = before.begin() + static_cast<std::ptrdiff_t>(head * head_dim);
    std::vector<double> const original(first, first + static_cast<std::ptrdiff_t>(head_dim));
    auto expected = original;
    oracle::rotate(expected, f.inv_freq(), static_cast<long double>(positions[head / heads]),
                   oracle_pairing<Layout>, first_dim, f.attention_factor());
    for (std::size_t pair = 0; pair < f.pairs(); ++pair) {
      auto const a = first_dim + Layout::x_index(pair, f.pairs()),
                 b = first_dim + Layout::y_index(pair, f.pairs());
      for (auto const i : {a, b})
        EXPECT_NEAR(
            after[head * head_dim + i], expected[i],
            tolerance::of_rotated<T>(original[a], original[b], expected[i], f.attention_factor()))
            << "position " << positions[head / heads] << ", dim " << i << " of " << head_dim;
    }
    for (std::size_t i = 0; i < head_dim; ++i) {
      if (i < first_dim || i >= first_dim + f.rotary_dim()) {
        EXPECT_EQ(after[head * head_dim + i], original[i]) << "dim " << i << " of " << head_dim;
      }
    }
  }
}

template <class T, class Layout>
void expect_rotated_in_every_block() {
  frequencies const f({oracle::inv_freq(34, 1e4)});
  frequencies const with_factor(oracle::inv_freq(34, 1e4), 1.2772588722239781);
  expect_rotated<T>(rope<Layout>(f), 34, 0);
  expect_rotated<T>(rope<Layout>(f), 41, 0);
  expect_rotated<T>(rope<Layout>(f, rotary_block::last()), 41, 7);
  expect_rotated<T>(rope<Layout>(f, rotary_block::from(5)), 41, 5);
  expect_rotated<T>(rope<Layout>(with_factor, rotary_block::from(1)), 36, 1);
  expect_rotated<T>(rope<Layout>(frequencies(oracle::p_rope_inv_freq(34, 1e4, 0.6))), 34, 0);
}

TEST(rope, queries_and_keys_turn_as_the_definition_says_in_every_format_layout_and_block) {
  numbers::in_every_format([]<class T>() {
    expect_rotated_in_every_block<T, halves>();
    expect_rotated_in_every_block<T, interleaved>();
  });
}

TEST(rope, frequencies_are_those_given) {
  rope<halves> const encoding(frequencies({1, 0.5, 0}, 1.5));
  EXPECT_EQ(encoding.frequencies().pairs(), 3u);
  EXPECT_EQ(encoding.frequencies().inv_freq()[1], 0.5);
  EXPECT_EQ(encoding.frequencies().attention_factor(), 1.5);
}

TEST(rope, frequencies_and_rows_of_a_temporary_can_be_read_in_a_loop) {
  frequencies const f({1, 0.5, 0});
  std::vector<double> inv_freq, cosines;
  for (auto const x : rope<halves>(f).frequencies().inv_freq()) inv_freq.push_back(x);
  for (auto const x : rope<halves>(f).prepare<double>(std::vector{0}).rows().cos(0))
    cosines.push_back(x);
  EXPECT_EQ(inv_freq, (std::vector<double>{1, 0.5, 0}));
  EXPECT_EQ(cosines, (std::vector<double>{1, 1, 1}));
}

TEST(p_rope, rotates_the_published_number_of_pairs_at_the_frequencies_of_rope) {
  for (auto const& [p, head_dim, published, exact] : golden::p_rope_counts) {
    auto const encoding = p_rope<halves>(head_dim, 1e4, p);
    auto const inv_freq = encoding.frequencies().inv_freq();
    auto const full = geometric(head_dim, 1e4);
    ASSERT_EQ(inv_freq.size(), head_dim / 2);
    for (std::size_t i = 0; i < inv_freq.size(); ++i)
      EXPECT_EQ(inv_freq[i], i < published ? full.inv_freq()[i] : 0)
          << "p " << p << " of " << head_dim << ", pair " << i;
  }
}

TEST(p_rope, is_rotation_by_the_frequencies_of_the_definition) {
  for (double const p : {0.0, 0.25, 0.75, 1.0}) {
    auto const inv_freq = oracle::p_rope_inv_freq(64, 1e4, p);
    expect_rotated<float>(rope<halves>(frequencies(inv_freq)), 64, 0);
    auto const actual = p_rope<halves>(64, 1e4, p).frequencies();
    for (std::size_t i = 0; i < inv_freq.size(); ++i)
      EXPECT_NEAR(actual.inv_freq()[i], inv_freq[i], tolerance::of_angle(1, 1)) << i;
  }
}

/// a(r) of two equal, even vectors that stand at start + r and start, through real rotations; and
/// by how much it may be off.
struct kernel {
  double value, tolerance;
};

kernel kernel_of(std::size_t head_dim, double base, std::int64_t distance, std::int64_t start) {
  rope<halves> const encoding(geometric(head_dim, base));
  std::vector<double> heads(2 * head_dim, 1.0);
  site_2::encode_queries(encoding, numbers::view(heads, 2, head_dim),
                         std::vector{start + distance, start});
  long double product = 0;
  for (std::size_t i = 0; i < head_dim; ++i)
    product += static_cast<long double>(heads[i]) * static_cast<long double>(heads[head_dim + i]);
  // cos, and by how much its angle is off for its frequency is; then the two numbers of each
  // product.
  double angles = 0;
  for (auto const f : encoding.frequencies().inv_freq())
    angles += tolerance::of_angle(static_cast<double>(distance), f);
  auto const dim = static_cast<double>(head_dim);
  return {static_cast<double>(product) / dim,
          angles / (dim / 2) + 2 * std::sqrt(2.0) * tolerance::of_rotated<double>(1, 1, 1)};
}

TEST(rope, equal_even_vectors_score_the_published_kernel_wherever_they_stand) {
  for (auto const& [head_dim, base, distance, value] : golden::kernel_values) {
    for (std::int64_t const start : {0, 1'000'000, -77}) {
      auto const at = kernel_of(head_dim, base, static_cast<std::int64_t>(distance), start);
      EXPECT_NEAR(at.value, value, at.tolerance)
          << head_dim << " dims, base " << base << ", distance " << distance << " from " << start;
    }
  }
}

TEST(rope, the_kernel_turns_negative_at_the_published_distance) {
  for (auto const& [head_dim, base, distance] : golden::first_negatives) {
    SCOPED_TRACE(testing::Message() << head_dim << " dims, base " << base);
    auto const there = kernel_of(head_dim, base, static_cast<std::int64_t>(distance), 5);
    auto const before = kernel_of(head_dim, base, static_cast<std::int64_t>(distance) - 1, 5);
    EXPECT_LT(there.value, -there.tolerance);
    EXPECT_GT(before.value, before.tolerance);
  }
}

TEST(rope, the_kernel_is_not_monotone) {
  for (auto const& increase : golden::first_increases) {
    auto const at = [&](std::size_t r) {
      return kernel_of(increase.head_dim, increase.base, static_cast<std::int64_t>(r), 0);
    };
    for (std::size_t r = 1; r < increase.distance; ++r)
      EXPECT_LT(at(r).value + at(r).tolerance, at(r - 1).value) << r;
    EXPECT_GT(at(increase.distance).value - at(increase.distance).tolerance,
              at(increase.distance - 1).value)
        << increase.head_dim;
  }
}

/// R_r q for every distance r of the context.
template <class Layout>
std::vector<double> queries_of_the_context(rope<Layout> const& encoding,
                                           std::vector<double> const& q) {
  std::vector<std::int64_t> positions(golden::prop31_context);
  std::vector<double> queries;
  for (std::size_t r = 0; r < positions.size(); ++r) {
    positions[r] = static_cast<std::int64_t>(r);
    queries.insert(queries.end(), q.begin(), q.end());
  }
  site_2::encode_queries(encoding, numbers::view(queries, positions.size(), q.size()), positions);
  return queries;
}

/// <R_r q, k> of each of them.
std::vector<double> scores_over_the_context(std::vector<double> const& queries,
                                            std::vector<double> const& k) {
  std::vector<double> scores;
  for (auto const* q = queries.data(); q != queries.data() + queries.size(); q += k.size()) {
    long double product = 0;
    for (std::size_t i = 0; i < k.size(); ++i)
      product += static_cast<long double>(q[i]) * static_cast<long double>(k[i]);
    scores.push_back(static_cast<double>(product));
  }
  return scores;
}

/// [Barbero 2024, Proposition 3.1]: k = R^r q makes the score largest at distance r.
template <class Layout>
void expect_a_key_for_every_distance(double runner_up) {
  rope<Layout> const encoding(geometric(golden::prop31_query.size(), 1e4));
  std::vector<double> const q(golden::prop31_query.begin(), golden::prop31_query.end());
  // Either number of a product of numbers up to sqrt 2; and the angle at the far end of the
  // context.
  auto const dim = static_cast<double>(q.size()),
             context = static_cast<double>(golden::prop31_context);
  auto const tolerance =
      dim * (2 * std::sqrt(2.0) * tolerance::of_rotated<double>(1, 1, std::sqrt(2.0)) +
             tolerance::of_angle(context, 1));
  auto const queries = queries_of_the_context(encoding, q);
  for (auto const distance : golden::prop31_distances) {
    auto k = q;
    site_2::encode_keys(encoding, numbers::view(k, 1, q.size()),
                        std::vector{static_cast<std::int64_t>(distance)});
    auto scores = scores_over_the_context(queries, k);
    auto const best = std::ranges::max_element(scores);
    EXPECT_EQ(static_cast<std::size_t>(best - scores.begin()), distance);
    EXPECT_NEAR(*best, golden::prop31_peak, tolerance) << "distance " << distance;
    *best = 0;
    EXPECT_NEAR(*std::ranges::max_element(scores), runner_up, tolerance) << "distance " << distance;
  }
}

TEST(rope, there_is_a_key_that_is_maximal_at_any_distance) {
  expect_a_key_for_every_distance<halves>(golden::prop31_runner_up_halves);
  expect_a_key_for_every_distance<interleaved>(golden::prop31_runner_up_interleaved);
}

TEST(rope, not_a_number_spoils_its_own_pair_alone) {
#if defined(__FAST_MATH__)
  GTEST_SKIP() << "-ffast-math promises nothing for NaN";
#endif
  for (std::size_t const spoilt : {0u, 5u, 20u, 37u}) {
    std::vector<float> x(40, 1);
    x[spoilt] = float_of_bits(0x7fc0'0000u);
    site_2::encode_queries(rope<interleaved>(geometric(40, 1e4)), numbers::view(x, 1, 40),
                           std::vector<std::int64_t>{3});
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(is_finite(static_cast<double>(x[i])), i / 2 != spoilt / 2) << i;
  }
}

TEST(rope, views_without_tokens_or_heads_are_left_empty) {
  rope<halves> const encoding(geometric(8, 1e4));
  std::vector<std::int64_t> const three{1, 2, 3};
  site_2::encode_queries(encoding, heads_view<float>(nullptr, {0, 4, 8}), {});
  site_2::encode_keys(encoding, heads_view<double>(nullptr, {3, 0, 8}), three);
}

TEST(rope, too_few_positions_are_rejected_and_nothing_turned) {
  rope<halves> const encoding(geometric(8, 1e4));
  auto const before = numbers::random<bfloat16>(48);
  auto x = before;
  for (std::size_t const count : {0u, 2u}) {
    std::vector<std::int64_t> const positions(count, 7);
    auto const expected = "posenc: prepare: every token must have a prepared position, got " +
                          std::to_string(count) + " positions for 3 tokens from 0 on";
    EXPECT_EQ(
        message_of([&] { site_2::encode_queries(encoding, numbers::view(x, 3, 8), positions); }),
        expected);
    EXPECT_EQ(message_of([&] { site_2::encode_keys(encoding, numbers::view(x, 3, 8), positions); }),
              expected);
  }
  EXPECT_TRUE(numbers::same_bits(x, before));
}

TEST(rope, a_head_too_short_for_the_block_is_rejected_and_nothing_turned) {
  std::vector<std::int64_t> const positions{5, 6, 7};
  auto const before = numbers::random<float>(48);
  auto x = before;
  auto const rejected = [&](rotary_block block) {
    rope<interleaved> const encoding(geometric(16, 1e4), block);
    return message_of([&] { site_2::encode_queries(encoding, numbers::view(x, 3, 8), positions); });
  };
  auto const must =
      std::string("posenc: rotary_block: the rotary block must lie within the head, got dims ");
  EXPECT_EQ(rejected(rotary_block::first()), must + "0 to 16 of head_dim 8");
  EXPECT_EQ(rejected(rotary_block::from(3)), must + "3 to 19 of head_dim 8");
  EXPECT_EQ(rejected(rotary_block::last()).substr(0, must.size()), must);
  EXPECT_TRUE(numbers::same_bits(x, before));
}

TEST(p_rope, bad_settings_are_rejected) {
  EXPECT_EQ(message_of([] { p_rope<halves>(128, 1e4, 1.01); }),
            "posenc: truncated: p must be in [0, 1], got 1.01");
  EXPECT_EQ(message_of([] { p_rope<halves>(128, 1e4, -0.5); }),
            "posenc: truncated: p must be in [0, 1], got -0.5");
  EXPECT_EQ(message_of([] { p_rope<halves>(128, 1e4, not_a_number()); }),
            "posenc: truncated: p must be in [0, 1], got NaN");
  EXPECT_EQ(message_of([] { p_rope<halves>(127, 1e4, 0.5); }),
            "posenc: geometric: the dimension must be even and positive, got 127");
  EXPECT_EQ(message_of([] { p_rope<halves>(0, 1e4, 0.5); }),
            "posenc: geometric: the dimension must be even and positive, got 0");
  EXPECT_EQ(message_of([] { p_rope<halves>((1u << 24) + 2, 1e4, 0.5); }),
            "posenc: geometric: the dimension must be at most 2^24, got 16777218");
  EXPECT_EQ(message_of([] { p_rope<halves>(128, 0.5, 0.5); }),
            "posenc: truncated: frequencies must not rise from pair to pair, as for a base below "
            "1, got a rise at pair 1");
  EXPECT_EQ(message_of([] { p_rope<halves>(128, 0, 0.5); }),
            "posenc: geometric: base must be finite and positive, got 0");
  EXPECT_EQ(message_of([] { p_rope<halves>(128, infinity(), 0.5); }),
            "posenc: geometric: base must be finite and positive, got infinity");
}

TEST(rope, gradients_are_pulled_back_by_the_transpose) {
  std::vector<std::int64_t> const positions{0, 3, -7, 1'000'003};
  frequencies const f(oracle::inv_freq(6, 1e4)), louder(oracle::inv_freq(6, 1e4), 1.25),
      slow(oracle::p_rope_inv_freq(6, 1e4, 0.5));
  transposed::pulls_back_by_the_transpose(rope<halves>(f), 6, positions);
  transposed::pulls_back_by_the_transpose(rope<interleaved>(louder), 6, positions);
  transposed::pulls_back_by_the_transpose(rope<halves>(louder, rotary_block::last()), 9, positions);
  transposed::pulls_back_by_the_transpose(rope<interleaved>(slow, rotary_block::from(2)), 9,
                                          positions);
}

TEST(rope, obeys_the_laws_of_its_site) {
  laws::obey("Llama 2", rope<halves>(geometric(128, 1e4)), 128);
  laws::obey("interleaved", rope<interleaved>(geometric(128, 5e5)), 128);
  laws::obey("GPT-J's block", rope<interleaved>(geometric(64, 1e4)), 256);
  laws::obey("DeepSeek's block", rope<interleaved>(geometric(64, 1e4), rotary_block::last()), 192);
  laws::obey("a block amid", rope<halves>(geometric(22, 1e4), rotary_block::from(3)), 31);
  laws::obey("a single pair", rope<halves>(geometric(2, 1e4)), 2);
  laws::obey("an attention factor",
             rope<halves>(geometric(34, 1e4).with_attention_factor(1.2772588722239781)), 34,
             1.2772588722239781);
}

TEST(rope, obeys_the_laws_of_its_site_at_scaled_frequencies) {
  laws::obey("interpolated", rope<interleaved>(linear(geometric(64, 1e4), 16)), 64);
  laws::obey(
      "gpt-oss",
      rope<halves>(yarn(64, 1.5e5, {.factor = 32, .original_length = 4096, .truncate = false})), 64,
      1.3465735902799727);
  laws::obey("Llama 3.1", rope<halves>(llama3(geometric(128, 5e5), {8, 1, 4, 8192})), 128);
  laws::obey("Resonance", rope<halves>(resonance(geometric(64, 1e4))), 64);
}

TEST(p_rope, obeys_the_laws_of_its_site) {
  laws::obey("Gemma 4", p_rope<halves>(512, 1e6, 0.25), 512);
  laws::obey("interleaved", p_rope<interleaved>(64, 1e4, 0.75), 64);
  laws::obey("p 0", p_rope<halves>(64, 1e4, 0), 64);
}

TEST(rope, obeys_the_laws_of_its_site_in_a_scheme) {
  laws::obey("one after another",
             scheme(rope<halves>(geometric(64, 1e4)), rope<halves>(geometric(64, 1e6)),
                    adaptive_temperature{}),
             64);
  laws::obey("beside nope", scheme(nope(), rope<halves>(geometric(64, 1e4))), 64);
}

TEST(rope, layouts_are_equal_up_to_their_permutation) {
  // The block of n pairs starts at dim `first`. Pair i is (2i, 2i + 1) if interleaved, (i, n + i)
  // in halves.
  auto const obey = [](frequencies const& f, rotary_block block, std::size_t first,
                       std::size_t head_dim) {
    std::vector<std::size_t> order(head_dim);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = 0; i < f.pairs(); ++i)
      order[first + i] = first + 2 * i, order[first + f.pairs() + i] = first + 2 * i + 1;
    laws::are_the_same_but_for_their_order(rope<interleaved>(f, block), rope<halves>(f, block),
                                           order);
  };
  for (std::size_t const pairs : {1u, 2u, 3u, 5u, 8u, 15u, 16u, 17u, 64u}) {
    SCOPED_TRACE(pairs);
    obey(geometric(2 * pairs, 1e4), rotary_block::first(), 0, 2 * pairs);
    obey(geometric(2 * pairs, 1e4), rotary_block::last(), 7, 2 * pairs + 7);
    obey(truncated(geometric(2 * pairs, 1e4), 0.7), rotary_block::from(3), 3, 2 * pairs + 4);
    obey(geometric(2 * pairs, 1e4).with_attention_factor(1.25), rotary_block::first(), 0,
         2 * pairs + 1);
  }
}

TEST(p_rope, of_p_1_is_rope_bit_for_bit) {
  for (std::size_t const head_dim : {2u, 18u, 128u}) {
    SCOPED_TRACE(head_dim);
    std::vector<std::size_t> order(head_dim);
    std::iota(order.begin(), order.end(), std::size_t{0});
    laws::are_the_same_but_for_their_order(p_rope<halves>(head_dim, 1e4, 1),
                                           rope<halves>(geometric(head_dim, 1e4)), order);
    laws::are_the_same_but_for_their_order(p_rope<interleaved>(head_dim, 1e4, 1),
                                           rope<interleaved>(geometric(head_dim, 1e4)), order);
  }
}

TEST(p_rope, of_p_0_leaves_every_bit_alone) {
  laws::nothing_is_changed(p_rope<halves>(64, 1e4, 0), 64);
  laws::nothing_is_changed(p_rope<interleaved>(64, 1e4, 0), 64);
  laws::nothing_is_changed(scheme(nope(), p_rope<halves>(64, 1e4, 0), adaptive_temperature{}), 64);
}

}  // namespace
