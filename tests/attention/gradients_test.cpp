#include "posenc/attention/gradients.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention/any_encoding.hpp"
#include "attention/by_reference.hpp"
#include "attention/random_heads.hpp"
#include "attention/uncopied.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/rotary.hpp"
#include "posenc/attention/merge.hpp"
#include "posenc/attention/rules.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/query_key/m_rope.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/query_key/unprojected.hpp"
#include "posenc/query_key/xpos.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/bias_matrix.hpp"
#include "posenc/score/cope.hpp"
#include "posenc/score/forget_gates.hpp"
#include "posenc/score/key_bias.hpp"
#include "posenc/score/scale_invariant.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/attention_sinks.hpp"
#include "posenc/softmax/constant_temperature.hpp"
#include "rejects.hpp"
#include "site_2.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using by_reference::positions, encodings::any_encoding, encodings::together;
using sizes = attention_sizes;

/// Inputs of attention, and the gradient of a loss that is linear in its outputs.
struct inputs : random_heads<double> {
  explicit inputs(sizes const& given)
      : random_heads<double>(given),
        d(numbers::random<double>(n.queries * n.heads * n.value_dim, 4)) {}

  heads_view<double const> d_view() const { return {d.data(), {n.queries, n.heads, n.value_dim}}; }

  auto attended(auto const& encoding, attention_options const& options = {}) const {
    return attention(q_view(), k_view(), v_view(), encoding, options);
  }
  auto gradients(auto const& encoding, attention_options const& options = {}) const {
    return attention_backward(q_view(), k_view(), v_view(), encoding, attended(encoding, options),
                              d_view(), options);
  }
  long double loss(auto const& encoding, attention_options const& options = {}) const {
    auto const outputs = attended(encoding, options).outputs;
    return std::inner_product(d.begin(), d.end(), outputs.begin(), 0.0L, std::plus<>(),
                              [](double a, double b) {
                                return static_cast<long double>(a) * static_cast<long double>(b);
                              });
  }

  std::vector<double> d;
};

/// Gradients against D(h) = (loss(x + h) - loss(x - h)) / 2h for each number x. D(h) is off by h^2
/// / 6 times a third derivative, and D(2h) - D(h) is three times that. And by what the losses are
/// off by, which h divides: numbers and scores within 20 and right but for (head_dim + 20)
/// roundings, so weights, values within [-1, 1] summed with them, outputs summed with d.
void expect_differences(std::string const& name, inputs& x,
                        attention_gradients<double> const& actual, auto const& loss) {
  SCOPED_TRACE(name);
  auto const& n = x.n;
  constexpr double h = 1e-4;
  auto const of_output =
      tolerance::of_weight_by_scores(1, tolerance::of_dot_product<double>(n.head_dim + 18, 20)) +
      tolerance::of_weight<double>(1, 40, n.keys) + tolerance::of_dot_product<double>(n.keys, 1);
  double magnitude = 0;
  for (auto const d : x.d) magnitude += std::abs(d);
  auto const expect = [&](char const* of, std::vector<double>& moved,
                          std::vector<double> const& gradients) {
    ASSERT_EQ(gradients.size(), moved.size());
    for (std::size_t i = 0; i < moved.size(); ++i) {
      auto const here = moved[i];
      auto const at = [&](double step) {
        moved[i] = here + step;
        return loss();
      };
      auto const near = static_cast<double>((at(h) - at(-h)) / (2 * h)),
                 far = static_cast<double>((at(2 * h) - at(-2 * h)) / (4 * h));
      moved[i] = here;
      auto const tolerance = std::abs(far - near) + magnitude * of_output / h;
      EXPECT_LT(tolerance, 1e-5) << "says nothing";
      EXPECT_NEAR(gradients[i], near, tolerance) << "gradient " << i << " of " << of;
    }
  };
  expect("q", x.q, actual.q);
  expect("k", x.k, actual.k);
  expect("v", x.v, actual.v);
}
void expect_differences(std::string const& name, sizes const& n, any_encoding const& encoding,
                        attention_options const& options = {},
                        any_encoding const* frozen = nullptr) {
  inputs x(n);
  expect_differences(name, x, x.gradients(encoding, options),
                     [&] { return x.loss(frozen != nullptr ? *frozen : encoding, options); });
}

