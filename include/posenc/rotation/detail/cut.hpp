// How the work of a rotation is cut: which loop, how many tokens at a time, which pairs.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/detail/arithmetic.hpp"
#include "posenc/rotation/detail/columns.hpp"
#include "posenc/rotation/detail/heads_in_memory.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

inline constexpr std::size_t part_of_l1 = std::size_t{1} << 14, usual_l2 = std::size_t{1} << 20;

/// Columns if all pairs fit one column, or if the heads stay in L1 or L2 between columns. Otherwise
/// in order: jumping from column to column costs more than loading cosines and sines per head. A
/// single head has no next one to keep them for. bytes: of all pairs that are rotated.
template <class Group>
constexpr loop loop_for(std::size_t pairs, std::size_t heads, std::size_t bytes_of_token,
                        std::size_t bytes) noexcept {
  if (heads == 1) return loop::in_order;
  bool const in_cache = bytes_of_token <= part_of_l1 || bytes < usual_l2;
  return is_one_column<Group>(pairs) || in_cache ? loop::columns : loop::in_order;
}

// Copies neighbouring dims that do not rotate, counted from the rotary block.
template <class Heads>
[[gnu::noinline]] void copy_dims(Heads const& work, std::size_t from, std::size_t to,
                                 std::size_t count) noexcept {
  using S = typename Heads::from_type;
  using T = typename Heads::to_type;
  if (count == 0) return;
  POSENC_NOT_UNROLLED
  for (auto head : tokens_of(work)) {
    head.move(static_cast<std::ptrdiff_t>(from), static_cast<std::ptrdiff_t>(to));
    POSENC_NOT_UNROLLED
    for (auto at : heads_of(work, head)) {
      if constexpr (std::same_as<S, T> && !Heads::fused) {
        std::copy_n(at.from, count, at.to);
      } else {
        auto left = count;
        auto const copy_by = [&]<class In, class Out>(In, Out) {
          constexpr auto size = static_cast<std::ptrdiff_t>(In::size);
          for (; left >= In::size; left -= In::size, at.move(size, size)) copy<In, Out>(at);
        };
        if constexpr (Heads::has_registers) copy_by(lanes<S>{}, lanes<T>{});
        copy_by(one_lane<S>{}, one_lane<T>{});
      }
    }
  }
}

// Copies pairs that are not rotated, one at a time to another layout.
template <class From, class To, class Heads>
void copy_range(Heads const& work, std::size_t pair, std::size_t last) noexcept {
  auto const step = std::same_as<From, To> ? last - pair : 1;
  for (; pair < last; pair += step) {
    auto const x = From::x_index(pair, work.pairs), to_x = To::x_index(pair, work.pairs);
    if constexpr (std::same_as<From, interleaved> && std::same_as<To, interleaved>) {
      copy_dims(work, x, to_x, 2 * step);
    } else {
      copy_dims(work, x, to_x, step);
      copy_dims(work, From::y_index(pair, work.pairs), To::y_index(pair, work.pairs), step);
    }
  }
}

/// Rotates heads, and copies the other dims if `copies`.
template <class From, class To, class Heads>
[[gnu::noinline]] void rotate_ranges(Heads const& work, std::span<pair_range const> rotated_pairs,
                                     bool copies, loop by) noexcept {
  std::size_t done = 0;
  for (auto const [first, last] : rotated_pairs) {
    if (copies) copy_range<From, To>(work, done, first);
    rotate_range<From, To>(work, first, last, by);
    done = last;
  }
  if (!copies) return;
  copy_range<From, To>(work, done, work.pairs);
  auto const before = work.first_dim, block = 2 * work.pairs;
  copy_dims(work, 0 - before, 0 - before, before);
  copy_dims(work, block, block, work.head_dim - before - block);
}

/// A cursor with the weights of a whole head in registers.
template <class Group, std::size_t Count, class Cursor>
struct weighted_cursor : Cursor {
  typename Group::numbers of_groups[Count];

  [[gnu::always_inline]] explicit weighted_cursor(Cursor const& at) noexcept : Cursor(at) {
    unrolled<Count>([&](std::size_t j) POSENC_INLINED {
      Group::load_weights(at.weights, j * Group::pairs, Count * Group::pairs, of_groups[j]);
    });
  }
  template <class>
  [[gnu::always_inline]] void apply_weights(std::size_t pair, std::size_t,
                                            typename Group::numbers& n) const noexcept {
    n *= of_groups[pair / Group::pairs];
  }
};

// Rotates heads of one token, each of one column. As its own function: the places of its groups are
// constants here, so that g++ has registers for all addresses.
template <class Group, std::size_t Count, class Heads>
[[gnu::noinline]] void whole_heads(Heads const& work) noexcept {
  constexpr auto pairs = Count * Group::pairs;
  groups<Group, Count, false> group;
  group.load(work.cos, work.cos + pairs, 0);
  auto const from_head = work.from_head, to_head = work.to_head;
  auto const rotate = [&](auto at) POSENC_INLINED {
    POSENC_NOT_UNROLLED
    for (auto left = work.heads; left != 0; --left, at.next_head(from_head, to_head))
      group.rotate(at, pairs, 0);
  };
  if (has_32_registers && work.first.weights != nullptr)
    return rotate(weighted_cursor<Group, Count, decltype(work.first)>(work.first));
  rotate(work.first);
}

