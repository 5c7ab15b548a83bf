// What an engine does around the rotation: to other memory, another type or layout; with norm and
// scale.
#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "limits.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "queries.hpp"
#include "suites.hpp"

namespace bench {
namespace {

using posenc::bfloat16, posenc::halves, posenc::heads_view, posenc::interleaved, posenc::rotated;

constexpr std::size_t head_dim = 128;

template <class S, class T>
struct source_and_target {
  queries<S> from;

  explicit source_and_target(working_set const& set)
      : from(posenc::geometric(head_dim, 1e4), shape_in<S>(set, head_dim)) {}
  heads_view<S> source() const { return from.view(); }
  T* target_data() const { return buffer<T>() + (std::same_as<S, T> ? from.count() : 0); }
  heads_view<T> target() const { return {target_data(), from.shape()}; }
};

template <class S, class T>
using shared = std::shared_ptr<source_and_target<S, T>>;

template <class S, class T>
report_case case_of(table const* t, std::string line, working_set const& set, shared<S, T> const& x,
                    std::string by) {
  return {.in = t,
          .line = std::move(line),
          .column = set.name,
          .by = std::move(by),
          .items = x->from.vectors(),
          .ways = {},
          .prepare = [x] { x->from.refill(); }};
}

template <class S, class T>
measured_case const* add_limit(report& r, report_case c, shared<S, T> const& x) {
  c.by = "limit";
  for (auto const scale : scalings_to<S, T>()) {
    c.ways.push_back(
        passes_of([=] { scale(x->from.data(), x->target_data(), x->from.count(), -1.0f); }));
  }
  return r.add(std::move(c));
}

// The largest error of the numbers that `rotate` writes, over the first tokens.
template <class From, class To, class S, class T>
double max_error(source_and_target<S, T> const& x, auto const& rotate) {
  fill(x.from.data(), x.from.count());
  rotate();
  double error = 0;
  auto const f = posenc::geometric(head_dim, 1e4);
  for (std::size_t t = 0; t < std::min<std::size_t>(16, x.from.shape().tokens); ++t) {
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      exact_turn const turn(x.from.positions()[t], f.inv_freq()[i]);
      for (std::size_t h = 0; h < x.from.shape().heads; ++h) {
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
void add_elsewhere(report& r, table const* t, std::string const& line, working_set const& set) {
  auto const x = std::make_shared<source_and_target<S, T>>(set);
  auto const rotate = [x] { posenc::rotate<From, To>(x->source(), x->target(), x->from.rows()); };
  auto c = case_of(t, line, set, x, "posenc");
  c.limit = add_limit(r, c, x);
  c.ways = {passes_of(rotate)};
  c.max_error = [x, rotate] { return max_error<From, To>(*x, rotate); };
  r.add(std::move(c));
}

// RMS norm, rotation, scale and conversion to bfloat16: in one pass over memory, and in one pass
// each.
void add_fused(report& r, table const* t, working_set const& set) {
  auto const x = std::make_shared<source_and_target<float, bfloat16>>(set);
  auto const weight = std::make_shared<std::vector<float>>(head_dim, 1.01f);
  constexpr float eps = 1e-6f, factor = 0.0884f;
  auto c = case_of(t, "norm, to bf16", set, x, "posenc");
  auto separate = c;
  separate.by = "four passes";
  separate.ways = {passes_of([=] {
    auto* head = x->from.data();
    Eigen::Map<Eigen::ArrayXf const> const w(weight->data(), head_dim);
    for (std::size_t i = 0; i < x->from.vectors(); ++i, head += head_dim) {
      Eigen::Map<Eigen::ArrayXf> numbers(head, head_dim);
      numbers *= w * (1 / std::sqrt(numbers.square().mean() + eps));
    }
    posenc::rotate<halves>(x->source(), x->from.rows());
    scale<by_registers>(x->from.data(), 1, 0, x->from.count(), factor);
    scalings_to<float, bfloat16>().back()(x->from.data(), x->target_data(), x->from.count(), 1);
  })};
  c.limit = add_limit(r, c, x);
  c.baselines = {r.add(std::move(separate))};
  c.ways = {passes_of([=] {
    posenc::rotate(x->from.rows(),
                   rotated<halves>(x->source(), x->target()).norm({*weight, eps}).scale(factor));
  })};
  r.add(std::move(c));
}

}  // namespace

void add_around(report& r) {
  auto const* const t =
      r.add(table{.path = "elsewhere",
                  .title = "To other memory",
                  .note = "head_dim 128; a working set is the source's bytes, the target's come on "
                          "top. The limit scales from one to the other. The baseline of the last "
                          "line does norm, rotation, scale and conversion one after another.",
                  .on_page = {{"norm, to bf16", "norm, to bf16"}}});
  for (auto const& set : working_sets) {
    add_elsewhere<halves, halves, float, float>(r, t, "float", set);
    add_elsewhere<interleaved, halves, float, float>(r, t, "float, to halves", set);
    add_elsewhere<halves, halves, float, bfloat16>(r, t, "float to bf16", set);
    add_elsewhere<interleaved, halves, bfloat16, bfloat16>(r, t, "bf16, to halves", set);
    add_fused(r, t, set);
  }
}

}  // namespace bench
