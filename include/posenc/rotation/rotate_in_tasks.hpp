// The rotation, split into tasks for an executor.
#pragma once

#include <cstddef>
#include <type_traits>

#include "posenc/core/executor.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rotation/rotation.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

/// Part i of n of a rotation that was checked whole: some tokens; some heads where tokens are too
/// few, or where the target is paged, since its slots may repeat and tokens go in order.
template <pair_layout From, pair_layout To, class Source, class Target, bool Fused, class Rows>
void rotate_part(rotation<From, To, Source, Target, Fused> const& r, Rows const& rows,
                 std::size_t i, std::size_t n) {
  constexpr bool has_slots = !requires(Target const& target) { target.strides(); };
  auto const tokens = r.source().tokens(), heads = r.source().heads();
  if (!has_slots && (tokens >= n || tokens >= heads)) {
    auto const [first, count] = part_of(tokens, i, n);
    if (count > 0) posenc::rotate(rows.slice_tokens(first, count), r.slice_tokens(first, count));
  } else {
    auto const [first, count] = part_of(heads, i, n);
    if (count > 0) posenc::rotate(rows, r.slice_heads(first, count));
  }
}

}  // namespace detail

/// The same as rotate(rows, first, more...), by the tasks of `split`: each has some of the tokens,
/// or of the heads, of every set. The same bits for any split. Refuses the same, before the first
/// task, and allocates nothing.
///
///     rotate<halves>(tasks(4, pool), q, rows);
///     rotate(tasks(4, pool), rows, rotation_of<halves>(q), rotation_of<halves>(k, cache));
template <class Executor, class First, class... More>
void rotate(tasks<Executor> const& split,
            std::type_identity_t<cos_sin_view<typename First::real>> const& rows,
            First const& first, More const&... more) {
  void(first.check(rows)), (void(more.check(rows)), ...);
  detail::check_apart(first, more...);
  detail::run_tasks(split, [&](std::size_t i) {
    detail::rotate_part(first, rows, i, split.count());
    (detail::rotate_part(more, rows, i, split.count()), ...);
  });
}

template <pair_layout Layout, class Executor, writable_heads V>
void rotate(tasks<Executor> const& split, V const& heads,
            std::type_identity_t<cos_sin_view<arithmetic_t<typename V::element_type>>> const& rows,
            rotary_block block = rotary_block::first()) {
  rotate(split, rows, rotation<Layout, Layout, V, V>(heads, heads, block));
}

template <pair_layout From, pair_layout To = From, class Executor, heads_of_tokens Source,
          target_of<Source> Target>
void rotate(
    tasks<Executor> const& split, Source const& source, Target const& target,
    std::type_identity_t<cos_sin_view<arithmetic_t<typename Target::element_type>>> const& rows,
    rotary_block block = rotary_block::first()) {
  rotate(split, rows, rotation<From, To, Source, Target>(source, target, block));
}

}  // namespace posenc