/// Rotates heads of one token, which are in L1 or will be, and copies the other dims.
template <class From, class To, class Heads>
[[gnu::always_inline]] inline void rotate_in_l1(Heads const& work,
                                                std::span<pair_range const> ranges) noexcept {
  if constexpr (Heads::has_registers) {
    using group = group_of<From, To, typename Heads::from_type, typename Heads::to_type>;
    constexpr auto most = std::min<std::size_t>(most_groups<group>, 4);
    bool const whole = ranges.size() == 1 && work.head_dim == 2 * work.pairs &&
                       ranges[0].last - ranges[0].first == work.pairs;
    if (whole && work.pairs == most * group::pairs) return whole_heads<group, most>(work);
    if constexpr (most > 1)
      if (whole && work.pairs == most / 2 * group::pairs) return whole_heads<group, most / 2>(work);
  }
  rotate_ranges<From, To>(work, ranges, true, loop::columns);
}

/// Tokens and heads of a view.
struct part_of_heads {
  std::size_t token, tokens, head, heads;
};

/// Rotates in place, if whole rotary blocks of 2, 4 or 8 groups are one column; checks nothing.
template <class Layout, class View, class Real>
[[gnu::always_inline]] inline bool rotate_whole_blocks(View const& heads,
                                                       cos_sin_view<Real> const& rows,
                                                       std::size_t first_dim) noexcept {
  using T = typename View::element_type;
  if constexpr (several_lanes<lanes<T>> && requires { heads.strides(); }) {
    using group = group_of<Layout, Layout, T, T>;
    auto const ranges = rows.rotated_pairs();
    auto const pairs = rows.pairs();
    if (ranges.size() != 1 || ranges[0].first != 0 || ranges[0].last != pairs) return false;
    auto const by = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) POSENC_INLINED {
      if constexpr (N <= most_groups<group>) {
        if (pairs != N * group::pairs) return false;
        auto const strides = heads.strides();
        whole_blocks<Layout, group, N>(heads.data() + first_dim, rows.cos(0).data(), heads.heads(),
                                       strides.head, heads.tokens(), strides.token);
        return true;
      }
      return false;
    };
    return by(std::integral_constant<std::size_t, 4>()) ||
           by(std::integral_constant<std::size_t, 2>()) ||
           by(std::integral_constant<std::size_t, 8>());
  }
  return false;
}

/// Rotates a part of what was checked, as many tokens at a time as stay in L1 until all columns are
/// rotated and all other dims copied.
template <class Checked>
[[gnu::noinline]] void rotate_cut(Checked const& c, part_of_heads const& part) noexcept {
  using From = typename Checked::from_layout;
  using To = typename Checked::to_layout;
  using S = typename Checked::from_type;
  auto const ranges = c.rows.rotated_pairs();
  auto const pairs = ranges.empty() ? 0 : ranges.back().last - ranges.front().first;
  auto const of_token = part.heads * (2 * pairs * sizeof(S) + 1);
  bool const one_range = ranges.size() == 1 && !c.copies;
  auto by = loop::columns;
  bool at_once = ranges.size() == 1 && (!c.copies || 2 * pairs == c.from.head_dim());
  if constexpr (lanes<S>::size > 1) {
    using group = group_of<From, To, S, typename Checked::to_type>;
    by = loop_for<group>(pairs, part.heads, of_token, of_token * part.tokens);
    at_once = at_once && (by == loop::in_order || is_one_column<group>(pairs));
  }
  auto const most = !Checked::strided ? 1 : at_once ? part.tokens : part_of_l1 / of_token + 1;
  for (std::size_t done = 0, tokens; done < part.tokens; done += tokens) {
    tokens = std::min(most, part.tokens - done);
    auto const token = part.token + done;
    if (!Checked::strided && c.is_left_out(token)) continue;
    auto const work = c.at(token, tokens, part.head, part.heads);
    if constexpr (Checked::in_place) {
      for (auto const [first, last] : ranges) rotate_range<From, To>(work, first, last, by);
    } else if (one_range) {
      rotate_range<From, To>(work, ranges[0].first, ranges[0].last, by);
    } else {
      rotate_ranges<From, To>(work, ranges, c.copies, by);
    }
  }
}

/// Rotates a part of what was checked; how it is cut does not change results.
template <class Checked>
[[gnu::always_inline]] inline void rotate_part(Checked const& c,
                                               part_of_heads const& part) noexcept {
  if (part.heads == 0 || part.tokens == 0) return;
  rotate_cut(c, part);
}

}}}  // namespace posenc::detail
