// Decoding by dot products of codes, within the error that the format states.
#include "posenc/decode/dot_products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "executors.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/encoding/scheme.hpp"
#include "tolerance.hpp"

namespace of_dot_products {
namespace {

using posenc::dot_products;
using posenc::heads_view;

constexpr std::size_t kv_heads = 2;
using slots = std::vector<std::int64_t>;

// A step of one query and keys of 2 kv heads; reads: [keys][2][dim], as they are decoded. Each
// score and output is compared with doubles, within the error that dot_products states.
template <std::size_t Group>
void is_near_doubles(auto const& cache, std::vector<float> const& read, std::size_t q_heads,
                     std::size_t n, std::size_t dim) {
  constexpr auto of_float = tolerance::unit_roundoff<float>();
  auto const q = numbers::random<float>(q_heads * dim, 1);
  heads_view<float const> const query(q.data(), {1, q_heads, dim});
  auto const got = posenc::attention(query, cache, cache, posenc::nope(), {.keep_scores = true}),
             in_parts = posenc::attention(query, cache, cache, posenc::nope());
  auto const scale = 1 / std::sqrt(static_cast<double>(dim));
  for (std::size_t h = 0; h < q_heads; ++h) {
    auto const of_head = std::span(q).subspan(h * dim, dim);
    auto const number = [&](std::size_t t, std::size_t i) {
      return static_cast<double>(read[(t * kv_heads + h * kv_heads / q_heads) * dim + i]);
    };
    double most_of_query = 0, most_of_values = 0, sum = 0, largest = 0, worst = 0;
    auto const group = Group == 0 ? dim : Group;  // dims whose codes have one scale
    std::vector<double> most_of_group(dim / group);
    for (std::size_t i = 0; i < dim; ++i) {
      auto& most = most_of_group[i / group];
      most = std::max(most, std::abs(double{of_head[i]}));
      most_of_query = std::max(most_of_query, most);
    }
    for (std::size_t i = 0; i < n * dim; ++i)
      most_of_values = std::max(most_of_values, std::abs(number(i / dim, i % dim)));
    std::vector<double> weights(n);
    for (std::size_t t = 0; t < n; ++t) {
      double score = 0, of_codes = 0;
      for (std::size_t i = 0; i < dim; ++i) {
        auto const x = double{of_head[i]}, y = number(t, i);
        score += x * y;
        of_codes += most_of_group[i / group] / 254 * std::abs(y);
      }
      // Unsigned codes are up to 255 steps of 1/127 of the largest number beside their offset.
      auto const magnitude = 3 * most_of_query * most_of_values * static_cast<double>(dim),
                 error = scale * (of_codes + tolerance::of_dot_product<float>(dim, magnitude));
      EXPECT_NEAR(got.scores[h * n + t], scale * score, error) << h << " " << t;
      worst = std::max(worst, error);
      sum += weights[t] = std::exp(scale * score);
    }
    EXPECT_NEAR(got.log_sum_exp[h], std::log(sum), worst + 64 * of_float);
    EXPECT_NEAR(in_parts.log_sum_exp[h], std::log(sum), worst + 64 * of_float);
    for (auto& weight : weights) largest = std::max(largest, weight /= sum);
    auto const of_codes = largest * static_cast<double>(n) / 510 * 128 / 127;
    auto const error = most_of_values *
                       (std::expm1(2 * worst) + of_codes + tolerance::of_dot_product<float>(n, 4));
    for (std::size_t i = 0; i < dim; ++i) {
      double output = 0;
      for (std::size_t t = 0; t < n; ++t) output += weights[t] * number(t, i);
      EXPECT_NEAR(got.outputs[h * dim + i], output, error) << h << " " << i;
      EXPECT_NEAR(in_parts.outputs[h * dim + i], output, error) << h << " " << i;
    }
  }
}

// Random heads in a format, in pages that are out of order, and as they are decoded.
template <class F>
struct random_cache {
  std::vector<std::byte> memory;
  slots order;
  posenc::pages_shape shape;
  F format;
  std::vector<float> read;

