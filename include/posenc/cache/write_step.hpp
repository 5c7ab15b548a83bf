// A layer's step in one pass over its queries, keys and values: norm, rotation, scale, rounding,
// and the write to a cache.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "posenc/cache/head_sink.hpp"
#include "posenc/cache/step_heads.hpp"
#include "posenc/cache/step_loop.hpp"
#include "posenc/core/executor.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/cut.hpp"
#include "posenc/rotation/rotate_in_tasks.hpp"
#include "posenc/rotation/rotation.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

template <class H>
concept heads_of_step = requires {
  requires H::is_step_heads;
};
template <class H>
concept part_of_step = heads_of_step<H> || set_of_heads<H>;

/// Calls each(place) for the places that a set writes.
void for_each_target(heads_of_step auto const& heads, auto const& each) {
  for_each_sink(heads.sink(), [&](auto const& sink) { each(place_of(sink)); });
}
void for_each_target(set_of_heads auto const& heads, auto const& each) { each(heads.target()); }

/// Throws as write_step says, of two sets of a step.
void check_step_apart(auto const& a, auto const& b) {
  auto const apart = [](auto const& x, auto const& y) {
    require(!may_share(x, y),
            "write_step: heads that one part of a step writes must not overlap those of another");
  };
  for_each_target(b, [&](auto const& target) { apart(a.source(), target); });
  for_each_target(a, [&](auto const& target) {
    apart(b.source(), target);
    for_each_target(b, [&](auto const& other) { apart(target, other); });
  });
}
template <class First, class... More>
void check_all_apart(First const& first, More const&... more) {
  (check_step_apart(first, more), ...);
  if constexpr (sizeof...(more) > 1) check_all_apart(more...);
}

/// A set of a step that passed. run: part i of n.
template <heads_of_step Heads>
struct checked_step {
  Heads const& heads;
  cos_sin_view<float> const& rows;
  std::size_t first_dim;

  void run(std::size_t i, std::size_t n) const {
    auto const tokens = rows.tokens(), of_token = heads.source().heads();
    if (of_token == 0) return;
    part_of_heads part{0, tokens, 0, of_token};
    bool in_order = false;  // slots of paged_heads may repeat
    for_each_target(heads, [&]<class Place>(Place const&) {
      in_order = in_order || (heads_of_tokens<Place> && !requires(Place const& p) { p.strides(); });
    });
    if (!in_order && (tokens >= n || tokens >= of_token)) {
      auto const [first, count] = part_of(tokens, i, n);
      part.token = first, part.tokens = count;
    } else {
      auto const [first, count] = part_of(of_token, i, n);
      part.head = first, part.heads = count;
    }
    step_loop<Heads>(heads, rows, first_dim).run(part);
  }
};
template <class Checked>
struct checked_rotation {
  Checked checked;
  void run(std::size_t i, std::size_t n) const noexcept { rotate_task(checked, i, n); }
};
auto checked_for(heads_of_step auto const& heads, cos_sin_view<float> const& rows) {
  return checked_step<std::remove_cvref_t<decltype(heads)>>{heads, rows, heads.check(rows)};
}
auto checked_for(set_of_heads auto const& heads, cos_sin_view<float> const& rows) {
  return checked_rotation<decltype(heads.check(rows))>{heads.check(rows)};
}

}  // namespace detail

/// A layer's step, by the tasks of `split`: each has some of the tokens, or of the heads, of every
/// set. Same bits for any split; same errors, before the first task.
template <class Executor, std::convertible_to<cos_sin_view<float>> Rows,
          detail::part_of_step... Heads>
void write_step(tasks<Executor> const& split, Rows const& rows, Heads const&... heads) {
  cos_sin_view<float> const& view = rows;
  [&](auto const&... checked) {
    if constexpr (sizeof...(heads) > 1) detail::check_all_apart(heads...);
    detail::run_tasks(split, [&](std::size_t i) { (checked.run(i, split.count()), ...); });
  }(detail::checked_for(heads, view)...);
}

/// A layer's step in one pass over each of its sets of heads: norm, rotation, scale, rounding, and
/// the write to a cache in an engine's format.
///
///     encoded_heads k_cache(u8_per_head{}, k_pages, shape, slots), v_cache(...);
///     write_step(rows,
///                rotation_of<halves>(q).norm({w_q, 1e-6f}).scale(s),   queries stay in place
///                rotated<halves>(k, k_cache).norm({w_k, 1e-6f}),       keys go into pages
///                unrotated(v, v_cache));                               values do not rotate
///
/// rotation_of is what rotate takes: heads of views, to views. rotated and unrotated give to any
/// head_sink too, have every head_norm, and round where an engine rounds (round). A token with slot
/// -1 is rotated in place and left out of the cache. Arithmetic is in float. Heads of one token, up
/// to 4096 numbers, stay in L1 from load to store; allocates nothing.
///
/// Throws std::invalid_argument, before anything is changed, unless:
///
/// - there is one row per token, and the shapes of source and target agree
/// - slots are within pages; those of encoded_heads are distinct (paged_heads keep the last token)
/// - head_dim is at most 4096, and the rotary block lies within it
/// - each target overlaps no other target, and no heads that another set reads
/// - source and target of a set are the same heads or do not overlap
///
/// Not checked: the memory of your own sinks. Rows, weights and slots must not overlap what is
/// written either.
template <std::convertible_to<cos_sin_view<float>> Rows, detail::part_of_step... Heads>
void write_step(Rows const& rows, Heads const&... heads) {
  write_step(detail::one_task(), rows, heads...);
}

}  // namespace posenc
