// Attention to keys and values in pages is attention to the same keys and values in a row, bit for
// bit: the order of its arithmetic goes by tokens, not by where they are.

#include "posenc/attention/detail/dense_heads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "attention/any_encoding.hpp"
#include "attention/random_heads.hpp"
#include "attention/same_results.hpp"
#include "executors.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/detail/block_attention.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/attention_sinks.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using slots = std::vector<std::int64_t>;

enum class order { tokens_first, heads_first };

/// Distinct slots for `tokens` in no order, out of as many pages as it takes and two more.
slots random_slots(std::size_t tokens, std::size_t page_tokens, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  slots all((tokens / page_tokens + 3) * page_tokens);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<std::int64_t>(i);
    std::swap(all[i], all[static_cast<std::size_t>(bits() % (i + 1))]);
  }
  all.resize(tokens);
  return all;
}

/// Heads, [tokens][heads][dim], in pages with gaps; what no token owns is NaN. Of tokens that share
/// a slot the numbers must agree.
template <class S>
class pages {
 public:
  pages(std::vector<S> const& heads, pages_shape shape, order how, slots const& of_tokens)
      : shape_(shape), slots_(of_tokens) {
    auto const dim = static_cast<std::ptrdiff_t>(shape.head_dim),
               many = static_cast<std::ptrdiff_t>(shape.heads),
               rows = static_cast<std::ptrdiff_t>(shape.page_tokens);
    strides_ = how == order::tokens_first ? pages_strides{many * rows * dim + 3, many * dim, dim}
                                          : pages_strides{many * rows * dim, dim, rows * dim};
    for (auto const slot : of_tokens)
      shape_.pages = std::max(shape_.pages, static_cast<std::size_t>(slot / rows) + 1);
    S nan;
    store(nan, static_cast<arithmetic_t<S>>(not_a_number()));
    memory_.assign(shape_.pages * static_cast<std::size_t>(strides_.page), nan);
    for (std::size_t t = 0; t < slots_.size(); ++t) {
      auto const slot = static_cast<std::ptrdiff_t>(slots_[t]),
                 at = slot / rows * strides_.page + slot % rows * strides_.token;
      for (std::size_t head = 0; head < shape.heads; ++head) {
        std::copy_n(heads.begin() + static_cast<std::ptrdiff_t>(t * shape.heads + head) * dim, dim,
                    memory_.begin() + at + static_cast<std::ptrdiff_t>(head) * strides_.head);
      }
    }
  }

  heads_view<S const, in_pages> view() const { return {memory_.data(), shape_, strides_, slots_}; }

 private:
  pages_shape shape_;
  pages_strides strides_;
  slots slots_;
  std::vector<S> memory_;
};

/// Decoding, up to few_rows and beyond, more than a block, less than a tile.
constexpr attention_sizes paged_problems[] = {
    {1, 77, 8, 2, 32, 32},  {2, 40, 4, 1, 19, 33}, {1, 9, 2, 2, 16, 3},
    {5, 7, 4, 2, 6, 4},     {9, 9, 1, 1, 4, 4},    {33, 70, 2, 1, 16, 24},
    {140, 150, 2, 1, 8, 8}, {3, 0, 2, 1, 8, 8},    {0, 5, 2, 1, 8, 8}};

template <class S, class Encoding>
void expect_as_contiguous(attention_sizes const& p, Encoding const& encoding,
                          attention_options options) {
  SCOPED_TRACE(testing::Message() << p.queries << " queries, " << p.keys << " keys, " << p.heads
                                  << " heads over " << p.kv_heads);
  random_heads<S> const x(p);
  auto const of_q = x.q_view(), of_k = x.k_view(), of_v = x.v_view();
  options.keep_scores = options.keep_weights = true;
  if (p.queries > p.keys) options.query_positions = token_positions(slots(p.queries, 3));
  auto const expected = attention(of_q, of_k, of_v, encoding, options);
  for (std::size_t const page_tokens : {1u, 3u, 16u}) {
    for (auto const how : {order::tokens_first, order::heads_first}) {
      auto const at = random_slots(p.keys, page_tokens, page_tokens);
      pages<S> const of_keys(x.k, {1, page_tokens, p.kv_heads, p.head_dim}, how, at),
          of_values(x.v, {1, page_tokens, p.kv_heads, p.value_dim}, how, at);
      expect_same_results(attention(of_q, of_keys.view(), of_values.view(), encoding, options),
                          expected);
      if constexpr (acts_nowhere<Encoding> && std::same_as<S, float>) {
        expect_same_results(attention(of_q, of_k, of_values.view(), encoding, options), expected);
        expect_same_results(attention(of_q, of_keys.view(), of_v, encoding, options), expected);
      }
    }
  }
}