rope<halves> turning(std::size_t dim = 8) { return rope<halves>(geometric(dim, 100)); }
cope counting() { return cope(numbers::random<float>(5 * 8, 9), 8, 0.7); }

TEST(attention_backward, is_what_a_change_of_a_number_does_under_every_encoding) {
  sizes const n;
  expect_differences("nope", n, nope());
  expect_differences("rope", n, turning());
  expect_differences("rope of a block, interleaved, with a factor", n,
                     rope<interleaved>(frequencies({1, 0.1}, 1.25), rotary_block::from(3)));
  expect_differences("xpos", n, xpos<halves>(geometric(8, 100), {.scale_base = 8}));
  auto const prompt = axis_position_builder<>().text(1).image(2, 2).text(2);
  expect_differences(
      "m_rope", n,
      m_rope<halves>(geometric(8, 100), contiguous_axes(std::vector<std::size_t>{2, 1, 1}),
                     prompt.positions(), prompt.rope_delta()));
  expect_differences("alibi", n, alibi(4));
  expect_differences("soft cap", n, soft_cap(0.7));
  expect_differences("scale-invariant, then soft cap", n,
                     together(scale_invariant(3), soft_cap(0.7)));
  expect_differences("soft cap, then alibi", n, together(soft_cap(0.7), alibi(4)));
  expect_differences("alibi, then soft cap", n, together(alibi(4), soft_cap(0.7)));
  auto const biases = numbers::random<double>(n.heads * n.queries * n.keys, 11);
  expect_differences(
      "a bias of every query and key, then soft cap", n,
      together(attention_bias(std::span(biases), n.heads, n.queries, n.keys), soft_cap(0.7)));
  auto gates = numbers::random<float>(n.keys * n.heads, 12);
  for (auto& gate : gates) gate = -std::abs(gate);
  expect_differences("gates beside the keys, then soft cap", n,
                     together(forget_gates(n.heads), soft_cap(0.7)),
                     {.key_side = {gates.data(), {n.keys, n.heads, 1}}});
  expect_differences("cope", n, counting());
  expect_differences("rope, cope, soft cap", n, together(turning(), counting(), soft_cap(0.7)));
  expect_differences("constant temperature", n, constant_temperature(2.5));
  expect_differences("sinks", n, attention_sinks({0.5, -1, 2, 0}));
  expect_differences("all", n,
                     together(alibi(4), turning(), constant_temperature(1.7), soft_cap(2),
                              softmax_off_by_one{}, counting(), constant_temperature(0.8)));
}

TEST(attention_backward, is_what_a_change_of_a_number_does_whatever_is_seen) {
  any_encoding const encoding = together(turning(), counting(), constant_temperature(1.3));
  positions const scattered{4, 0, 6, 2, 5, 1, 3}, repeats{2, 2, 2, 1, 1, 0, 3}, three{3, 0, 5};
  std::vector<std::size_t> const q_lengths{2, 0, 3}, k_lengths{4, 1, 2};
  expect_differences("full", {}, encoding, {.mask = mask::full});
  positions const counted{0, 1, 2, 3, 4};
  expect_differences("window", {}, encoding, {.mask = mask::causal & mask::sliding_window(3)});
  expect_differences("chunks", {}, encoding, {.mask = mask::causal & mask::chunked(3)});
  expect_differences("packed", {}, encoding,
                     {.mask = mask::packed(q_lengths, k_lengths), .query_positions = counted});
  expect_differences("in no order", {.queries = 3}, encoding,
                     {.query_positions = three, .key_positions = scattered});
  expect_differences(
      "window in no order", {.queries = 3}, encoding,
      {.mask = mask::sliding_window(2), .query_positions = three, .key_positions = scattered});
  expect_differences("repeats", {.queries = 3}, encoding,
                     {.query_positions = three, .key_positions = repeats});
  expect_differences("more queries than keys", {.queries = 7, .keys = 3}, encoding,
                     {.query_positions = repeats, .key_positions = three});
  expect_differences("one query", {.queries = 1, .keys = 5, .heads = 1, .kv_heads = 1}, encoding);
  expect_differences("many rows", {.queries = 12, .keys = 12, .heads = 2, .kv_heads = 1}, encoding);
  expect_differences("scaled", {.queries = 3}, encoding, {.scale = -0.6});
  expect_differences("not scored", {.queries = 3}, encoding, {.scale = 0.0});
}

