// Prompts by products of integers of 16 bits, within the errors that dot_products states.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "executors.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/call.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/decode/dot_products.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/constant_temperature.hpp"
#include "tolerance.hpp"

namespace of_many_rows { namespace {

using posenc::dot_products;
using posenc::heads_view;
using posenc::numbers_of;

struct sizes {
  std::size_t queries, keys, heads, kv_heads, dim, value_dim;
};

// Floats of queries, keys and values, which are stored in formats of a cache.
struct problem {
  sizes n;
  std::vector<float> q, k, v;

  explicit problem(sizes const& given)
      : n(given),
        q(numbers::random<float>(n.queries * n.heads * n.dim, 1)),
        k(numbers::random<float>(n.keys * n.kv_heads * n.dim, 2)),
        v(numbers::random<float>(n.keys * n.kv_heads * n.value_dim, 3)) {}
  heads_view<float const> queries() const { return {q.data(), {n.queries, n.heads, n.dim}}; }
};

// Heads in a format: as attention reads them, with dot_products and without, and decoded.
template <class F>
struct stored {
  std::vector<std::byte> memory;
  posenc::heads_shape shape;
  F format;
  std::vector<float> decoded;

  stored(F const& f, std::vector<float> const& numbers, std::size_t tokens, std::size_t heads)
      : shape{tokens, heads, numbers.size() / tokens / heads}, format(f), decoded(numbers) {
    auto bytes = format.bytes(shape.head_dim);
    if constexpr (posenc::scaled_format<F>) bytes += format.scale_bytes(shape.head_dim);
    memory.resize(tokens * heads * bytes);
    heads_view const to(format, static_cast<void*>(memory.data()), shape);
    for (std::size_t i = 0; i < tokens * heads; ++i) {
      std::span const head(decoded.data() + i * shape.head_dim, shape.head_dim);
      to.write(i / heads, i % heads, head);
      to.read(i / heads, i % heads, head);
    }
  }
  auto exact() const { return heads_view(format, static_cast<void const*>(memory.data()), shape); }
  auto rounded() const {
    return heads_view(dot_products(format), static_cast<void const*>(memory.data()), shape);
  }
};

double norm_of(std::span<float const> x, double power) {
  double sum = 0;
  for (auto const number : x) sum += std::pow(std::abs(double{number}), power);
  return std::pow(sum, 1 / power);
}
double largest_of(std::span<float const> x) {
  double most = 0;
  for (auto const number : x) most = std::max(most, std::abs(double{number}));
  return most;
}

// Each score and output against doubles, within the bound of the header beside the roundings of
// floats. Causal, as the options are by default.
template <class F>
void is_within_its_bounds(problem const& p, F const& format) {
  auto const& n = p.n;
  stored<F> const k(format, p.k, n.keys, n.kv_heads), v(format, p.v, n.keys, n.kv_heads);
  auto const keys = k.rounded(), values = v.rounded();
  auto const got = posenc::attention(p.queries(), keys, values, posenc::nope()),
             kept = posenc::attention(p.queries(), keys, values, posenc::nope(),
                                      {.keep_scores = true});
  auto const dim = static_cast<double>(n.dim), scale = 1 / std::sqrt(dim);
  constexpr auto u = tolerance::unit_roundoff<float>();
  for (std::size_t t = 0; t < n.queries; ++t) {
    for (std::size_t h = 0; h < n.heads; ++h) {
      auto const row = t * n.heads + h, kv_head = h * n.kv_heads / n.heads,
                 seen = n.keys - n.queries + t + 1;
      std::span const query(p.q.data() + row * n.dim, n.dim);
      auto const s_q = norm_of(query, 2) / 32766;
      std::vector<double> e(seen);
      double most = 0, sum = 0, worst = 0;
      for (std::size_t s = 0; s < seen; ++s) {
        std::span const key(k.decoded.data() + (s * n.kv_heads + kv_head) * n.dim, n.dim);
        auto const s_k = norm_of(key, 2) / 32766;
        double score = 0, magnitude = 0;
        for (std::size_t i = 0; i < n.dim; ++i) {
          score += double{query[i]} * double{key[i]};
          magnitude += std::abs(double{query[i]} * double{key[i]});
        }
        auto const error =
            scale * (s_q / 2 * norm_of(key, 1) + s_k / 2 * norm_of(query, 1) + dim * s_q * s_k / 4 +
                     tolerance::of_dot_product<float>(n.dim, 2 * magnitude));
        worst = std::max(worst, error);
        e[s] = scale * score;
        ASSERT_NEAR(kept.scores[(h * n.queries + t) * n.keys + s], e[s], error);
      }
      for (auto const x : e) most = std::max(most, x);
      for (auto& x : e) sum += x = std::exp(x - most);
      ASSERT_NEAR(got.log_sum_exp[row], most + std::log(sum),
                  worst + 64 * u * (1 + std::abs(most)));
      // m: of a part of 512 keys; of all keys here, which is at least as much.
      double m = 0;
      std::vector<double> of_value(seen);
      for (std::size_t s = 0; s < seen; ++s) {
        of_value[s] =
            largest_of({v.decoded.data() + (s * n.kv_heads + kv_head) * n.value_dim, n.value_dim}) /
            4095;
        m = std::max(m, e[s] * of_value[s]);
      }
      for (std::size_t i = 0; i < n.value_dim; ++i) {
        double output = 0, error = 0, magnitude = 0;
        for (std::size_t s = 0; s < seen; ++s) {
          auto const x = double{v.decoded[(s * n.kv_heads + kv_head) * n.value_dim + i]};
          output += e[s] * x, magnitude += e[s] * std::abs(x);
          error += e[s] * of_value[s] / 2;
          if (of_value[s] != 0) error += m / 16382 * (std::abs(x) / of_value[s] + 1);
        }
        error = error * std::exp(2 * worst) + magnitude * std::expm1(2 * worst) +
                tolerance::of_dot_product<float>(n.keys, 4 * magnitude);
        for (auto const* result : {&got, &kept})
          ASSERT_NEAR(result->outputs[row * n.value_dim + i], output / sum, error / sum)
              << t << " " << h << " " << i;
      }
    }
  }
}

TEST(dot_products_of_many_rows, are_within_their_bounds) {
  // Rows and keys beside blocks and parts, dims beside registers, odd ones too.
  for (sizes const& n : {sizes{40, 40, 1, 1, 32, 32},
                         {70, 130, 2, 1, 64, 96},
                         {33, 600, 4, 2, 32, 64},
                         {150, 513, 1, 1, 160, 32}}) {
    problem const p(n);
    is_within_its_bounds(p, numbers_of<float>{});
    is_within_its_bounds(p, posenc::q8_0{});
  }
  is_within_its_bounds(problem({37, 75, 2, 2, 96, 64}), numbers_of<posenc::bfloat16>{});
  for (sizes const& n : {sizes{34, 35, 1, 1, 1, 1},
                         {33, 33, 1, 1, 7, 5},
                         {35, 40, 1, 1, 17, 33},
                         {33, 64, 1, 1, 257, 65}})
    is_within_its_bounds(problem(n), numbers_of<float>{});
}

// The rms of the difference of outputs, relative to that of the exact ones.
double rms_error(problem const& p) {
  auto const& n = p.n;
  stored<numbers_of<float>> const k({}, p.k, n.keys, n.kv_heads), v({}, p.v, n.keys, n.kv_heads);
  auto const keys = k.rounded(), values = v.rounded();
  auto const exact_keys = k.exact(), exact_values = v.exact();
  auto const got = posenc::attention(p.queries(), keys, values, posenc::nope()),
             exact = posenc::attention(p.queries(), exact_keys, exact_values, posenc::nope());
  double of_errors = 0, of_all = 0;
  for (std::size_t i = 0; i < got.outputs.size(); ++i) {
    of_errors += std::pow(double{got.outputs[i]} - double{exact.outputs[i]}, 2);
    of_all += std::pow(double{exact.outputs[i]}, 2);
  }
  return std::sqrt(of_errors / of_all);
}

TEST(dot_products_of_many_rows, are_off_by_less_than_7e_4_for_any_kind_of_heads) {
  sizes const n{64, 512, 2, 1, 128, 128};
  auto const changed = [&](auto const& change) {
    problem p(n);
    change(p);
    return rms_error(p);
  };
  auto const times = [](std::vector<float>& x, float by) {
    for (auto& number : x) number *= by;
  };
  EXPECT_LT(changed([](problem&) {}), 7e-4);
  EXPECT_LT(changed([&](problem& p) { times(p.q, 0.25f); }), 7e-4);
  EXPECT_LT(changed([&](problem& p) { times(p.q, 12); }), 7e-4);
  // The same bits but for powers of two, far from ordinary numbers.
  EXPECT_LT(changed([&](problem& p) { times(p.q, 0x1p-40f), times(p.k, 0x1p+40f); }), 7e-4);
  EXPECT_LT(changed([&](problem& p) { times(p.v, 0x1p-40f); }), 7e-4);
  EXPECT_LT(changed([&](problem& p) { times(p.v, 0x1p+40f); }), 7e-4);
  // Outliers in some dims, as trained keys have; a large mean; one huge value that nobody attends
  // to.
  EXPECT_LT(changed([&](problem& p) {
              for (std::size_t i = 0; i < p.k.size(); i += 128)
                for (std::size_t d = 0; d < 40; ++d) p.k[i + d] *= 20;
              times(p.q, 0.1f);
            }),
            7e-4);
  EXPECT_LT(changed([](problem& p) {
              for (auto& x : p.v) x += 10;
            }),
            7e-4);
  EXPECT_LT(changed([](problem& p) {
              for (std::size_t i = 0; i < 128; ++i) p.v[i] = 1000, p.k[i] = 0;
              for (std::size_t t = 0; t < p.n.keys; ++t) p.k[t * 128] = t == 0 ? -30.0f : 1.0f;
              for (std::size_t row = 0; row < p.n.queries * p.n.heads; ++row) p.q[row * 128] = 30;
            }),
            7e-4);
}

// Heads apart have products of floats: a result as that without dot_products, in which zeros,
// huge, tiny and no numbers are where they were.
TEST(dot_products_of_many_rows, of_heads_apart_are_as_without) {
  sizes const n{40, 600, 2, 1, 32, 32};
  auto const spoilt = [&](std::function<void(problem&)> const& change, bool has_numbers) {
    problem p(n);
    change(p);
    stored<numbers_of<float>> const k({}, p.k, n.keys, 1), v({}, p.v, n.keys, 1);
    auto const keys = k.rounded(), values = v.rounded();
    auto const exact_keys = k.exact(), exact_values = v.exact();
    auto const got = posenc::attention(p.queries(), keys, values, posenc::nope()).outputs,
               exact =
                   posenc::attention(p.queries(), exact_keys, exact_values, posenc::nope()).outputs;
    for (std::size_t i = 0; i < got.size(); ++i) {
      auto const x = double{exact[i]}, y = double{got[i]};
      ASSERT_EQ(posenc::is_finite(x), posenc::is_finite(y)) << i << " " << x << " " << y;
      ASSERT_TRUE(posenc::is_finite(x) || !has_numbers) << i;
      if (posenc::is_finite(x)) {
        ASSERT_NEAR(y, x, 2e-3 * std::max(std::abs(x), 1.0)) << i;
      }
    }
  };
  auto const fill = [](std::vector<float>& x, std::size_t from, std::size_t count, float with) {
    std::fill_n(x.data() + from * 32, count * 32, with);
  };
  spoilt([&](problem& p) { fill(p.k, 0, 600, 0), fill(p.q, 0, 80, 0); }, true);
  spoilt([&](problem& p) { fill(p.v, 0, 300, 0); }, true);
  spoilt([&](problem& p) { fill(p.k, 5, 3, 1e-30f), fill(p.v, 7, 3, 1e-30f); }, true);
  spoilt([&](problem& p) { fill(p.k, 500, 70, 1e-41f), fill(p.q, 3, 2, 1e-41f); }, true);
  spoilt([&](problem& p) { fill(p.q, 4, 1, 1e20f), fill(p.k, 0, 600, 1e-20f); }, true);
  spoilt([&](problem& p) { fill(p.v, 40, 1, 1e30f); }, true);
  spoilt([&](problem& p) { p.k[570 * 32 + 3] = static_cast<float>(not_a_number()); }, false);
  spoilt([&](problem& p) { p.v[590 * 32 + 3] = static_cast<float>(not_a_number()); }, false);
  spoilt([&](problem& p) { p.v[590 * 32 + 3] = static_cast<float>(infinity()); }, false);
  spoilt([&](problem& p) { p.k[580 * 32 + 3] = static_cast<float>(minus_infinity()); }, false);
  spoilt([&](problem& p) { p.q[20 * 32 + 3] = static_cast<float>(not_a_number()); }, false);
}

// What no query sees may be anything.
TEST(dot_products_of_many_rows, do_not_see_what_is_hidden) {
  sizes const n{36, 80, 1, 1, 32, 32};
  problem const p(n);
  auto spoilt = p;
  for (std::size_t i = 0; i < 8 * 32; ++i)
    spoilt.k[i] = spoilt.v[i] = static_cast<float>(not_a_number());
  auto const of = [&](problem const& given) {
    stored<numbers_of<float>> const k({}, given.k, n.keys, 1), v({}, given.v, n.keys, 1);
    auto const keys = k.rounded(), values = v.rounded();
    return posenc::attention(p.queries(), keys, values, posenc::nope(),
                             {.mask = posenc::mask::window(36, 0)})
        .outputs;
  };
  EXPECT_EQ(of(p), of(spoilt));
}

// A token without a slot is no key, in whatever order the pages are.
TEST(dot_products_of_many_rows, may_lie_in_pages_with_gaps) {
  sizes const n{40, 90, 1, 1, 32, 32};
  problem const p(n);
  stored<posenc::q8_0> const k({}, p.k, n.keys, 1), v({}, p.v, n.keys, 1);
  std::vector<std::int64_t> slots(n.keys);
  for (std::size_t t = 0; t < n.keys; ++t)
    slots[t] = t % 7 == 3 ? -1 : static_cast<std::int64_t>(n.keys - 1 - t);
  auto const paged = [&](auto const& of, auto const& format) {
    return heads_view(format, static_cast<void const*>(of.memory.data()),
                      posenc::pages_shape{n.keys, 1, 1, 32}, slots);
  };
  auto const keys = paged(k, dot_products(posenc::q8_0{})),
             values = paged(v, dot_products(posenc::q8_0{}));
  auto const exact_keys = paged(k, posenc::q8_0{}), exact_values = paged(v, posenc::q8_0{});
  auto const got = posenc::attention(p.queries(), keys, values, posenc::nope()).outputs,
             exact =
                 posenc::attention(p.queries(), exact_keys, exact_values, posenc::nope()).outputs;
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], exact[i], 1e-3);
}