TEST(paged_attention, give_what_contiguous_ones_give_under_encodings_of_every_site) {
  for (auto const& p : paged_problems) {
    expect_as_contiguous<float>(p, nope(), {});
    expect_as_contiguous<float>(p, nope(), {.mask = mask::full});
    expect_as_contiguous<float>(p, alibi(p.heads), {.mask = mask::sliding_window(5)});
    expect_as_contiguous<float>(p, attention_sinks(std::vector<double>(p.heads, 0.5)), {});
    if (p.head_dim % 2 != 0) continue;
    rope<halves> const turning(geometric(p.head_dim, 1e4));
    expect_as_contiguous<float>(p, scheme(turning, alibi(p.heads), adaptive_temperature{}), {});
    expect_as_contiguous<float>(p, scheme(turning, alibi(p.heads)), {.keys_are_encoded = true});
  }
}

TEST(paged_attention, give_what_contiguous_ones_give_in_every_format) {
  for (auto const& p : paged_problems) {
    numbers::in_every_format([&]<class S>() { expect_as_contiguous<S>(p, nope(), {}); });
  }
}

/// Scores of head h, a query and a key, after site 3.
using score_rule =
    std::function<double(std::size_t h, double score, std::int64_t q, std::int64_t k)>;
double as_it_is(std::size_t, double score, std::int64_t, std::int64_t) { return score; }

/// Attention in doubles, of up to two queries with enough keys for parts. Weights that are off by
/// what their scores are off shift outputs by the mean of that, twice at most.
void expect_doubles(random_heads<float> const& x, attention_options const& given,
                    token_positions const& of_keys, attention_result<float> const& got,
                    score_rule const& rule, double sink) {
  constexpr auto unit = tolerance::unit_roundoff<float>();
  auto const& n = x.n;
  auto const dim = static_cast<double>(n.head_dim);
  for (std::size_t row = 0; row < n.queries * n.heads; ++row) {
    auto const at = given.query_positions[row / n.heads];
    auto const head = row % n.heads, kv_head = head / (n.heads / n.kv_heads);
    auto const [nearest, farthest] = given.mask.positions(at);
    std::vector<double> scores, outputs(n.value_dim);
    std::vector<std::size_t> seen;
    for (std::size_t s = 0; s < n.keys; ++s) {
      if (of_keys[s] < nearest || of_keys[s] > farthest) continue;
      double score = 0;
      for (std::size_t i = 0; i < n.head_dim; ++i)
        score += double{x.q[row * n.head_dim + i]} *
                 double{x.k[(s * n.kv_heads + kv_head) * n.head_dim + i]};
      seen.push_back(s), scores.push_back(rule(head, score, at, of_keys[s]));
    }
    double const none = -std::numeric_limits<double>::max();
    auto most = sink, sum = 0.0, error = 0.0;
    for (auto const score : scores) most = std::max(most, score);
    auto const of_sink = sink == none ? 0 : std::exp(sink - most);
    for (auto const score : scores) sum += std::exp(score - most);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      auto const weight = std::exp(scores[i] - most) / (sum + of_sink);
      error += weight * (tolerance::of_dot_product<float>(n.head_dim, dim) +
                         (30 + 5 * std::abs(scores[i]) + 4 * std::abs(scores[i] - most)) * unit);
      for (std::size_t j = 0; j < n.value_dim; ++j)
        outputs[j] += weight * double{x.v[(seen[i] * n.kv_heads + kv_head) * n.value_dim + j]};
    }
    if (seen.empty() && sink == none) {
      EXPECT_TRUE(is_masked(got.log_sum_exp[row])) << row;
    } else {
      EXPECT_NEAR(got.log_sum_exp[row], most + std::log(sum + of_sink), error + unit) << row;
    }
    for (std::size_t j = 0; j < n.value_dim; ++j)
      EXPECT_NEAR(got.outputs[row * n.value_dim + j], outputs[j],
                  seen.empty() ? 0 : 2 * error + tolerance::of_dot_product<float>(n.keys, 1));
  }
}