TEST(attention_backward, is_what_a_change_of_a_number_does_under_rules) {
  sizes const n;
  auto const cells = numbers::random<double>(n.heads * n.queries * n.keys, 11);
  auto const bias = numbers::random<float>(n.kv_heads * n.head_dim, 12);
  std::vector<double> const slopes{0.5, 0.25, 0.125, 0.0625}, sinks{-1, 0.5, 2, -0.25};
  key_bias<halves> const of_keys(bias, n.kv_heads, n.heads, geometric(n.head_dim, 100));
  auto const expect = [&](char const* name, attention_rules const& rules) {
    inputs x(n);
    expect_differences(name, x, x.gradients(rules), [&] { return x.loss(rules); });
  };
  attention_rules plain{.sees = mask::window(3, 1),
                        .scale = 0.7,
                        .temperature = {.rule = temperature_rule::ssmax, .scales = slopes},
                        .slopes = slopes,
                        .sinks = sinks,
                        .biases = given_mask(cells.data(), {n.queries, n.heads, n.keys})};
  expect("biases", plain);
  auto capped = plain;
  capped.factor = 1.5, capped.cap = 0.7, capped.tau = 3, capped.key_bias = of_keys;
  expect("all", capped);
  capped.caps_first = true;
  expect("all, cap before slopes", capped);
}

/// Of each row, what another rule said when it was asked first.
struct remembered {
  any_encoding rule;
  std::shared_ptr<std::map<std::pair<std::size_t, std::int64_t>, double>> betas =
      std::make_shared<decltype(betas)::element_type>();
  double inverse_temperature(row_statistics const& row) const {
    return betas->try_emplace({row.head, row.query_position}, rule.inverse_temperature(row))
        .first->second;
  }
};

TEST(attention_backward, holds_the_inverse_temperature_of_each_row) {
  sizes const n{.queries = 6, .keys = 12, .heads = 2, .kv_heads = 1};
  any_encoding const adaptive = together(alibi(2), adaptive_temperature{});
  remembered const memory{adaptive_temperature{}};
  any_encoding const frozen = together(alibi(2), memory);
  inputs(n).attended(frozen);
  EXPECT_TRUE(std::ranges::any_of(*memory.betas, [](auto const& row) { return row.second > 1.1; }));
  expect_differences("adaptive", n, adaptive, {}, &frozen);
}

template <class T>
void expect_reference(by_reference::problem const& given, auto const& encoding) {
  SCOPED_TRACE(given.name);
  by_reference::comparison<T>(given).expect_gradients(encoding);
}

/// One query, a few, more than a block; groups; other value sizes; masks; in and out of order; any
/// strides.
std::vector<by_reference::problem> every_shape() {
  positions shuffled(20);
  for (std::size_t s = 0; s < 20; ++s) shuffled[s] = static_cast<std::int64_t>(7 * s % 20);
  return {{"one query", 1, 20, 4, 2, 6, 5},
          {"causal", 9, 9, 2, 2, 8, 8},
          {"groups", 12, 15, 6, 2, 7, 3},
          {"more than a block", 257, 257, 1, 1, 4, 4},
          {"more than a block of groups", 150, 60, 4, 2, 2, 3, mask::full, positions(150)},
          {"more than a block in no order", 300, 20, 1, 1, 2, 2, mask::causal, positions(300, 7),
           shuffled},
          {"window", 260, 260, 1, 1, 3, 2, mask::causal & mask::sliding_window(20)},
          {"few, padded", 5, 7, 4, 2, 8, 6, mask::causal, {}, {}, {}, memory::padded},
          {"many, heads first", 12, 14, 4, 2, 8, 6, mask::full, {}, {}, {}, memory::heads_first},
          {"many, backwards", 12, 14, 4, 2, 8, 6, mask::full, {}, {}, {}, memory::backwards}};
}

