// The rotation, split into tasks for an executor.
#pragma once

#include <cstddef>

#include "posenc/core/executor.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/cut.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rotation/rotation.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

/// Part i of n: some tokens; or some heads, where tokens are too few, or where slots may repeat and
/// tokens go in order.
template <class Checked>
void rotate_task(Checked const& c, std::size_t i, std::size_t n) noexcept {
  constexpr bool has_slots = !requires { c.to.strides(); };
  auto const tokens = c.from.tokens(), heads = c.from.heads();
  if (!has_slots && (tokens >= n || tokens >= heads)) {
    auto const [first, count] = part_of(tokens, i, n);
    rotate_part(c, {first, count, 0, heads});
  } else {
    auto const [first, count] = part_of(heads, i, n);
    rotate_part(c, {0, tokens, first, count});
  }
}

}  // namespace detail

/// rotate(rows, first, more...) by the tasks of `split`: each has some of the tokens, or of the
/// heads, of every set. Same bits for any split; same errors, before the first task.
///
///     rotate<halves>(tasks(4, pool), q, rows);
///     rotate(tasks(4, pool), rows, rotation_of<halves>(q), rotation_of<halves>(k, cache));
template <class Executor, class Rows, detail::set_of_heads First, detail::set_of_heads... More>
void rotate(tasks<Executor> const& split, Rows const& rows, First const& first,
            More const&... more) {
  if constexpr (detail::are_right<Rows, First>()) {
    auto const& view = detail::view_of<First>(rows);
    [&](auto const&... checked) {
      detail::check_apart(first, more...);
      detail::run_tasks(
          split, [&](std::size_t i) { (detail::rotate_task(checked, i, split.count()), ...); });
    }(first.check(view), more.check(view)...);
  }
}

/// From source to target, see above.
template <class From = void, class To = From, class Executor, heads_of_tokens Source,
          heads_of_tokens Target, class Rows>
void rotate(tasks<Executor> const& split, Source const& source, Target const& target,
            Rows const& rows, rotary_block block = rotary_block::first()) {
  if constexpr (detail::are_right<From, To, Source, Target>())
    rotate(split, rows, rotation<From, To, Source, Target>(source, target, block));
}

/// In place, see above.
template <class Layout = void, class Executor, heads_of_tokens V, class Rows>
void rotate(tasks<Executor> const& split, V const& heads, Rows const& rows,
            rotary_block block = rotary_block::first()) {
  rotate<Layout, Layout>(split, heads, heads, rows, block);
}

}  // namespace posenc