template <class Encoding>
void expect_parts(std::size_t keys, Encoding const& encoding, attention_options options,
                  score_rule const& rule = as_it_is,
                  double sink = -std::numeric_limits<double>::max()) {
  SCOPED_TRACE(testing::Message() << keys << " keys");
  random_heads<float> x({options.query_positions.size(), keys, 4, 2, 8, 5});
  for (std::size_t i = 0; i < x.v.size(); ++i)  // parts have means of their own
    x.v[i] = x.v[i] / 4 + (i / (2 * 5) / 2048 % 2 == 0 ? 0.75f : -0.5f);
  options.scale = 1;
  auto of_keys = options.key_positions;
  if (of_keys.empty()) of_keys = options.mask.counted(keys);
  auto const expected = attention(x.q_view(), x.k_view(), x.v_view(), encoding, options);
  expect_doubles(x, options, of_keys, expected, rule, sink);
  pages<float> const of_k(x.k, {1, 16, 2, 8}, order::tokens_first, random_slots(keys, 16, 1)),
      of_v(x.v, {1, 16, 2, 5}, order::tokens_first, random_slots(keys, 16, 1));
  for (std::size_t const count : {1u, 2u, 3u, 5u}) {
    executors::shuffled const some{count};
    expect_same_results(
        attention(tasks(count, some), x.q_view(), x.k_view(), x.v_view(), encoding, options),
        expected);
    expect_same_results(
        attention(tasks(count, some), x.q_view(), of_k.view(), of_v.view(), encoding, options),
        expected);
  }
}

TEST(parts_of_keys, add_up_to_attention_in_doubles_in_any_pages_and_split) {
  alibi const biases(4);
  auto const biased = [&](std::size_t h, double score, std::int64_t q, std::int64_t k) {
    return score + biases.bias(h, q - k);
  };
  rope<halves> const turning(geometric(8, 1e4));
  for (std::size_t const keys : {2047u, 2048u, 2049u, 4097u}) {
    auto const last = static_cast<std::int64_t>(keys) - 1;
    expect_parts(keys, nope(), {.query_positions = {last}});
    expect_parts(keys, nope(), {.query_positions = {last - 2047, last}});
    expect_parts(keys, nope(), {.query_positions = {-1, last}});  // sees nothing
    expect_parts(keys, nope(), {.mask = mask::sliding_window(60), .query_positions = {9, last}});
    expect_parts(keys, attention_sinks(std::vector<double>(4, 6.0)),
                 {.query_positions = {-1, last}}, as_it_is, 6.0);
    expect_parts(keys, biases, {.query_positions = {last}}, biased);
    // Positions do not rise: of a part all keys are hidden, and of a query; others are far away.
    token_positions later(slots(keys, 1));
    for (std::size_t s = 0; s < keys; ++s)
      later[s] = s / 2048 == keys / 2048 / 2 ? 30000 : static_cast<std::int64_t>(s);
    expect_parts(keys, biases, {.query_positions = {20000, -1}, .key_positions = later}, biased);
    expect_parts(keys, scheme(turning, biases),
                 {.mask = mask::full, .query_positions = {0}, .keys_are_encoded = true}, biased);
  }
}

#if !defined(__FAST_MATH__)  // where infinities are not promised
TEST(parts_of_keys, are_left_out_where_their_weights_are_0) {
  random_heads<float> x({1, 4097, 4, 2, 8, 5});
  std::fill(x.q.begin(), x.q.end(), 1.0f);
  std::fill_n(x.k.begin(), 2048 * 2 * 8, -100.0f);
  std::fill_n(x.v.begin(), 2048 * 2 * 5, static_cast<float>(infinity()));
  auto const whole =
      attention(x.q_view(), x.k_view(), x.v_view(), nope(), {.scale = 1, .keep_weights = true});
  auto const got = attention(x.q_view(), x.k_view(), x.v_view(), nope(), {.scale = 1});
  for (std::size_t i = 0; i < got.outputs.size(); ++i)
    EXPECT_NEAR(got.outputs[i], whole.outputs[i], tolerance::of_dot_product<float>(4097, 2)) << i;
}
#endif

