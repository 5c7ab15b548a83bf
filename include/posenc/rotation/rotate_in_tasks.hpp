// The rotation, split into tasks for an executor.
#pragma once

#include <cstddef>

#include "posenc/core/executor.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rotation/rotate.hpp"

namespace posenc { inline namespace POSENC_TARGET {
namespace detail {

/// Part i of n: tokens; or heads, where tokens are too few, or where slots may repeat and tokens go
/// in order.
template <class Operand>
void rotate_task(checked_operand<Operand> const& checked, std::size_t i, std::size_t n) {
  auto const tokens = checked.rows.tokens(), of_token = checked.heads.source().heads();
  bool in_order = false;
  for_each_sink(checked.heads.target(), [&]<class To>(To const&) {
    in_order = in_order || (heads_of_numbers<To> && !requires(To const& to) { to.strides(); });
  });
  if (!in_order && (tokens >= n || tokens >= of_token)) {
    auto const [first, count] = part_of(tokens, i, n);
    checked.run({first, count, 0, of_token});
  } else {
    auto const [first, count] = part_of(of_token, i, n);
    checked.run({0, tokens, first, count});
  }
}

}  // namespace detail

/// rotate(rows, first, more...) by the tasks of `split`: each takes part of the tokens, or of the
/// heads, of every operand. Same bits for any split; same errors, before the first task.
///
///     rotate<halves>(tasks(4, pool), q, rows);
///     rotate(tasks(4, pool), rows, rotated<halves>(q), rotated<halves>(k, cache));
template <class Executor, class Rows, detail::rotary_operand First, detail::rotary_operand... More>
void rotate(tasks<Executor> const& split, Rows const& rows, First const& first,
            More const&... more) {
  if constexpr (detail::are_right<Rows, First>())
    detail::check_and_run(
        rows,
        [&](auto const&... checked) {
          detail::run_tasks(
              split, [&](std::size_t i) { (detail::rotate_task(checked, i, split.count()), ...); });
        },
        first, more...);
}

/// From source to target, see rotate.
template <class From = void, class To = From, class Executor, any_heads Source, class Target,
          class Rows>
void rotate(tasks<Executor> const& split, Source const& source, Target const& target,
            Rows const& rows, rotary_block block = rotary_block::first()) {
  if constexpr (detail::are_right<From, To, Source, Target>())
    rotate(split, rows, rotated<From, To>(source, target).block(block));
}

/// In place, see rotate.
template <class Layout = void, class Executor, any_heads V, class Rows>
void rotate(tasks<Executor> const& split, V const& heads, Rows const& rows,
            rotary_block block = rotary_block::first()) {
  if constexpr (detail::are_right<Layout, Layout, V, V>())
    rotate(split, rows, rotated<Layout>(heads).block(block));
}

}}  // namespace posenc