  random_cache(F const& f, std::size_t n, std::size_t dim, std::int64_t step = 7)
      : shape{(n + 3) / 4, 4, kv_heads, dim}, format(f), read(n * kv_heads * dim) {
    auto bytes = format.bytes(dim);
    if constexpr (posenc::scaled_format<F>) bytes += format.scale_bytes(dim);
    auto const places = shape.pages * shape.page_tokens;
    memory.resize(places * kv_heads * bytes);
    while (std::gcd(step, static_cast<std::int64_t>(places)) != 1) ++step;
    for (std::size_t t = 0; t < n; ++t)
      order.push_back(static_cast<std::int64_t>(t) * step % static_cast<std::int64_t>(places));
    auto const numbers = numbers::random<float>(read.size(), 2);
    heads_view const to(format, memory.data(), shape, order);
    for (std::size_t i = 0; i < n * kv_heads; ++i) {
      to.write(i / kv_heads, i % kv_heads, std::span(numbers).subspan(i * dim, dim));
      to.read(i / kv_heads, i % kv_heads, std::span(read).subspan(i * dim, dim));
    }
  }
  auto exact() const {
    return heads_view(format, static_cast<void const*>(memory.data()), shape, order);
  }
  auto view() const {
    return heads_view(dot_products(format), static_cast<void const*>(memory.data()), shape, order);
  }
};

template <std::size_t Group = 0, class F>
void has_the_stated_error(F const& format) {
  // Rows by four, one by one, and with some that lack; registers and tails of dims; runs, blocks
  // and tails of keys.
  for (std::size_t const q_heads : {2u, 4u, 8u, 6u, 14u}) {
    for (auto const& [n, dims] : {std::pair<std::size_t, std::size_t>{1, 64},
                                  {3, 1},
                                  {37, 19},
                                  {64, 40},
                                  {70, 96},
                                  {130, 128},
                                  {517, 64},
                                  {2047, 8},
                                  {2048, 8},
                                  {2049, 8},
                                  {4097, 8}}) {
      auto const step = std::max<std::size_t>(Group, 1), dim = (dims + step - 1) / step * step;
      random_cache<F> const cache(format, n, dim);
      is_near_doubles<Group>(cache.view(), cache.read, q_heads, n, dim);
    }
  }
}

TEST(dot_products, have_the_error_that_they_state) {
  has_the_stated_error(posenc::int8_per_head{});
  has_the_stated_error(posenc::int8_static{0.01f});
  has_the_stated_error(posenc::u8_per_head{});
  has_the_stated_error<posenc::q8_0::group>(posenc::q8_0{});
}

// A power of 2 in the scale of values is one in the outputs, near the least scales too.
TEST(dot_products, have_small_values_as_exactly_as_large_ones) {
  constexpr std::size_t n = 70, dim = 40, q_heads = 8;
  random_cache<posenc::int8_static> cache({0x1p-7f}, n, dim);
  auto const q = numbers::random<float>(q_heads * dim, 1);
  heads_view<float const> const query(q.data(), {1, q_heads, dim});
  auto const named = cache.view();
  auto const outputs = posenc::attention(query, named, named, posenc::nope()).outputs;
  cache.format.scale = 0x1p-105f;
  auto const of_small = cache.view();
  auto const got = posenc::attention(query, named, of_small, posenc::nope()).outputs;
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], outputs[i] * 0x1p-98f) << i;
}

