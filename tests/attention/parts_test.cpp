// Attention where its work is cut: parts of 512 keys, ranges, blocks of 144 rows, groups of kv
// heads, few rows and many. Each result is the reference's, and has the same bits for any tasks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "attention/random_heads.hpp"
#include "executors.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/reference.hpp"
#include "posenc/attention/rules.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"

namespace {
namespace in_parts {

using namespace posenc;

constexpr auto infinity = std::numeric_limits<double>::infinity();

/// of_nan: what may stand where NaN is expected.
void expect_near(char const* what, std::vector<double> const& actual,
                 std::vector<double> const& expected, double of_nan = 9) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    auto const a = actual[i], e = expected[i];
    auto const is_near = is_finite(e) ? is_finite(a) && std::abs(a - e) <= 1e-11 * (1 + std::abs(e))
                         : is_masked(e) ? is_masked(a)
                                        : (!is_finite(a) && !is_masked(a)) || a == of_nan;
    if (is_near) continue;
    FAIL() << what << " " << i << ": " << a << ", not " << e;
  }
}

template <class Encoding>
void expect_reference(random_heads<double> const& x, Encoding const& encoding,
                      attention_options options) {
  SCOPED_TRACE(testing::Message() << x.n.queries << " queries, " << x.n.keys << " keys, "
                                  << x.n.heads << " heads, " << x.n.kv_heads << " of keys");
  executors::on_threads const pool{};
  for (bool const kept : {false, true}) {
    options.keep_scores = options.keep_weights = kept;
    auto const expected =
        reference_attention(x.q_view(), x.k_view(), x.v_view(), encoding, options);
    auto const actual = attention(x.q_view(), x.k_view(), x.v_view(), encoding, options);
    expect_near("output", actual.outputs, expected.outputs);
    expect_near("log_sum_exp", actual.log_sum_exp, expected.log_sum_exp);
    expect_near("score", actual.scores, expected.scores);
    expect_near("weight", actual.weights, expected.weights, 0);  // where a NaN is the largest score
    for (std::size_t const n : {3u, 16u}) {
      if (kept && n == 3) continue;
      auto const split =
          attention(tasks(n, pool), x.q_view(), x.k_view(), x.v_view(), encoding, options);
      EXPECT_TRUE(numbers::same_bits(split.outputs, actual.outputs)) << n << " tasks";
      EXPECT_TRUE(numbers::same_bits(split.log_sum_exp, actual.log_sum_exp)) << n << " tasks";
    }
  }
}

/// And a cap, which parts of the keys must have before they are added up.
void expect_sinks(attention_sizes const& n, attention_options options) {
  std::vector<double> sinks;
  for (std::size_t head = 0; head < n.heads; ++head) sinks.push_back(static_cast<double>(head) - 1);
  attention_rules const rules{
      .sees = std::exchange(options.mask, attention_options().mask), .cap = 0.5, .sinks = sinks};
  expect_reference(random_heads<double>(n), rules, options);
}

TEST(attention_parts, of_keys_about_multiples_of_512) {
  for (std::size_t const keys : {511u, 512u, 513u, 1024u, 1025u})
    for (std::size_t const queries : {1u, 3u, 66u})
      for (auto const& mask : {mask::causal, mask::full})
        expect_sinks({queries, keys, 1, 1, 2, 3}, {.mask = mask});
}

// Of in place and panels; ranges of one part and of several; 64 ranges and keys for more.
TEST(attention_parts, of_rows_about_16_and_32) {
  for (std::size_t const heads : {16u, 17u, 32u, 33u}) expect_sinks({1, 1100, heads, 1, 3, 2}, {});
  for (std::size_t const queries : {16u, 17u, 32u, 33u})
    expect_sinks({queries, 1100, 1, 1, 2, 2}, {});
  for (std::size_t const keys : {32768u, 32769u, 66000u}) expect_sinks({1, keys, 1, 1, 2, 2}, {});
  expect_sinks({2, 66000, 1, 1, 1, 1}, {.mask = mask::window(20000, 0)});
}

TEST(attention_parts, of_kv_heads_in_groups) {
  for (std::size_t const kv_heads : {9u, 10u, 19u})
    expect_sinks({4, 520, kv_heads * 4, kv_heads, 2, 2}, {});
  expect_sinks({1, 1500, 6, 3, 2, 2}, {.mask = mask::full});
}

TEST(attention_parts, of_blocks_about_144_rows) {
  for (std::size_t const queries : {143u, 144u, 145u, 289u})
    expect_sinks({queries, 530, 1, 1, 2, 2}, {});
  expect_sinks({73, 600, 2, 1, 2, 2}, {});
  expect_sinks({3, 600, 145, 1, 2, 2}, {});
  expect_sinks({900, 900, 1, 1, 2, 2}, {.mask = mask::window(40, 3)});  // pieces of 6 blocks
}

// Keys become panels for few rows too.
TEST(attention_parts, of_keys_that_are_encoded) {
  scheme const turning(rope<halves>(geometric(4, 1e4)), alibi(2));
  for (std::size_t const keys : {512u, 1100u})
    for (std::size_t const queries : {1u, 30u, 145u})
      expect_reference(random_heads<double>({queries, keys, 2, 1, 4, 3}), turning, {});
}

/// Every query sees keys by distance, beyond the first parts.
TEST(attention_parts, of_which_the_first_are_not_seen) {
  for (std::size_t const queries : {1u, 70u}) {
    std::vector<std::int64_t> at;
    for (std::size_t t = 0; t < queries; ++t) at.push_back(static_cast<std::int64_t>(1500 + t));
    for (auto const& mask : {mask::window(100, 0), mask::window(0, 700), mask::window(600, 5)})
      expect_sinks({queries, 2500, 1, 1, 2, 2}, {.mask = mask, .query_positions = at});
  }
}