TEST(paged_attention, may_be_shared_by_sequences) {
  constexpr std::size_t prefix = 11, heads = 2, dim = 16;
  // Two sequences that begin with the same 11 keys, and one or nine of their own.
  auto const distinct = numbers::random<float>((prefix + 1 + 9) * heads * dim, 1);
  auto const own = random_slots(prefix + 1 + 9, 4, 7);
  slots at(own.begin(), own.begin() + prefix + 1);
  at.insert(at.end(), own.begin(), own.begin() + prefix);
  at.insert(at.end(), own.begin() + prefix + 1, own.end());
  std::vector<float> contiguous(distinct.begin(), distinct.begin() + (prefix + 1) * heads * dim);
  contiguous.insert(contiguous.end(), distinct.begin(), distinct.begin() + prefix * heads * dim);
  contiguous.insert(contiguous.end(), distinct.begin() + (prefix + 1) * heads * dim,
                    distinct.end());
  // The same memory under the slots of both.
  pages<float> const both(contiguous, {1, 4, heads, dim}, order::tokens_first, at);
  for (std::size_t const queries : {1u, 9u}) {  // of the second sequence
    auto const q = numbers::random<float>((1 + queries) * 4 * dim, 2);
    heads_view<float const> const of_q(q.data(), {1 + queries, 4, dim}),
        k(contiguous.data(), {2 * prefix + 10, heads, dim});
    attention_options const options{.mask = mask::causal &
                                            mask::packed({1, queries}, {prefix + 1, prefix + 9})};
    scheme const encoding(rope<halves>(geometric(dim, 1e4)), alibi(4));
    expect_same_results(attention(of_q, both.view(), both.view(), encoding, options),
                        attention(of_q, k, k, encoding, options));
  }
}

TEST(paged_attention, pass_gradients_to_the_keys_of_the_call) {
  constexpr attention_sizes p{12, 20, 4, 2, 8, 6};
  random_heads<float> const x(p);
  auto const d = numbers::random<float>(p.queries * p.heads * p.value_dim, 4);
  auto const of_q = x.q_view(), of_k = x.k_view(), of_v = x.v_view();
  heads_view<float const> const of_d(d.data(), {p.queries, p.heads, p.value_dim});
  auto const at = random_slots(p.keys, 3, 5);
  pages<float> const keys(x.k, {1, 3, p.kv_heads, p.head_dim}, order::heads_first, at),
      values(x.v, {1, 3, p.kv_heads, p.value_dim}, order::tokens_first, at);
  scheme const encoding(rope<halves>(geometric(p.head_dim, 1e4)), alibi(p.heads));
  auto const forward = attention(of_q, of_k, of_v, encoding);
  auto const expected = attention_backward(of_q, of_k, of_v, encoding, forward, of_d),
             actual = attention_backward(of_q, keys.view(), values.view(), encoding, forward, of_d);
  expect_same_numbers("q", actual.q, expected.q);
  expect_same_numbers("k", actual.k, expected.k);
  expect_same_numbers("v", actual.v, expected.v);
}

TEST(paged_attention, must_have_the_shape_of_keys_and_values) {
  auto const x = numbers::random<float>(6 * 2 * 8);
  heads_view const q(x.data(), {1, 2, 8});
  slots const all{4, 0, 5}, padded{4, -1, 5}, two{4, 0};
  pages_shape const shape{2, 3, 2, 8};
  heads_view const good(x.data(), shape, all), few(x.data(), shape, two),
      bad(x.data(), shape, padded);
  attention_workspace<float> workspace;
  auto const before = attention(q, good, good, nope(), {}, workspace);
  EXPECT_EQ(message_of([&] { attention(q, good, few, nope(), {}, workspace); }),
            "posenc: attention: values must have the keys' [tokens][heads], [3][2], got [2][2]");
  EXPECT_TRUE(numbers::same_bits(workspace.result.outputs, before.outputs));
  EXPECT_EQ(message_of([&] {
              attention_backward(q, bad, good, nope(), before,
                                 heads_view<float const>(x.data(), {1, 2, 8}));
            }),
            "posenc: attention_backward: keys and values must all have a slot");
}