TEST(attention_backward, is_the_references) {
  for (auto const& given : every_shape()) expect_reference<double>(given, nope());
}

/// By how much gradients of these inputs, within [-1, 1] and weights of one sum, may differ where
/// the products are summed in other orders: by the tolerances of the finite differences' losses,
/// through a difference of two, times numbers and summed over all rows and keys.
double of_gradients(sizes const& n) {
  auto const of_weight =
      tolerance::of_weight_by_scores(1, tolerance::of_dot_product<double>(n.head_dim + 18, 20)) +
      tolerance::of_weight<double>(1, 40, n.keys) + tolerance::of_dot_product<double>(n.keys, 1);
  return 4 * static_cast<double>(n.value_dim * (n.queries * n.heads + n.keys)) * of_weight;
}

TEST(attention_backward, lets_gradients_through_embeddings_of_queries_and_of_keys) {
  for (auto const& given : every_shape()) {
    if (given.head_dim % 2 != 0) continue;
    any_encoding const embedding(
        unprojected(sinusoidal<interleaved>(geometric(given.head_dim, 1e4))));
    expect_reference<double>(given, embedding);
    expect_reference<double>(given, together(embedding, alibi(given.heads)));
  }
}

TEST(attention_backward,
     of_embeddings_at_a_temperature_is_that_of_numbers_that_are_embedded_already) {
  inputs x(sizes{});
  sinusoidal<interleaved> const embedding(geometric(x.n.head_dim, 1e4));
  auto const d =
      x.gradients(any_encoding(scheme(unprojected(embedding), constant_temperature(1.7))));
  positions const all{0, 1, 2, 3, 4, 5, 6}, last{2, 3, 4, 5, 6};
  embedding.embed(heads_view<double>(x.q.data(), x.q_view().shape()), last);
  embedding.embed(heads_view<double>(x.k.data(), x.k_view().shape()), all);
  auto const embedded = x.gradients(any_encoding(constant_temperature(1.7)));
  for (std::size_t i = 0; i < d.q.size(); ++i)
    EXPECT_NEAR(d.q[i], embedded.q[i], of_gradients(x.n)) << i;
  for (std::size_t i = 0; i < d.k.size(); ++i)
    EXPECT_NEAR(d.k[i], embedded.k[i], of_gradients(x.n)) << i;
  for (std::size_t i = 0; i < d.v.size(); ++i)
    EXPECT_NEAR(d.v[i], embedded.v[i], of_gradients(x.n)) << i;
}

TEST(attention_backward, copies_no_encoding) {
  inputs const x(sizes{});
  auto const forward = x.attended(nope());
  expect_no_copy([&](auto const& encoding) {
    attention_backward(x.q_view(), x.k_view(), x.v_view(), encoding, forward, x.d_view());
  });
}

// ---- laws

bool all_zero(std::vector<double> const& numbers) {
  return std::ranges::all_of(numbers, [](double x) { return x == 0; });
}

TEST(attention_backward, of_parts_of_the_keys_against_the_merged_result_is_that_of_the_whole) {
  sizes const n{.queries = 6, .keys = 20};
  inputs const x(n);
  positions at(n.keys), last(n.queries);
  std::iota(at.begin(), at.end(), 0), std::iota(last.begin(), last.end(), 14);
  for (any_encoding const& encoding :
       {together(turning(), alibi(4), constant_temperature(1.5)), any_encoding(soft_cap(0.7))}) {
    auto const whole = x.gradients(encoding);
    for (std::size_t const split : {1u, 13u, 17u, 19u}) {
      auto const of_part = [&](std::size_t first, std::size_t count, auto const& what) {
        return what(x.k_view().slice_tokens(first, count), x.v_view().slice_tokens(first, count),
                    attention_options{.query_positions = last,
                                      .key_positions = positions_view(at).subspan(first, count)});
      };
      auto const attended = [&](auto const& k, auto const& v, auto const& options) {
        return attention(x.q_view(), k, v, encoding, options);
      };
      auto const merged =
          merge(of_part(0, split, attended), of_part(split, n.keys - split, attended));
      auto const gradients = [&](auto const& k, auto const& v, auto const& options) {
        return attention_backward(x.q_view(), k, v, encoding, merged, x.d_view(), options);
      };
      auto const a = of_part(0, split, gradients), b = of_part(split, n.keys - split, gradients);
      for (std::size_t i = 0; i < whole.q.size(); ++i)
        EXPECT_NEAR(a.q[i] + b.q[i], whole.q[i], of_gradients(n)) << split << ", q " << i;
      for (std::size_t i = 0; i < whole.k.size(); ++i)
        EXPECT_NEAR(i < a.k.size() ? a.k[i] : b.k[i - a.k.size()], whole.k[i], of_gradients(n))
            << split << ", k " << i;
      for (std::size_t i = 0; i < whole.v.size(); ++i)
        EXPECT_NEAR(i < a.v.size() ? a.v[i] : b.v[i - a.v.size()], whole.v[i], of_gradients(n))
            << split << ", v " << i;
    }
  }
}

