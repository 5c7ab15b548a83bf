// What an engine does around the rotation: to other memory, another type or layout; with norm and
// scale; one decoding step; and ggml, if it is installed.
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "baselines.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_table.hpp"
#include "queries.hpp"
#include "suites.hpp"
#if defined(POSENC_BENCH_GGML)
#include "ggml_rope.hpp"
#endif

namespace bench {
namespace {

using posenc::bfloat16, posenc::halves, posenc::heads_view, posenc::interleaved,
    posenc::rotation_of;

constexpr std::size_t head_dim = 128;

template <class S, class T>
struct source_and_target {
  queries<S> from;

  explicit source_and_target(cache_level const& where)
      : from(posenc::geometric(head_dim, 1e4), where) {}
  heads_view<S> source() const { return from.view(); }
  T* target_data() const { return buffer<T>() + (std::same_as<S, T> ? from.count() : 0); }
  heads_view<T> target() const { return {target_data(), from.shape()}; }
};

report_case case_of(std::string name, std::string type, std::string layout,
                    queries<float> const& q) {
  return {.suite = "rotation",
          .name = std::move(name),
          .type = std::move(type),
          .layout = std::move(layout),
          .head_dim = head_dim,
          .where = q.where().name,
          .rows = q.vectors(),
          .ways = {}};
}

// The limit: reads every number from one buffer and writes it to another as T.
template <class S, class T>
[[gnu::noinline]] void scale_to(S const* from, T* to, std::size_t count, float factor) {
  using in = posenc::detail::lanes<S>;
  using out = posenc::detail::lanes<T>;
  typename in::number const c(factor);
  for (std::size_t i = 0; i + 4 * in::size <= count; i += 4 * in::size) {
    if constexpr (posenc::detail::both_free_deinterleave<T, S>) {
      for (std::size_t j = i; j < i + 4 * in::size; j += 2 * in::size) {
        typename in::number x, y;
        in::load_pairs(from + j, x, y);
        out::store_pairs(to + j, x * c, y * c);
      }
    } else {
      for (std::size_t j = i; j < i + 4 * in::size; j += in::size)
        out::store(to + j, in::load(from + j) * c);
    }
  }
}

// The largest error of the numbers that `rotate` writes, over the first tokens.
template <class From, class To, class S, class T>
double max_error(source_and_target<S, T> const& x, auto const& rotate) {
  fill(x.from.data(), x.from.count());
  rotate();
  double error = 0;
  auto const f = posenc::geometric(head_dim, 1e4);
  for (std::size_t t = 0; t < std::min<std::size_t>(16, x.from.where().tokens); ++t) {
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      exact_turn const turn(x.from.positions()[t], f.inv_freq()[i]);
      for (std::size_t h = 0; h < x.from.where().heads; ++h) {
        auto const before = x.source()(t, h);
        auto const after = x.target()(t, h);
        long double const a = posenc::load(before[From::x_index(i, f.pairs())]),
                          b = posenc::load(before[From::y_index(i, f.pairs())]);
        auto const note = [&](std::size_t dim, long double exact) {
          error = std::max(error, std::abs(static_cast<double>(exact - posenc::load(after[dim]))));
        };
        note(To::x_index(i, f.pairs()), a * turn.cos - b * turn.sin),
            note(To::y_index(i, f.pairs()), a * turn.sin + b * turn.cos);
      }
    }
  }
  return error;
}

template <class From, class To, class S, class T>
void add_elsewhere(report& r, std::string const& name, std::string const& type,
                   cache_level const& where) {
  auto const x = std::make_shared<source_and_target<S, T>>(where);
  queries<float> const shape(posenc::geometric(head_dim, 1e4), where);
  auto const layout = std::same_as<From, halves> ? "halves" : "interleaved";
  auto limit = case_of(name + "_limit", type, layout, shape);
  limit.ways = {
      passes_of([x] { scale_to(x->from.data(), x->target_data(), x->from.count(), -1.0f); })};
  limit.prepare = [x] { x->from.refill(); };
  limit.in_table = false;
  auto const rotate = [x] { posenc::rotate<From, To>(x->source(), x->target(), x->from.rows()); };
  auto c = case_of(name, type, layout, shape);
  c.ways = {passes_of(rotate)};
  c.prepare = limit.prepare;
  c.max_error = [x, rotate] { return max_error<From, To>(*x, rotate); };
  c.limit = r.add(std::move(limit));
  r.add(std::move(c));
}

// RMS norm, rotation, scale and conversion to bfloat16, in one pass over memory and in one pass
// each; `loop` is the speedup.
void add_fused(report& r, cache_level const& where) {
  auto const x = std::make_shared<source_and_target<float, bfloat16>>(where);
  auto const weight = std::make_shared<std::vector<float>>(head_dim, 1.01f);
  constexpr float eps = 1e-6f, scale = 0.0884f;
  auto separate = case_of("separate_passes", "float to bfloat16", "halves", x->from);
  separate.in_table = false;
  separate.prepare = [x] { x->from.refill(); };
  separate.ways = {passes_of([=] {
    auto* head = x->from.data();
    Eigen::Map<Eigen::ArrayXf const> const w(weight->data(), head_dim);
    for (std::size_t i = 0; i < x->from.vectors(); ++i, head += head_dim) {
      Eigen::Map<Eigen::ArrayXf> numbers(head, head_dim);
      numbers *= w * (1 / std::sqrt(numbers.square().mean() + eps));
    }
    posenc::rotate<halves>(x->source(), x->from.rows());
    scale_by_loop(x->from.data(), x->from.count(), scale);
    scale_to(x->from.data(), x->target_data(), x->from.count(), 1.0f);
  })};
  auto fused = case_of("norm_and_scale", "float to bfloat16", "halves", x->from);
  fused.prepare = separate.prepare;
  fused.ways = {passes_of([=] {
    posenc::rotate(x->from.rows(),
                   rotation_of<halves>(x->source(), x->target()).norm({*weight, eps}).scale(scale));
  })};
  fused.plain_loop = r.add(std::move(separate));
  r.add(std::move(fused));
}

// One decoding step, 40 heads: its row is read from a table of all positions, made from the
// factored table, or computed.
void add_decode_steps(report& r) {
  struct step {
    queries<float> q{posenc::geometric(head_dim, 1e4), L1};
    std::vector<std::int64_t> positions = [] {
      std::vector<std::int64_t> p(4096);
      for (std::size_t i = 0; i < p.size(); ++i) p[i] = 500'000 + static_cast<std::int64_t>(i);
      return p;
    }();
    posenc::cos_sin_table table{posenc::geometric(head_dim, 1e4)};
    posenc::cos_sin_rows<float> full = table.rows(positions), one = table.rows(std::array{0});
    std::size_t now = 0;
    std::array<std::int64_t, 1> next() { return {positions[now = (now + 1) % positions.size()]}; }
  };
  auto const s = std::make_shared<step>();
  auto const add = [&](char const* name, measured_case const* full, auto const& pass) {
    auto c = case_of(name, "float", "halves", s->q);
    c.suite = "decode";
    c.prepare = [s] { s->q.refill(); };
    c.ways = {passes_of(pass)};
    c.plain_loop = full;
    return r.add(std::move(c));
  };
  auto const* const full = add("full_table", nullptr, [s] {
    s->next();
    posenc::rotate<halves>(s->q.view(), s->full.slice_tokens(s->now, 1));
  });
  add("factored_table", full, [s] {
    s->table.write(s->next(), s->one);
    posenc::rotate<halves>(s->q.view(), s->one);
  });
  add("computed", full, [s] {
    posenc::rotate<halves>(s->q.view(),
                           posenc::cos_sin_rows(posenc::geometric(head_dim, 1e4), s->next()));
  });
}

#if defined(POSENC_BENCH_GGML)
template <class Layout>
void add_ggml(report& r, cache_level const& where) {
  auto const q = std::make_shared<queries<float>>(posenc::geometric(head_dim, 1e4), where);
  auto const theirs = std::make_shared<ggml_rope>(where.tokens, where.heads, head_dim,
                                                  std::same_as<Layout, halves>, q->positions());
  auto c = case_of("ggml", "float", std::same_as<Layout, halves> ? "halves" : "interleaved", *q);
  c.prepare = [=] {
    q->refill();
    theirs->set({q->data(), q->data() + q->count()});
  };
  c.ways = {passes_of([theirs] { theirs->rotate(); })};
  c.max_error = [=] {
    return q->template max_error<Layout>([&] {
      theirs->set({q->data(), q->data() + q->count()});
      theirs->rotate();
      std::ranges::copy(theirs->get(), q->data());
    });
  };
  r.add(std::move(c));
}
#endif

}  // namespace

void add_around(report& r) {
  for (auto const& where : {L1, L2, L3, DRAM}) {
    add_elsewhere<halves, halves, float, float>(r, "elsewhere", "float", where);
    add_elsewhere<interleaved, halves, float, float>(r, "to_halves", "float", where);
    add_elsewhere<halves, halves, float, bfloat16>(r, "elsewhere", "float to bfloat16", where);
    add_elsewhere<interleaved, halves, bfloat16, bfloat16>(r, "to_halves", "bfloat16", where);
    add_fused(r, where);
#if defined(POSENC_BENCH_GGML)
    add_ggml<halves>(r, where);
    add_ggml<interleaved>(r, where);
#endif
  }
  add_decode_steps(r);
}

}  // namespace bench