/// A key without a slot, or whose value has none, is as if it were not there.
TEST(paged_attention, leaves_out_what_has_no_slot) {
  constexpr std::size_t dim = 24, heads = 2, group = 3;
  for (std::size_t const keys : {3u, 40u, 700u, 5000u}) {
    for (std::size_t const queries : {1u, 2u, 30u}) {
      auto memory = numbers::random<float>((keys + 1) * heads * dim, 1);
      std::fill_n(memory.begin(), heads * dim, std::numeric_limits<float>::quiet_NaN());  // slot 0
      auto const q = numbers::random<float>(queries * heads * group * dim, 2);
      slots of_keys, of_values, of_rest;
      for (std::size_t s = 0; s < keys; ++s) {
        auto const slot = static_cast<std::int64_t>(s + 1);
        of_keys.push_back(s % 7 == 1 ? -1 : slot), of_values.push_back(s % 5 == 2 ? -3 : slot);
        if (of_keys.back() > 0 && of_values.back() > 0) of_rest.push_back(slot);
      }
      auto const view = [&](slots const& at) {
        return heads_view<float, in_pages>(memory.data(), {1, keys + 1, heads, dim}, at);
      };
      heads_view<float const> const of_q(q.data(), {queries, heads * group, dim});
      attention_options const all{.mask = mask::full,
                                  .query_positions = std::vector<int>(queries, 0)};
      auto const expected = attention(of_q, view(of_rest), view(of_rest), nope(), all);
      auto const actual = attention(of_q, view(of_keys), view(of_values), nope(), all);
      for (std::size_t i = 0; i < expected.outputs.size(); ++i)
        ASSERT_NEAR(actual.outputs[i], expected.outputs[i], 1e-6f) << keys << ' ' << queries;
      for (std::size_t i = 0; i < expected.log_sum_exp.size(); ++i)
        ASSERT_NEAR(actual.log_sum_exp[i], expected.log_sum_exp[i], 1e-5);
      slots const nowhere(keys, -1);
      auto const none = attention(of_q, view(nowhere), view(of_values), nope(), all);
      EXPECT_EQ(none.outputs, std::vector<float>(none.outputs.size()));
      EXPECT_TRUE(is_masked(none.log_sum_exp[0]));
    }
  }
}

/// An engine has no page yet, or none of this sequence's: nothing is read.
TEST(paged_attention, of_no_page_is_zero_and_all_is_recorded) {
  constexpr std::size_t heads = 2, dim = 8;
  auto const plain = nope();
  for (std::size_t const keys : {1u, 5u, 700u}) {
    for (std::size_t const queries : {1u, 3u, 40u}) {
      slots const nowhere(keys, -1);
      heads_view<float, in_pages> const none(nullptr, {0, 16, heads, dim}, nowhere);
      auto const q = numbers::random<float>(queries * heads * dim, 2);
      heads_view<float const> const of_q(q.data(), {queries, heads, dim});
      attention_options const all{.mask = mask::full,
                                  .query_positions = std::vector<int>(queries, 0)};
      std::vector<float> outputs(q.size(), 9);
      std::vector<float> scores(heads * queries * keys, 9), weights(scores.size(), 9);
      std::vector<double> log_sum_exp(queries * heads, 9);
      auto const expect_nothing = [&](auto const& results) {
        EXPECT_EQ(results.outputs, std::vector<float>(q.size()));
        EXPECT_TRUE(std::ranges::all_of(results.log_sum_exp, is_masked<double>));
      };
      expect_nothing(attention(of_q, none, none, plain, all));
      attention_call const call(of_q, none, none, heads_view<float>(outputs.data(), of_q.shape()),
                                plain, all,
                                {.log_sum_exp = log_sum_exp, .scores = scores, .weights = weights});
      std::vector<std::byte> memory(attention_bytes(call, 3), std::byte{0xff});
      executors::on_threads const pool{};
      attend(tasks(3, pool), call, memory);
      expect_nothing(attention_result<float>{outputs, log_sum_exp, {}, {}});
      EXPECT_TRUE(std::ranges::all_of(scores, is_masked<float>));
      EXPECT_EQ(weights, std::vector<float>(weights.size()));
    }
  }
}

TEST(copied_heads, are_dense_and_in_the_type_that_is_computed_with) {
  std::vector<bfloat16> numbers;  // [heads][tokens][dim]
  for (int i = 0; i < 12; ++i) numbers.push_back(bfloat16(static_cast<float>(i)));
  heads_view<bfloat16 const> const x(numbers.data(), {.tokens = 3, .heads = 2, .head_dim = 2},
                                     {.token = 2, .head = 6});
  std::vector<float> copy(99);
  auto const view = detail::copied<float>(copy, x);
  EXPECT_EQ(copy, (std::vector<float>{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}));
  EXPECT_EQ(view.data(), copy.data());
  EXPECT_EQ(view(2, 1)[0], 10);
}

TEST(copied_heads, are_not_made_of_what_can_be_computed_with) {
  std::vector<float> const numbers{1, 2, 3, 4};
  heads_view<float const> const x(numbers.data(), {.tokens = 2, .heads = 1, .head_dim = 2});
  std::vector<float> copy;
  EXPECT_EQ(detail::as_computed(copy.data(), x).data(), numbers.data());
  std::vector<half> const halves(4);
  std::vector<float> widened(4);
  heads_view<half const> const y(halves.data(), x.shape());
  auto const wide = detail::as_computed(widened.data(), y);
  EXPECT_EQ(wide.data(), widened.data());
}