/// The same added to every key moves all scores of a row alike, which softmax does not see, unless
/// a sink stands beside them.
TEST(attention_backward, of_all_keys_sums_to_0_without_a_sink) {
  sizes const n;
  auto const sums = [&](any_encoding const& encoding) {
    auto const d = inputs(n).gradients(encoding).k;
    std::vector<double> result(n.kv_heads * n.head_dim);
    for (std::size_t i = 0; i < d.size(); ++i) result[i % result.size()] += d[i];
    return result;
  };
  for (auto const sum : sums(together(alibi(4), constant_temperature(3))))
    EXPECT_NEAR(sum, 0, of_gradients(n));
  EXPECT_TRUE(std::ranges::any_of(sums(softmax_off_by_one{}), [&](double sum) {
    return std::abs(sum) > 1e3 * of_gradients(n);
  }));
}

TEST(attention_backward, points_where_the_loss_grows) {
  for (any_encoding const& encoding :
       {any_encoding(nope()), together(turning(), counting(), soft_cap(2), softmax_off_by_one{})}) {
    inputs x(sizes{});
    auto loss = x.loss(encoding);
    for (int step = 0; step < 20; ++step) {
      auto const d = x.gradients(encoding);
      for (auto const& [numbers, gradients] : {std::pair{&x.q, &d.q}, {&x.k, &d.k}, {&x.v, &d.v}})
        for (std::size_t i = 0; i < numbers->size(); ++i) (*numbers)[i] -= 0.05 * (*gradients)[i];
      auto const next = x.loss(encoding);
      EXPECT_LT(next, loss) << step;
      loss = next;
    }
  }
}

/// One workspace for shapes that shrink and grow, where all queries, those of some blocks, some of
/// a block, or none see nothing.
TEST(attention_backward, in_memory_that_is_kept_is_as_in_new_memory) {
  any_encoding const every_site = together(turning(), counting(), alibi(4), softmax_off_by_one{});
  gradients_workspace<double> workspace;
  auto const expect = [&](sizes const& n, positions const& at, auto const& encoding) {
    SCOPED_TRACE(testing::Message() << n.queries << " queries, " << n.keys << " keys");
    attention_options const options{.query_positions = at};
    inputs const x(n);
    auto const expected = x.gradients(encoding, options);
    auto const result = x.attended(encoding, options);
    auto const& actual = attention_backward(x.q_view(), x.k_view(), x.v_view(), encoding, result,
                                            x.d_view(), options, workspace);
    EXPECT_EQ(&actual, &workspace.result);
    for (auto const& [mine, theirs] :
         {std::pair{&actual.q, &expected.q}, {&actual.k, &expected.k}, {&actual.v, &expected.v}}) {
      ASSERT_EQ(mine->size(), theirs->size());
      // But for what -ffast-math reorders.
      for (std::size_t i = 0; i < mine->size(); ++i)
        EXPECT_NEAR((*mine)[i], (*theirs)[i], 1e-12) << i;
    }
  };
  for (sizes const& n :
       {sizes{}, sizes{.queries = 150, .keys = 160}, sizes{.queries = 20, .keys = 30},
        sizes{.queries = 1, .keys = 3}, sizes{.queries = 0}, sizes{.queries = 20, .keys = 30}}) {
    positions last(n.queries), none(n.queries, -1);
    for (std::size_t t = 0; t < n.queries; ++t)
      last[t] = static_cast<std::int64_t>(n.keys - n.queries + t);
    auto blocks = last, some = last;
    std::fill_n(blocks.begin(), std::min<std::size_t>(n.queries, 72),
                -1);  // 72 queries of a group of two are a block
    for (std::size_t t = 0; t < n.queries; t += 3) some[t] = -1;
    for (auto const& at : {last, blocks, none, some, last})
      expect(n, at, every_site), expect(n, at, nope());
  }
}