template <class F>
void is_the_same_in_any_pages_and_split(F const& format, std::size_t n) {
  auto const dim = std::is_same_v<F, posenc::q8_0> ? 96u : 72u;
  constexpr std::size_t q_heads = 8;
  random_cache<F> const cache(format, n, dim), other(format, n, dim, 1);
  auto const q = numbers::random<float>(q_heads * dim, 1);
  heads_view<float const> const query(q.data(), {1, q_heads, dim});
  auto const named = cache.view(), of_other = other.view();
  auto const expected = posenc::attention(query, named, named, posenc::nope()).outputs;
  EXPECT_EQ(posenc::attention(query, of_other, of_other, posenc::nope()).outputs, expected);
  executors::shuffled const executor{1};
  for (std::size_t const count : {2u, 3u, 5u}) {
    posenc::tasks const split(count, executor);
    EXPECT_EQ(posenc::attention(split, query, named, named, posenc::nope()).outputs, expected);
  }
}

TEST(dot_products, are_the_same_in_any_pages_and_split) {
  for (std::size_t const n : {130u, 2049u, 4097u}) {
    is_the_same_in_any_pages_and_split(posenc::int8_per_head{}, n);
    is_the_same_in_any_pages_and_split(posenc::u8_per_head{}, n);
    is_the_same_in_any_pages_and_split(posenc::q8_0{}, n);
  }
}

// Hides all keys but one, another for each head, by scores alone.
struct one_key {
  std::size_t first, keys;
  double bias(std::size_t head, std::int64_t, std::int64_t key) const {
    return static_cast<std::size_t>(key) == (first + 5 * head) % keys ? 0 : -1000;
  }
};

template <class F>
void gives_each_key_its_own_value(F const& format, std::size_t n) {
  constexpr std::size_t dim = 32, q_heads = 6;
  random_cache<F> const cache(format, n, dim);
  auto const q = numbers::random<float>(q_heads * dim, 1);
  auto const named = cache.view();
  for (std::size_t first = 0; first < n; ++first) {
    auto const outputs = posenc::attention(heads_view<float const>(q.data(), {1, q_heads, dim}),
                                           named, named, one_key{first, n})
                             .outputs;
    for (std::size_t h = 0; h < q_heads; ++h) {
      auto const* const value =
          &cache.read[((first + 5 * h) % n * kv_heads + h * kv_heads / q_heads) * dim];
      for (std::size_t i = 0; i < dim; ++i)
        ASSERT_NEAR(outputs[h * dim + i], value[i], tolerance::of_dot_product<float>(6, 2))
            << n << " keys, of token " << first << " head " << h << " dim " << i;
    }
  }
}

TEST(dot_products, give_a_key_that_has_all_the_weight_its_own_value) {
  for (std::size_t const n : {64u, 70u, 511u}) {  // one part: in others rows have other weights
    gives_each_key_its_own_value(posenc::int8_per_head{}, n);
    gives_each_key_its_own_value(posenc::int8_static{0.01f}, n);
    gives_each_key_its_own_value(posenc::u8_per_head{}, n);
    gives_each_key_its_own_value(posenc::q8_0{}, n);
  }
}

template <class F>
void rounds_steps_and_prompts() {
  constexpr std::size_t n = 37, dim = 64, q_heads = 8, prompt = 17;  // 68 rows of a kv head
  random_cache<F> const cache({}, n, dim);
  auto const q = numbers::random<float>(prompt * q_heads * dim, 1);
  auto const named = cache.view();
  auto const are_exact = [&](std::size_t tokens) {
    heads_view<float const> const queries(q.data(), {tokens, q_heads, dim});
    return posenc::attention(queries, named, named, posenc::nope()).outputs ==
           posenc::attention(queries, cache.exact(), cache.exact(), posenc::nope()).outputs;
  };
  EXPECT_EQ(are_exact(prompt), !posenc::has_dot_products);
  EXPECT_EQ(are_exact(5), !posenc::detail::multiplies_bytes);
  EXPECT_EQ(are_exact(1), !posenc::detail::multiplies_bytes);
}

TEST(dot_products, round_steps_and_prompts_where_the_cpu_can) {
  rounds_steps_and_prompts<posenc::int8_per_head>();
  rounds_steps_and_prompts<posenc::q8_0>();
}