TEST(dot_products_of_many_rows, have_the_same_bits_for_any_tasks) {
  sizes const n{300, 1100, 4, 2, 64, 64};
  problem const p(n);
  stored<posenc::q8_0> const k({}, p.k, n.keys, 2), v({}, p.v, n.keys, 2);
  auto const keys = k.rounded(), values = v.rounded();
  posenc::alibi const encoding(4);
  auto const expected = posenc::attention(p.queries(), keys, values, encoding).outputs;
  for (std::size_t const count : {2u, 3u, 7u}) {
    posenc::tasks const split(count, executors::shuffled{1});
    EXPECT_EQ(posenc::attention(split, p.queries(), keys, values, encoding).outputs, expected);
  }
}

// Memory may have anything, NaN too: the ends of windows make registers read beyond what is
// written.
TEST(dot_products_of_many_rows, do_not_see_what_was_in_memory) {
  for (auto const& [queries, keys, behind] :
       {std::array<std::size_t, 3>{66, 168, 17}, {44, 443, 253}, {45, 625, 210}, {156, 657, 37}}) {
    problem const p({queries, keys, 1, 1, 8, 16});
    stored<numbers_of<float>> const k({}, p.k, keys, 1), v({}, p.v, keys, 1);
    auto const k_view = k.rounded(), v_view = v.rounded();
    posenc::nope const encoding;
    std::vector<float> outputs(queries * 16);
    posenc::attention_call const call(
        p.queries(), k_view, v_view, heads_view<float>(outputs.data(), {queries, 1, 16}), encoding,
        {.mask = posenc::mask::window(static_cast<std::int64_t>(behind), 0)});
    std::vector<float> of_zeros;
    for (auto const byte : {std::byte{0}, std::byte{0xff}}) {
      std::vector<std::byte> memory(posenc::attention_bytes(call, 1), byte);
      posenc::attend(posenc::tasks(1, executors::shuffled{1}), call, memory);
      if (of_zeros.empty()) of_zeros = outputs;
    }
    EXPECT_EQ(outputs, of_zeros) << queries << " " << keys;
  }
}