// ---- rows that see nothing, and what is not seen

TEST(attention_backward, of_queries_that_see_no_key_is_0_and_gives_none) {
  sizes const n{.queries = 12,
                .keys = 10,
                .heads = 2,
                .kv_heads = 1};  // more rows than are few, and so for each of two queries alone
  positions at(12, -5);
  for (auto const& encoding :
       {any_encoding(nope()), together(turning(), counting(), attention_sinks({1, 2}))}) {
    auto const none = inputs(n).gradients(encoding, {.query_positions = at});
    EXPECT_TRUE(all_zero(none.q) && all_zero(none.k) && all_zero(none.v));
  }
  positions const scattered{3, 1, 4, 0, 9, 2, 6, 5, 8, 7};
  auto const none =
      inputs(n).gradients(nope(), {.query_positions = at, .key_positions = scattered});
  EXPECT_TRUE(all_zero(none.q) && all_zero(none.k) && all_zero(none.v));
  at[4] = 9;
  auto const some = inputs(n).gradients(nope(), {.query_positions = at});
  for (std::size_t i = 0; i < some.q.size(); ++i) EXPECT_EQ(some.q[i] != 0, i / (2 * 8) == 4) << i;
  EXPECT_TRUE(std::ranges::none_of(some.k, [](double x) { return x == 0; }));
  EXPECT_TRUE(std::ranges::none_of(some.v, [](double x) { return x == 0; }));
}

/// Which tokens have a gradient that is not finite.
std::vector<std::size_t> spoilt(std::vector<double> const& d, std::size_t tokens) {
  std::vector<std::size_t> result;
  auto const size = d.size() / tokens;
  for (std::size_t token = 0; token < tokens; ++token) {
    auto const numbers = std::span(d).subspan(token * size, size);
    if (!std::ranges::all_of(numbers, is_finite)) result.push_back(token);
  }
  return result;
}

/// Few rows a kv head and many, in order and not, where keys that are not seen lie between those
/// that are: each is made in another way.
TEST(attention_backward, what_is_not_seen_may_be_anything) {
  for (std::size_t const tokens : {6u, 40u}) {
    for (std::size_t const step : {1u, 7u}) {
      positions at(tokens);
      for (std::size_t i = 0; i < tokens; ++i) at[i] = static_cast<std::int64_t>(i * step % tokens);
      attention_options const options{.mask = mask::causal & mask::sliding_window(3),
                                      .query_positions = at,
                                      .key_positions = at};  // t - 2 to t
      auto const last = static_cast<std::size_t>(std::ranges::max_element(at) - at.begin());
      for (double const anything : {not_a_number(), infinity()}) {
        inputs x({tokens, tokens, 1, 1, 4, 4});
        auto const clean = x.gradients(nope(), options);
        for (auto* const numbers : {&x.q, &x.k, &x.v, &x.d})
          std::ranges::fill(std::span(*numbers).subspan(last * 4, 4), anything);
        auto const d = x.gradients(nope(), options);
        for (std::size_t i = 0; i < tokens * 4; ++i) {
          auto const from_last = at[last] - at[i / 4];
          if (from_last > 2) {
            EXPECT_NEAR(d.k[i], clean.k[i], of_gradients(x.n)) << "key " << i / 4;
            EXPECT_NEAR(d.v[i], clean.v[i], of_gradients(x.n)) << "value " << i / 4;
          }
          if (from_last > 0) {
            EXPECT_NEAR(d.q[i], clean.q[i], of_gradients(x.n)) << "query " << i / 4;
          }
        }
      }
    }
  }
}