// Parts that a packed sequence does not reach, whose keys are in no order.
TEST(attention_parts, of_packed_sequences_whose_keys_do_not_rise) {
  for (std::size_t const first : {10u, 512u, 1500u}) {
    std::vector<std::int64_t> backwards;
    for (std::size_t s = 0; s < 2000; ++s)
      backwards.push_back(static_cast<std::int64_t>(s < first ? first - s : 2000 - s));
    std::vector<std::size_t> const keys{first, 2000 - first};
    for (std::size_t const queries : {1u, 3u, 70u}) {
      std::vector<std::size_t> const lengths{queries, queries + 1};
      std::vector<std::int64_t> at;
      for (std::size_t t = 0; t < 2 * queries + 1; ++t)
        at.push_back(static_cast<std::int64_t>(700 * t % 1900));
      for (auto const& mask : {mask::full, mask::causal, mask::window(300, 20)})
        expect_sinks({2 * queries + 1, 2000, 1, 1, 2, 2},
                     {.mask = mask & mask::packed(lengths, keys),
                      .query_positions = at,
                      .key_positions = backwards});
    }
  }
}

TEST(attention_parts, of_a_temperature_that_is_chosen_later) {
  for (std::size_t const queries : {1u, 70u}) {
    random_heads<double> const x({queries, 1100, 2, 1, 2, 2});
    auto const expect = [&](auto const& actual, auto const& expected) {
      auto const of = [&](auto const& rule) {
        return attention(x.q_view(), x.k_view(), x.v_view(), rule);
      };
      auto const a = of(actual), e = of(expected);
      EXPECT_TRUE(numbers::same_bits(a.outputs, e.outputs)) << queries;
      EXPECT_TRUE(numbers::same_bits(a.log_sum_exp, e.log_sum_exp)) << queries;
    };
    expect(attention_rules{}, nope());
    expect(attention_rules{.temperature = {.rule = temperature_rule::adaptive}},
           adaptive_temperature{});
  }
}

/// Biases of each key, the same for all queries, or for those of even index.
struct given {
  std::size_t queries, keys;
  std::vector<double> biases;
  given(std::size_t of_queries, std::size_t of_keys)
      : queries(of_queries), keys(of_keys), biases(of_queries * of_keys) {}
  given& set(std::size_t first, std::size_t last, double bias, std::size_t step = 1) {
    for (std::size_t t = 0; t < queries; t += step)
      std::fill_n(biases.data() + t * keys + first, last - first, bias);
    return *this;
  }
  attention_options options() const {
    return {.mask = mask::given(given_mask(biases.data(), {queries, 1, keys}))};
  }
};

TEST(attention_parts, that_given_cells_hide) {
  for (std::size_t const queries : {1u, 5u, 70u}) {
    attention_sizes const n{queries, 1600, 1, 1, 2, 2};
    expect_sinks(n, given(queries, 1600).set(400, 1100, -infinity).options());
    expect_sinks(n, given(queries, 1600).set(512, 1024, -infinity, 2).options());
    expect_sinks(n, given(queries, 1600).set(0, 1536, -infinity).options());
    expect_sinks(n, given(queries, 1600).set(1, 1600, -infinity).options());
    expect_sinks(n, given(queries, 1600).set(0, 1600, -infinity, 2).options());
    expect_sinks(n, given(queries, 1600).set(512, 1024, 900).set(1024, 1536, -900).options());
  }
}

// Each head sees keys of its own, of kv heads that are computed together.
TEST(attention_parts, that_each_head_sees_elsewhere) {
  for (std::size_t const queries : {1u, 20u}) {
    attention_sizes const n{queries, 1100, 6, 3, 2, 2};
    std::vector<double> biases(6 * queries * n.keys, -infinity);
    for (std::size_t row = 0; row < 6 * queries; ++row)
      std::fill_n(biases.data() + row * n.keys + row / queries * 180 + row % 7, 90, 0.5);
    expect_sinks(n, {.mask = mask::given(given_mask(biases.data(), {queries, 6, n.keys}))});
  }
}

// Weights that are 0 beside other parts take no value, whichever part comes first.
TEST(attention_parts, that_are_too_low_beside_others) {
  for (std::size_t const queries : {1u, 66u})
    for (std::size_t const first : {0u, 512u, 1024u})
      for (auto const bad : {std::numeric_limits<double>::quiet_NaN(), infinity}) {
        random_heads<double> x({queries, 1500, 1, 1, 2, 2});
        x.v[2 * (first + 7)] = bad;
        expect_reference(x, nope(),
                         given(queries, 1500)
                             .set(first, std::min<std::size_t>(first + 512, 1500), -900)
                             .options());
      }
}

#if !defined(__FAST_MATH__)
TEST(attention_parts, of_which_one_has_what_is_not_finite) {
  for (std::size_t const queries : {1u, 66u})
    for (auto const bad : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, 1.5e308})
      for (bool const of_values : {true, false}) {
        random_heads<double> x({queries, 1100, 1, 1, 2, 2});
        std::ranges::fill(x.q, 1e-300);  // scores of 0, so that the sum of two values overflows
        auto& numbers = of_values ? x.v : x.k;
        for (std::size_t const s : {600u, 601u}) numbers[2 * s] = bad;
        if (queries == 1) expect_reference(x, nope(), {.mask = mask::full});
        auto cells = given(queries, 1100).set(600, 602, -infinity, 2).set(100, 200, -infinity);
        expect_reference(x, nope(), cells.options());
        expect_reference(x, nope(), {.mask = mask::window(200, 0)});  // not seen
      }
}
#endif

}  // namespace in_parts
}  // namespace
