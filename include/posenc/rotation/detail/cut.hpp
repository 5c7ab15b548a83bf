// How the work of a rotation is cut: which loop, how many tokens at a time, which pairs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/detail/arithmetic.hpp"
#include "posenc/rotation/detail/loops.hpp"
#include "posenc/rotation/detail/number_rotation.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

enum class loop { columns, in_order };

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

/// Rotates pairs [pair, last) of heads.
template <class From, class To, class Heads>
[[gnu::noinline]] void rotate_range(Heads const& work, std::size_t pair, std::size_t last,
                                    loop by) noexcept {
  using S = typename Heads::from_type;
  using T = typename Heads::to_type;
  if constexpr (Heads::has_registers) {
    using group = group_of<From, To, S, T>;
    if (last - pair >= group::pairs) {
      // Conversions that take all registers take longer than memory does.
      constexpr bool converts_for_long = most_groups<group> == 1;
      if (converts_for_long || by == loop::columns)
        return in_columns<From, To, group>(work, pair, last);
      if constexpr (!converts_for_long)
        return (last - pair) % group::pairs == 0
                   ? in_order<From, To, group, false>(work, pair, last)
                   : in_order<From, To, group, true>(work, pair, last);
    }
  }
  few_pairs<From, To, S, T>(work, pair, last);
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

/// Rotates heads of one token, which are in L1 or will be, and copies the other dims.
template <class From, class To, class Heads>
POSENC_ALWAYS_INLINE inline void rotate_in_l1(Heads const& work,
                                              std::span<pair_range const> ranges) noexcept {
  if constexpr (Heads::has_registers) {
    using group = group_of<From, To, typename Heads::from_type, typename Heads::to_type>;
    constexpr auto most = std::min<std::size_t>(most_groups<group>, 4);
    bool const whole = ranges.size() == 1 && work.head_dim == 2 * work.pairs &&
                       ranges[0].last - ranges[0].first == work.pairs;
    if (whole && work.pairs == most * group::pairs) return whole_heads<From, group, most>(work);
    if constexpr (most > 1)
      if (whole && work.pairs == most / 2 * group::pairs)
        return whole_heads<From, group, most / 2>(work);
  }
  rotate_ranges<From, To>(work, ranges, true, loop::columns);
}

/// Rotates in place, if whole rotary blocks of 2, 4 or 8 groups are one column; checks nothing.
template <class Layout, class View, class Real>
POSENC_ALWAYS_INLINE inline bool rotate_whole_blocks(View const& heads,
                                                     cos_sin_view<Real> const& rows,
                                                     std::size_t first_dim) noexcept {
  using T = typename View::element_type;
  if constexpr (several_lanes<lanes<T>> && requires { heads.strides(); }) {
    using group = group_of<Layout, Layout, T, T>;
    auto const ranges = rows.rotated_pairs();
    auto const pairs = rows.pairs();
    if (ranges.size() != 1 || ranges[0].first != 0 || ranges[0].last != pairs || rows.heads() != 1)
      return false;
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
POSENC_ALWAYS_INLINE inline void rotate_part(Checked const& c, part_of_heads const& part) noexcept {
  if (part.heads == 0 || part.tokens == 0) return;
  rotate_cut(c, part);
}

}}}  // namespace posenc::detail