/// As tests/fuzz found it: scores times beta beyond the range of doubles, keys that are hidden
/// between those that are seen, and sinks.
TEST(
    attention_backward,
    where_log_sum_exp_leaves_the_range_of_numbers_gradients_are_numbers_and_what_is_not_seen_has_none) {
  for (std::size_t const tokens : {4u, 40u}) {
    positions at(tokens);
    for (std::size_t i = 0; i < tokens; ++i)
      at[i] = static_cast<std::int64_t>(i % 2 == 0 ? i : 1000 + i);  // every other one is hidden
    attention_options const options{.query_positions = at, .key_positions = at};
    for (double const sign : {1.0, -1.0}) {
      for (auto const& encoding : {any_encoding(constant_temperature(10)),
                                   together(constant_temperature(10), attention_sinks({0.5}))}) {
        inputs x({tokens, tokens, 1, 1, 1, 2});
        std::ranges::fill(x.k, sign * 1e154);
        std::ranges::fill(x.q, 0.0), x.q[0] = 1e154,
                                     x.q[tokens - 2] = 1e154;  // each of which sees even ones alone
        auto const d = x.gradients(encoding, options);
        for (auto const* const numbers : {&d.q, &d.k, &d.v})
          EXPECT_TRUE(std::ranges::all_of(*numbers, is_finite));
        auto of_two = x;
        for (std::size_t i = 0; i < x.d.size(); ++i)
          of_two.d[i] = i / 2 == 0 || i / 2 == tokens - 2 ? x.d[i] : 0;
        auto const of_even = of_two.gradients(encoding, options);
        for (std::size_t s = 1; s < tokens; s += 2)
          EXPECT_TRUE(of_even.k[s] == 0 && of_even.v[2 * s] == 0) << "key " << s;
        if (sign > 0) {
          EXPECT_DOUBLE_EQ(of_even.v[2 * (tokens - 2)],
                           x.d[2 * (tokens - 2)] / static_cast<double>(tokens / 2));
        }
      }
    }
  }
}

TEST(attention_backward, what_is_no_number_stays_with_the_rows_that_see_it_and_their_keys) {
#if defined(__FAST_MATH__)
  GTEST_SKIP() << "-ffast-math promises nothing for NaN";
#endif
  using tokens = std::vector<std::size_t>;
  attention_options const options{.mask = mask::causal & mask::sliding_window(2)};  // t - 1 and t
  auto const nan = not_a_number();
  for (std::size_t const count : {8u, 30u}) {
    inputs const clean({count, count, 1, 1, 4, 3});
    auto const spoil = [&](std::vector<double> inputs::*of, std::size_t number) {
      auto x = clean;
      (x.*of)[number] = nan;
      auto const d = x.gradients(nope(), options);
      return std::vector<tokens>{spoilt(d.q, count), spoilt(d.k, count), spoilt(d.v, count)};
    };
    EXPECT_EQ(spoil(&inputs::q, 5 * 4 + 1), (std::vector<tokens>{{5}, {4, 5}, {4, 5}}));
    EXPECT_EQ(spoil(&inputs::d, 5 * 3 + 1), (std::vector<tokens>{{5}, {4, 5}, {4, 5}}));
    EXPECT_EQ(spoil(&inputs::v, 5 * 3 + 1), (std::vector<tokens>{{5, 6}, {4, 5, 6}, {}}));
    EXPECT_EQ(spoil(&inputs::k, 5 * 4 + 1), (std::vector<tokens>{{5, 6}, {4, 5, 6}, {4, 5, 6}}));
  }
}