// Whole rows, as a temperature asks for them: each part's weights are rounded in their turn.
TEST(dot_products_of_many_rows, may_be_of_whole_rows) {
  sizes const n{40, 1100, 1, 1, 64, 64};
  problem const p(n);
  stored<numbers_of<posenc::bfloat16>> const k({}, p.k, n.keys, 1), v({}, p.v, n.keys, 1);
  auto const keys = k.rounded(), values = v.rounded();
  auto const exact_keys = k.exact(), exact_values = v.exact();
  posenc::constant_temperature const encoding(2);
  auto const got = posenc::attention(p.queries(), keys, values, encoding).outputs,
             exact = posenc::attention(p.queries(), exact_keys, exact_values, encoding).outputs;
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], exact[i], 1e-3);
}

// Keys alone, or values alone, and keys that an encoding changes.
TEST(dot_products_of_many_rows, may_be_of_one_side) {
  sizes const n{40, 100, 1, 1, 64, 64};
  problem const p(n);
  stored<posenc::q8_0> const k({}, p.k, n.keys, 1), v({}, p.v, n.keys, 1);
  auto const keys = k.rounded(), values = v.rounded();
  auto const exact_keys = k.exact(), exact_values = v.exact();
  auto const exact =
      posenc::attention(p.queries(), exact_keys, exact_values, posenc::nope()).outputs;
  auto const of_keys = posenc::attention(p.queries(), keys, exact_values, posenc::nope()).outputs,
             of_values = posenc::attention(p.queries(), exact_keys, values, posenc::nope()).outputs;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    ASSERT_NEAR(of_keys[i], exact[i], 1e-3);
    ASSERT_NEAR(of_values[i], exact[i], 1e-3);
  }
  if (posenc::has_dot_products) {
    EXPECT_NE(of_keys, exact);
    EXPECT_NE(of_values, exact);
    EXPECT_NE(of_keys, of_values);
  } else {
    EXPECT_EQ(of_keys, exact);
    EXPECT_EQ(of_values, exact);
  }
}

}  // namespace
}  // namespace of_many_rows
