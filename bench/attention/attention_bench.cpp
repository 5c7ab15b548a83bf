// Attention of a prompt under a causal mask, and of a step of decoding; softmax alone.
// What was tried and gained nothing: .github/DESIGN.md.
#include "posenc/attention/attention.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "baselines.hpp"
#include "cache.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/q4_0.hpp"
#include "posenc/decode/dot_products.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "prompt.hpp"
#include "suites.hpp"

namespace bench {
namespace {

void attend(prompt& p) { posenc::attention(p.q(), p.k(), p.v(), posenc::nope(), {}, p.workspace); }
void attend_by_dots(prompt& p) {
  auto const view = [&](matrix const& of) {
    return posenc::heads_view(posenc::dot_products(posenc::numbers_of<float>{}),
                              static_cast<void const*>(of.data()),
                              posenc::heads_shape{p.tokens, p.kv_heads, attended_dim});
  };
  posenc::attention(p.q(), view(p.x.k), view(p.x.v), posenc::nope(), {}, p.workspace);
}

// Multiply-adds of as many numbers as the two products have, in registers alone.
[[gnu::noinline]] float multiply_add(std::size_t count, float factor) {
  constexpr std::size_t chains = 12;  // more than are in flight, fewer than there are registers
  std::array<floats::number, chains> sums;
  sums.fill(floats::number(1.0f));
  floats::number const x(factor);
  for (std::size_t i = 0; i < count; i += chains * floats::size) {
    for (auto& y : sums) y = floats::multiply_add(y, x, x);
  }
  return sum(sums);
}

void add_prefill(report& r, table const* t, std::size_t n) {
  auto const p = std::make_shared<prompt>(n);
  auto const add =
      [&](std::string line, char const* by, std::size_t items, auto const& pass,
          measured_case const* limit = nullptr, std::vector<measured_case const*> baselines = {},
          std::function<double()> max_error = {}, measured_case const* beside = nullptr) {
        return r.add({.in = t,
                      .line = std::move(line),
                      .column = "n = " + std::to_string(n),
                      .by = by,
                      .items = items,
                      .ways = {passes_of(pass)},
                      .prepare = [] {},
                      .max_error = std::move(max_error),
                      .limit = limit,
                      .baselines = std::move(baselines),
                      .beside = beside});
      };
  std::string const line = "posenc";
  float factor = 0.5f;
  benchmark::DoNotOptimize(factor);
  auto const* const products =
      add(line, "multiply-adds", p->visible(), [factor, count = 2 * p->visible() * attended_dim] {
        benchmark::DoNotOptimize(multiply_add(count, factor));
      });
  std::vector<measured_case const*> baselines{add(line, "two matrices of Eigen", p->visible(), [p] {
    attend_by_matrices(p->x, p->all_scores(), p->outputs);
  })};
  if (n <= 1024) {
    baselines.push_back(
        add(line, "three loops", p->visible(), [p] { attend_by_loops(p->x, p->outputs); }));
  }
  auto const* const contiguous = add(
      line, "posenc", p->visible(), [p] { attend(*p); }, products, baselines,
      [p] {
        attend(*p);
        return p->max_error(p->workspace.result.outputs);
      });
  add(
      "posenc, paged", "posenc", p->visible(),
      [p] {
        posenc::attention(p->q(), p->paged(p->x.k), p->paged(p->x.v), posenc::nope(), {},
                          p->workspace);
      },
      products, baselines, {}, contiguous);
  if (posenc::has_dot_products) {
    add(
        "posenc, dot products", "posenc", p->visible(), [p] { attend_by_dots(*p); }, products,
        baselines,
        [p] {
          attend_by_dots(*p);
          return p->max_error(p->workspace.result.outputs);
        },
        contiguous);
  }
  auto const pairs = n * n;
  auto const* const all_products =
      add("no mask", "multiply-adds", pairs, [factor, count = 2 * pairs * attended_dim] {
        benchmark::DoNotOptimize(multiply_add(count, factor));
      });
  add(
      "no mask", "posenc", pairs,
      [p] {
        posenc::attention(p->q(), p->k(), p->v(), posenc::nope(), {.mask = posenc::mask::full},
                          p->workspace);
      },
      all_products);
}

report_case decode_case(table const* t, std::string line, char const* by, std::size_t keys,
                        std::size_t queries = 1) {
  return {.in = t,
          .line = std::move(line),
          .column = std::to_string(keys) + " keys",
          .by = by,
          .items = keys * cache<float>::heads * queries,
          .ways = {}};
}

// posenc's time beside its two limits; paged, too, where the cache has such a way.
template <class Cache>
void add_decode(report& r, table const* t, std::string const& type, std::shared_ptr<Cache> const& x,
                std::size_t keys) {
  auto limit = decode_case(t, type, "reading the cache", keys);
  auto const by = [x](auto read_one) {
    return passes_of([x, read_one] {
      for (auto const part : x->parts()) benchmark::DoNotOptimize(read_one(part));
    });
  };
  using number = std::remove_const_t<typename decltype(x->parts())::value_type::element_type>;
  limit.ways = {by(read<1, number>), by(read<4, number>)};
  auto arithmetic = decode_case(t, type, "multiply-adds", keys);
  float factor = 0.5f;
  benchmark::DoNotOptimize(factor);
  arithmetic.ways = {passes_of([factor, n = 2 * keys * x->heads * attended_dim] {
    benchmark::DoNotOptimize(multiply_add(n, factor));
  })};
  auto c = decode_case(t, type, "posenc", keys);
  c.ways = {passes_of([x] { x->decode(); })};
  c.limit = r.add(std::move(limit)), c.beside = r.add(std::move(arithmetic));
  auto paged = decode_case(t, type + ", paged", "posenc", keys);
  auto dots = decode_case(t, type + ", dot products", "posenc", keys);
  paged.limit = dots.limit = c.limit, paged.beside = dots.beside = c.beside;
  r.add(std::move(c));
  if constexpr (requires { x->decode_paged(); }) {
    paged.ways = {passes_of([x] { x->decode_paged(); })};
    r.add(std::move(paged));
  }
  if constexpr (requires { x->decode_by_dots(); }) {
    dots.ways = {passes_of([x] { x->decode_by_dots(); })};
    r.add(std::move(dots));
  }
}
/// Steps whose rows per kv head are many, and several sequences.
template <class Cache>
void add_step(report& r, table const* t, std::string const& line, std::shared_ptr<Cache> const& x,
              std::size_t keys) {
  auto const queries = x->queries;
  auto limit = decode_case(t, line, "multiply-adds", keys, queries);
  float factor = 0.5f;
  benchmark::DoNotOptimize(factor);
  limit.ways = {passes_of([factor, n = 2 * keys * x->heads * queries * attended_dim] {
    benchmark::DoNotOptimize(multiply_add(n, factor));
  })};
  auto c = decode_case(t, line, "posenc", keys, queries);
  c.ways = {passes_of([x] { x->decode(); })};
  c.limit = r.add(std::move(limit));
  r.add(std::move(c));
}
template <class T>
void add_steps(report& r, table const* t, std::string const& type, std::size_t keys) {
  add_step(r, t, type + ", 16 heads per kv head", std::make_shared<cache<T>>(keys, 1, 2), keys);
  add_step(r, t, type + ", 4 queries", std::make_shared<cache<T>>(keys, 4), keys);
  add_step(r, t, type + ", 8 queries", std::make_shared<cache<T>>(keys, 8), keys);
  add_step(r, t, type + ", 4 sequences", std::make_shared<batch<T>>(keys), keys);
}

template <class T>
void add_decode(report& r, table const* t, std::string const& type, std::size_t keys) {
  add_decode(r, t, type, std::make_shared<cache<T>>(keys), keys);
}
template <class Format>
void add_decode(report& r, table const* t, std::string const& type, std::size_t keys,
                Format const& format) {
  add_decode(r, t, type, std::make_shared<encoded_cache<Format>>(keys, format), keys);
}

void add_softmax(report& r) {
  auto const* const t = r.add(
      table{.path = "softmax",
            .title = "Softmax",
            .note = "ns per score, in rows of 1024 · Eigen's time / ours · the time of adaptive "
                    "temperature / plain: of rows that it sharpens, and of sharp ones.",
            .shows = cells::cost});
  static constexpr std::size_t keys = 1024, count = 32;
  for (bool const sharp : {false, true}) {
    struct rows {
      std::vector<float> before, x, memory;
      std::span<float> row(std::size_t i) { return std::span(x).subspan(i * keys, keys); }
    };
    auto const x = std::make_shared<rows>();
    x->before.resize(keys * count);
    fill(x->before.data(), x->before.size());
    for (auto& score : x->before) score *= sharp ? 3000.f : 4.f;
    auto const add = [&](std::string line, char const* by,
                         std::vector<measured_case const*> baselines, measured_case const* beside,
                         auto const& softmax) {
      return r.add({.in = t,
                    .line = std::move(line),
                    .column = "1024 scores",
                    .by = by,
                    .items = keys * count,
                    .ways = {passes_of([x] { x->x = x->before; },
                                       [x, softmax] {
                                         for (std::size_t i = 0; i < count; ++i)
                                           softmax(x->row(i), x->memory);
                                       })},
                    .prepare = [] {},
                    .max_error = {},
                    .limit = nullptr,
                    .baselines = std::move(baselines),
                    .beside = beside});
    };
    std::string const rows_are = sharp ? ", sharp rows" : "", line = "plain" + rows_are;
    auto const* const eigen = add(line, "Eigen", {}, nullptr, [](std::span<float> row, auto&) {
      Eigen::Map<Eigen::ArrayXf> scores(row.data(), static_cast<Eigen::Index>(row.size()));
      scores = (scores - scores.maxCoeff()).exp();
      scores *= 1 / scores.sum();
    });
    auto const* const plain = add(line, "posenc", {eigen}, nullptr,
                                  [](std::span<float> row, auto&) { posenc::softmax(row); });
    add("adaptive" + rows_are, "posenc", {}, plain, [](std::span<float> row, auto& memory) {
      posenc::softmax(row, posenc::adaptive_temperature{}, memory);
    });
  }
}

}  // namespace

void add_attention(report& r) {
  auto const* const prefill = r.add(table{
      .path = "attention/prefill",
      .title = "Attention of a prompt",
      .note = "ns per query and visible key; one head of 128 floats, causal or not. The limit "
              "is the multiply-adds of both products in registers alone. Paged: keys "
              "and values in pages of 16 tokens. Dot products: rounded. Both last: our time / "
              "that of contiguous keys and exact products.",
      .shows = cells::cost,
      .on_page = {{"posenc", "attention of a prompt"}, {"no mask", "the same without a mask"}}});
  for (auto const n : {std::size_t{1024}, std::size_t{4096}}) add_prefill(r, prefill, n);
  auto const* const decode =
      r.add(table{.path = "attention/decode",
                  .title = "Attention of a step of decoding",
                  .note = "ns per head and key; 32 heads of 128 dims over 8 of keys and values. "
                          "There are two limits: reading the cache once · its multiply-adds.",
                  .on_page = {{"float", "attention of a step, float"},
                              {"bfloat16", "attention of a step, bf16"},
                              {"half", "attention of a step, half"},
                              {"q8_0", "attention of a step, q8_0"},
                              {"q8_0, dot products", "the same by dot products"},
                              {"u8_per_head", "attention of a step, u8 per head"},
                              {"u8_per_head, dot products", "the same by dot products"},
                              {"int8_per_head", "attention of a step, int8 per head"},
                              {"int8_per_head, dot products", "the same by dot products"},
                              {"e4m3", "attention of a step, E4M3"}}});
  for (auto const keys : {std::size_t{4096}, std::size_t{16384}}) {
    add_decode<float>(r, decode, "float", keys);
    add_decode<posenc::bfloat16>(r, decode, "bfloat16", keys);
    add_decode<posenc::half>(r, decode, "half", keys);
    add_decode(r, decode, "q8_0", keys, posenc::q8_0{});
    add_decode(r, decode, "q4_0", keys, posenc::q4_0{});
    add_decode(r, decode, "u8_per_head", keys, posenc::u8_per_head{});
    add_decode(r, decode, "int8_per_head", keys, posenc::int8_per_head{});
    add_decode(r, decode, "e4m3", keys, posenc::e4m3::of_scale(0.01f));
  }
  auto const* const steps = r.add(
      table{.path = "attention/steps",
            .title = "Attention of steps of several queries, heads, sequences",
            .note = "ns per query, head and key; 32 heads of 128 dims over 8 of keys and "
                    "values, or over 2. The limit is the multiply-adds of both products. "
                    "4 sequences have a quarter of the keys each, in one call.",
            .shows = cells::cost,
            .on_page = {{"half, 16 heads per kv head", "a step of half, 16 heads per kv head"},
                        {"half, 4 queries", "a step of half, 4 queries"},
                        {"half, 8 queries", "a step of half, 8 queries"},
                        {"half, 4 sequences", "a step of half, 4 sequences"}}});
  for (auto const keys : {std::size_t{4096}, std::size_t{16384}}) {
    add_steps<posenc::bfloat16>(r, steps, "bfloat16", keys);
    add_steps<posenc::half>(r, steps, "half", keys);
  }
  add_softmax(r);
}

}  // namespace bench
