// The rotation on threads: in tasks for an executor, or by workers that are inside an op already.
#pragma once

#include <concepts>
#include <cstddef>

#include "posenc/core/executor.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/rotation/detail/checked_operand.hpp"
#include "posenc/rotation/detail/checks.hpp"
#include "posenc/rotation/head_sink.hpp"
#include "posenc/rotation/operand.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rotation/rotate.hpp"

namespace posenc { inline namespace POSENC_TARGET {
namespace detail {

/// Calls each(i, n) for the parts of the work that this caller sees to.
template <class Executor>
void run_parts(tasks<Executor> const& split, auto const& each) {
  run_tasks(split, [&](std::size_t i) { each(i, split.count()); });
}
template <class Barrier>
void run_parts(worker<Barrier> const& self, auto const& each) {
  each(self.index(), self.count());
  self.wait();
}

/// Part i of n of an operand: tokens; or heads, where tokens are too few, or where slots may repeat
/// and tokens go in order.
template <class Operand>
void run_part(checked_operand<Operand> const& checked, std::size_t i, std::size_t n) {
  auto const tokens = checked.rows.tokens(), of_token = checked.heads.source().heads();
  bool in_order = false;
  for_each_sink(checked.heads.target(), [&]<class To>(To const&) {
    in_order = in_order || (heads_of_numbers<To> && !requires(To const& to) { to.strides(); });
  });
  if (!in_order && (tokens >= n || tokens >= of_token)) {
    auto const [first, count] = part_of(tokens, i, n);
    checked.rotate({first, count, 0, of_token});
  } else {
    auto const [first, count] = part_of(of_token, i, n);
    checked.rotate({0, tokens, first, count});
  }
}

/// for_checked, in parts.
template <class Split, class Rows, class... Operands>
void for_parts(Split const& split, Rows const& rows, Operands const&... operands) {
  for_checked(
      rows,
      [&](auto const&... checked) {
        run_parts(split, [&](std::size_t i, std::size_t n) { (run_part(checked, i, n), ...); });
      },
      operands...);
}

}  // namespace detail

/// rotate(rows, first, more...) on threads: each task, or worker, takes part of the tokens, or of
/// the heads, of every operand. Same bits for any split; same errors, before anything is changed.
///
///     rotate<halves>(tasks(4, pool), q, rows);
///     rotate(tasks(4, pool), rows, rotated<halves>(q), rotated<halves>(k, cache));
///     rotate(worker(ith, nth, [&] { ggml_barrier(pool); }), rows, rotated<halves>(q));
///
/// A worker is one of n threads that all make the same call, with equal arguments. It waits at the
/// barrier once, when its part is written: behind the call, each sees what all wrote. An error is
/// thrown in all of them, and none waits.
template <detail::splits_work Split, class Rows, rotary_operand First, rotary_operand... More>
void rotate(Split const& split, Rows const& rows, First const& first,
            More const&... more) requires(!rotary_operand<Rows> && !detail::splits_work<Rows>) {
  detail::for_parts(split, rows, first, more...);
}
/// rotate for operands that do not rotate; see above.
template <detail::splits_work Split, rotary_operand First, rotary_operand... More>
void rotate(Split const& split, First const& first, More const&... more) {
  detail::for_parts(split, detail::no_rows(), first, more...);
}

/// From source to target, see rotate.
template <class From = void, class To = From, detail::splits_work Split, any_heads Source,
          class Target, class Rows>
void rotate(Split const& split, Source const& source, Target const& target, Rows const& rows,
            rotary_block block = rotary_block::first()) {
  if constexpr (detail::are_right<From, To, Source, Target>())
    detail::for_parts(split, rows, rotated<From, To>(source, target).block(block));
}

/// In place, see rotate.
template <class Layout = void, detail::splits_work Split, any_heads V, class Rows>
void rotate(Split const& split, V const& heads, Rows const& rows,
            rotary_block block = rotary_block::first()) {
  if constexpr (detail::are_right<Layout, Layout, V, V>())
    detail::for_parts(split, rows, rotated<Layout>(heads).block(block));
}

}}  // namespace posenc
