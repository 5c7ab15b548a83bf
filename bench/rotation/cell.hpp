// A cell of a table of rotations: the limit, the baselines, and posenc in place.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "eigen.hpp"
#include "limits.hpp"
#include "plain_loop.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/rotate.hpp"
#include "queries.hpp"
#include "report/report.hpp"
#include "row_loop.hpp"

namespace bench {

template <class T>
using shared_queries = std::shared_ptr<queries<T>>;

template <class T>
shared_queries<T> make_queries(posenc::frequencies const& f, posenc::heads_shape const& shape,
                               std::size_t misaligned_by_bytes = 0) {
  return std::make_shared<queries<T>>(f, shape, misaligned_by_bytes);
}

struct place {
  table const* in;
  std::string line, column;
};

template <class T>
report_case case_at(place const& at, shared_queries<T> const& q, std::string by) {
  return {.in = at.in,
          .line = at.line,
          .column = at.column,
          .by = std::move(by),
          .items = q->vectors(),
          .ways = {},
          .prepare = [q] { q->refill(); }};
}

/// Scaling the first `dims` dims of each head, or all of them.
template <class T>
measured_case const* add_limit(report& r, place const& at, shared_queries<T> const& q,
                               std::size_t dims = 0) {
  auto c = case_at(at, q, "limit");
  auto const& shape = q->shape();
  bool const whole = dims == 0 || dims == shape.head_dim;
  for (auto const scale : scalings<T>()) {
    c.ways.push_back(passes_of([=] {
      scale(q->data(), whole ? 1 : q->vectors(), shape.head_dim, whole ? q->count() : dims,
            posenc::arithmetic_t<T>(-1));
    }));
  }
  return r.add(std::move(c));
}

template <class T>
std::vector<measured_case const*> add_baselines(report& r, place const& at,
                                                shared_queries<T> const& q, auto layout) {
  using Layout = decltype(layout);
  std::vector<measured_case const*> all;
  auto const add = [&](char const* by, auto const& rotate) {
    auto c = case_at(at, q, by);
    c.ways = {passes_of(rotate)};
    c.max_error = [q, rotate] { return q->template max_error<Layout>(rotate); };
    all.push_back(r.add(std::move(c)));
  };
  add("plain loop", [q] { plain_loop<Layout>(q->data(), q->shape(), q->pairs(), q->cos_sin()); });
  auto const add_loop_of = [&]<std::size_t Dim>(std::integral_constant<std::size_t, Dim>) {
    if (q->shape().head_dim == Dim && 2 * q->pairs() == Dim)
      add("loop of known dims", [q] {
        loop_of<Layout, Dim>(q->data(), q->shape().tokens, q->shape().heads, q->cos_sin());
      });
  };
  add_loop_of(std::integral_constant<std::size_t, 64>());
  add_loop_of(std::integral_constant<std::size_t, 128>());
  add_loop_of(std::integral_constant<std::size_t, 256>());
  add_loop_of(std::integral_constant<std::size_t, 512>());
#if defined(POSENC_BENCH_ROW_LOOP)
  if constexpr (!std::same_as<T, double>) {
    add("256-bit row loop",
        [q] { row_loop<Layout>(q->data(), q->shape(), q->pairs(), q->cos_sin()); });
  }
#endif
  if constexpr (std::floating_point<T>) {
    if constexpr (std::same_as<Layout, posenc::halves>) {
      add("Eigen", [q] { eigen_halves(q->data(), q->shape(), q->pairs(), q->cos_sin()); });
    } else {
      add("Eigen", [q] { eigen_interleaved(q->data(), q->shape(), q->pairs(), q->turns()); });
    }
  }
  return all;
}

template <class Layout, class T>
report_case rotation_in_place(place const& at, shared_queries<T> const& q) {
  auto const rotate = [q] { posenc::rotate<Layout>(q->view(), q->rows()); };
  auto c = case_at(at, q, "posenc");
  c.ways = {passes_of(rotate)};
  c.max_error = [q, rotate] { return q->template max_error<Layout>(rotate); };
  return c;
}

template <class Layout, class T>
measured_case const* add_cell(report& r, place const& at, shared_queries<T> const& q,
                              measured_case const* limit,
                              std::vector<measured_case const*> more_baselines = {}) {
  auto c = rotation_in_place<Layout>(at, q);
  c.limit = limit;
  c.baselines = add_baselines(r, at, q, Layout());
  c.baselines.insert(c.baselines.end(), more_baselines.begin(), more_baselines.end());
  return r.add(std::move(c));
}

}  // namespace bench