namespace in_tasks {

using namespace posenc;
using encodings::any_encoding;

/// Decoding, up to few_rows and beyond, blocks and more, less than a tile.
constexpr attention_sizes split_problems[] = {
    {1, 77, 8, 2, 32, 32}, {2, 40, 4, 1, 19, 33},  {1, 30, 9, 9, 16, 3},  {9, 9, 1, 1, 4, 4},
    {9, 9, 3, 3, 4, 4},    {140, 150, 2, 1, 8, 8}, {70, 80, 16, 2, 8, 8}, {3, 0, 2, 1, 8, 8}};

template <class S, class Encoding>
void expect_same_in_tasks(attention_sizes const& p, Encoding const& encoding,
                          attention_options options = {}) {
  SCOPED_TRACE(testing::Message() << p.queries << " queries, " << p.keys << " keys, " << p.heads
                                  << " heads over " << p.kv_heads);
  random_heads<S> const x(p);
  options.keep_scores = options.keep_weights = true;
  if (p.queries > p.keys) options.query_positions = std::vector<std::int64_t>(p.queries, 3);
  auto const expected = attention(x.q_view(), x.k_view(), x.v_view(), encoding, options);
  attention_workspace<arithmetic_t<S>> workspace;
  executors::in_every_split([&](auto const& split) {
    expect_same_results(
        attention(split, x.q_view(), x.k_view(), x.v_view(), encoding, options, workspace),
        expected);
  });
}

TEST(attention_in_tasks, gives_the_bits_of_one_under_encodings_of_every_site) {
  for (auto const& p : split_problems) {
    expect_same_in_tasks<float>(p, nope());
    expect_same_in_tasks<float>(p, alibi(p.heads), {.mask = mask::sliding_window(5)});
    if (p.head_dim % 2 != 0) continue;
    rope<halves> const turning(geometric(p.head_dim, 1e4));
    expect_same_in_tasks<float>(p, scheme(turning, alibi(p.heads), adaptive_temperature{}));
  }
}

TEST(attention_in_tasks, gives_the_bits_of_one_in_other_formats) {
  for (auto const& p : split_problems) {
    expect_same_in_tasks<double>(p, nope());
    expect_same_in_tasks<bfloat16>(p, nope());
  }
}

TEST(attention_in_tasks, takes_a_prepared_encoding_and_pages) {
  constexpr attention_sizes p{40, 40, 4, 2, 8, 8};
  random_heads<float> const x(p);
  std::vector<std::int64_t> at(p.keys);
  for (std::size_t t = 0; t < at.size(); ++t) at[t] = static_cast<std::int64_t>(t);
  heads_view const k(x.k.data(), {10, 4, p.kv_heads, p.head_dim}, at),
      v(x.v.data(), {10, 4, p.kv_heads, p.value_dim}, at);
  scheme const encoding(rope<halves>(geometric(p.head_dim, 1e4)), alibi(p.heads));
  prepared_encoding<float, decltype(encoding)> const step(encoding, at, at);
  auto const expected = attention(x.q_view(), x.k_view(), x.v_view(), encoding);
  executors::in_every_split([&](auto const& split) {
    attention_workspace<float> workspace;
    expect_same_results(attention(split, x.q_view(), k, v, step, {}, workspace), expected);
  });
}

/// Throws amid the work.
struct fails {
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    if (row.head == 1) throw std::invalid_argument("head 1 fails");
  }
};

TEST(attention_in_tasks, throws_what_an_encoding_throws_when_all_have_ended) {
  random_heads<float> const x({9, 9, 3, 3, 4, 4});
  executors::in_every_split([&](auto const& split) {
    EXPECT_EQ(message_of([&] {
                attention(split, x.q_view(), x.k_view(), x.v_view(), any_encoding(fails()));
              }),
              "head 1 fails");
  });
}

TEST(attention_in_tasks, refuses_what_attention_does_before_any_task) {
  random_heads<float> const x({9, 9, 3, 3, 4, 4});
  auto const never = [](std::size_t, task const&) { ADD_FAILURE() << "a task was begun"; };
  EXPECT_EQ(
      message_of([&] { attention(tasks(2, never), x.q_view(), x.k_view(), x.v_view(), alibi(2)); }),
      message_of([&] { attention(x.q_view(), x.k_view(), x.v_view(), alibi(2)); }));
}

}  // namespace in_tasks
}  // namespace