TEST(attention_backward, what_is_no_number_stays_off_a_key_that_a_negative_slope_hides) {
#if defined(__FAST_MATH__)
  GTEST_SKIP() << "-ffast-math promises nothing for NaN";
#endif
  inputs x({1, 3, 1, 1, 4, 3});
  x.q[1] = not_a_number();
  std::vector<double> const cells{0, infinity(), 0}, slopes{-1};
  auto const cells_of_mask = given_mask(cells.data(), {1, 1, 3}).with_slopes(slopes);
  auto const d = x.gradients(nope(), {.mask = mask::given(cells_of_mask)});
  EXPECT_EQ(spoilt(d.k, 3), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(spoilt(d.v, 3), (std::vector<std::size_t>{0, 2}));
}

TEST(attention_backward, of_nothing_is_empty_and_of_no_keys_or_no_queries_0) {
  for (auto const& n : {sizes{.queries = 0}, sizes{.keys = 0}}) {
    positions const at(n.queries);
    auto const d = inputs(n).gradients(nope(), {.query_positions = at});
    EXPECT_EQ(d.q.size(), n.queries * n.heads * n.head_dim);
    EXPECT_EQ(d.k.size(), n.keys * n.kv_heads * n.head_dim);
    EXPECT_EQ(d.v.size(), n.keys * n.kv_heads * n.value_dim);
    EXPECT_TRUE(all_zero(d.q) && all_zero(d.k) && all_zero(d.v));
  }
}

// ---- bad input

TEST(attention_backward, rejects_what_attention_does_and_gradients_or_results_of_other_shapes) {
  inputs const x(sizes{});
  auto const forward = x.attended(nope());
  auto const rejected = [&](heads_view<double const> const& k,
                            attention_result<double> const& result, heads_shape const& d) {
    return message_of([&] {
      attention_backward(x.q_view(), k, x.v_view(), nope(), result,
                         heads_view<double const>(x.d.data(), d));
    });
  };
  heads_shape const right{5, 4, 6};
  EXPECT_EQ(rejected({x.k.data(), {7, 2, 6}}, forward, right),
            "posenc: attention_backward: keys must have the queries' head_dim 8, got 6");
  for (auto const& [shape, got] : {std::pair{heads_shape{4, 4, 6}, "[4][4][6]"},
                                   {{5, 3, 6}, "[5][3][6]"},
                                   {{5, 4, 5}, "[5][4][5]"}}) {
    EXPECT_EQ(rejected(x.k_view(), forward, shape),
              std::string("posenc: attention_backward: d_outputs must be [5][4][6], got ") + got);
  }
  auto shorter = forward, fewer = forward;
  shorter.outputs.pop_back(), fewer.log_sum_exp.pop_back();
  EXPECT_EQ(rejected(x.k_view(), shorter, right),
            "posenc: attention_backward: forward must have 120 outputs and 20 log_sum_exp, got 119 "
            "and 20");
  EXPECT_EQ(rejected(x.k_view(), fewer, right),
            "posenc: attention_backward: forward must have 120 outputs and 20 log_sum_exp, got 120 "
            "and 19");
  EXPECT_EQ(message_of([&] {
              attention_backward(x.q_view(), x.k_view(), x.v_view(), alibi(8), forward, x.d_view());
            }),
            "posenc: attention_backward: the encoding must have 4 heads, got 8");
  EXPECT_EQ(message_of([&] { inputs(sizes{}).gradients(any_encoding(alibi(3))); }),
            "posenc: adjust_scores: the head must be below 3, got 3");
}

namespace in_float {

using namespace posenc;

TEST(attention_backward_in_float, is_the_references) {
  for (auto const& given : every_shape()) expect_reference<float>(given, nope());
}

TEST(attention_backward_in_float, is_the_references_of_numbers_that_are_stored_in_two_bytes) {
  for (by_reference::problem const& given :
       {by_reference::problem{"few", 4, 6, 2, 1, 6, 5}, {"many", 12, 15, 4, 2, 7, 3}}) {
    expect_reference<half>(given, nope());
    expect_reference<bfloat16>(given, nope());
  }
}

TEST(attention_backward_in_float, is_the_references_of_rotated_queries_and_keys_with_biases) {
  for (by_reference::problem const& given :
       {by_reference::problem{"few", 3, 9, 4, 2, 8, 8}, {"two blocks", 140, 145, 4, 2, 4, 3}})
    expect_reference<float>(
        given, scheme(rope<halves>(geometric(given.head_dim, 1e4)), alibi(given.heads)));
}

}  // namespace in_float
}  // namespace