// However large a value that a query does not see: of 16 that are read together, or of other
// queries.
template <class F>
void hidden_values_change_nothing() {
  constexpr std::size_t n = 70, dim = 64, q_heads = 8, hidden = 30;
  random_cache<F> cache({}, n, dim);
  auto const q = numbers::random<float>(2 * q_heads * dim, 1);
  std::vector<std::int64_t> positions(n);
  std::iota(positions.begin(), positions.end(), std::int64_t{0});
  positions[hidden] = n;
  auto const outputs = [&](std::size_t queries, std::vector<std::int64_t> const& at) {
    auto const named = cache.view();
    auto all =
        posenc::attention(
            heads_view<float const>(q.data(), {queries, q_heads, dim}), named, named,
            posenc::nope(),
            {.mask = posenc::mask::causal, .query_positions = at, .key_positions = positions})
            .outputs;
    all.resize(q_heads * dim);
    return all;
  };
  constexpr auto last = static_cast<std::int64_t>(n) - 1;
  auto const alone = outputs(1, {last}), beside = outputs(2, {last, last + 1});
  heads_view const to(cache.format, cache.memory.data(), cache.shape, cache.order);
  for (std::size_t head = 0; head < kv_heads; ++head)
    to.write(hidden, head, std::vector<float>(dim, 1e4f));
  EXPECT_EQ(outputs(1, {last}), alone);
  auto const again = outputs(2, {last, last + 1});
  for (std::size_t i = 0; i < again.size(); ++i) EXPECT_NEAR(again[i], beside[i], 1e-5);
}

TEST(dot_products, are_not_changed_by_hidden_values) {
  hidden_values_change_nothing<posenc::int8_per_head>();
  hidden_values_change_nothing<posenc::u8_per_head>();
  hidden_values_change_nothing<posenc::q8_0>();
}

#if !defined(__FAST_MATH__)  // where NaN is not promised
template <class F>
void spreads_what_is_not_finite_to_what_sees_it_alone() {
  constexpr std::size_t n = 70, dim = 64, q_heads = 8;
  random_cache<F> cache({}, n, dim);
  auto q = numbers::random<float>(q_heads * dim, 1);
  auto const outputs = [&](posenc::attention_options const& options = {}) {
    auto const named = cache.view();
    return posenc::attention(heads_view<float const>(q.data(), {1, q_heads, dim}), named, named,
                             posenc::nope(), options)
        .outputs;
  };
  auto const expected = outputs(),
             before = outputs({.mask = posenc::mask::causal, .query_positions = {n - 2}});
  q[2 * dim] = static_cast<float>(not_a_number()), q[5 * dim + 9] = static_cast<float>(infinity());
  auto const got = outputs();
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (i / dim == 2 || i / dim == 5) {
      EXPECT_FALSE(posenc::is_finite(got[i]));
    } else {
      EXPECT_EQ(got[i], expected[i]);
    }
  }
  // A hidden key and value of NaN, whose scales are NaN.
  q = numbers::random<float>(q_heads * dim, 1);
  std::vector<float> const none(dim, static_cast<float>(not_a_number()));
  heads_view const to(cache.format, cache.memory.data(), cache.shape, cache.order);
  to.write(n - 1, 0, none), to.write(n - 1, 1, none);
  auto const hidden = outputs({.mask = posenc::mask::causal, .query_positions = {n - 2}});
  for (std::size_t i = 0; i < hidden.size(); ++i) EXPECT_EQ(hidden[i], before[i]);
  for (auto const x : outputs()) EXPECT_FALSE(posenc::is_finite(x));
}

TEST(dot_products, spread_what_is_not_finite_to_what_sees_it_alone) {
  spreads_what_is_not_finite_to_what_sees_it_alone<posenc::int8_per_head>();
  spreads_what_is_not_finite_to_what_sees_it_alone<posenc::q8_0>();
}
#endif

}  // namespace
}  // namespace of_dot_products
