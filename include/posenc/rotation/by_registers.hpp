// Rotates pairs of some heads of some tokens: in columns of registers, and the few that are left.
#pragma once

#include <cstddef>
#include <utility>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/columns.hpp"
#include "posenc/rotation/few_pairs.hpp"
#include "posenc/rotation/rotate_pairs.hpp"
#include "posenc/rotation/rounded_columns.hpp"
#include "posenc/rotation/token_heads.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

// Rotates one pair at a time: where there are no registers, or fewer pairs than one holds.
template <class From, class To, class Single, class Tokens>
[[gnu::noinline]] void one_by_one(Tokens const& some, std::size_t pair, std::size_t last) noexcept {
  // Where registers took the others, vectors of up to 15 pairs would be several KB of code.
  constexpr bool is_not_vectorised =
      Tokens::has_narrow_registers || (Tokens::has_registers && !Tokens::fused);
  auto const pairs = some.pairs;
  auto const *cos = some.cos, *sin = cos + pairs;
  for (auto const& first : tokens_of(some)) {
    for (auto const& at : heads_of(some, first)) {
      for (auto i = pair; i < last; ++i) {
        auto const all = is_not_vectorised ? anew_in_each_turn(pairs) : pairs;
        Single one;
        typename Single::numbers x_y;
        one.load(cos + i, sin + i);
        Single::begin(at, i, all, x_y);
        one.finish(at, i, all, x_y);
        one.write(at, i, all, x_y);
      }
    }
    cos += some.cos_token, sin += some.cos_token;
  }
}

// Rotates fewer pairs than a register holds.
template <class From, class To, class Tokens>
void without_registers(Tokens const& some, std::size_t pair, std::size_t last) noexcept {
  using S = typename Tokens::from_type;
  using T = typename Tokens::to_type;
  if (pair == last) return;
  if constexpr (has_few_pairs<Tokens>) {
    few_pairs<From, To>(some, pair, last);
  } else {
    one_by_one<From, To, rotate_pairs<From, To, one_lane<S>, one_lane<T>>>(some, pair, last);
  }
}

// Rotates the last column: `Groups` to `Most` whole groups, and then fewer pairs than a group has.
template <class From, class To, class Group, std::size_t Most, std::size_t Groups = 1, class Tokens>
void last_column(Tokens const& some, std::size_t pair, std::size_t last) noexcept {
  if constexpr (Groups < Most) {
    if (last - pair > (Groups + 1) * Group::pairs)
      return last_column<From, To, Group, Most, Groups + 1>(some, pair, last);
  }
  if constexpr (rounded_unless_tiny<Group, Tokens>) {
    rounded_columns<From, To, Group, Groups + 1>(some, pair, last);
  } else {
    columns<From, To, Group, Groups, true>(some, pair, last);
  }
}

// Rotates columns of `Groups` whole groups, up to pair `stop`. Returns the first pair that is left.
template <class From, class To, class Group, std::size_t Groups, class Tokens>
std::size_t whole_columns(Tokens const& some, std::size_t pair, std::size_t stop) noexcept {
  if constexpr (!rounded_unless_tiny<Group, Tokens>) {
    return columns<From, To, Group, Groups>(some, pair, stop);
  } else {
    auto const last = is_one_column_of<Group, Groups> ? pair + Groups * Group::pairs : stop;
    return rounded_columns<From, To, Group, Groups>(some, pair, last);
  }
}

// Rotates the pairs from `pair` on in columns of as many groups as `Groups` lists, the widest
// first, unless they are fewer than one group has. Returns the first pair that is left.
template <class From, class To, class Group, std::size_t... Groups, class Tokens>
std::size_t by_registers(std::index_sequence<Groups...>, Tokens const& some, std::size_t pair,
                         std::size_t last) noexcept {
  constexpr auto most = sizeof...(Groups) == 1 ? 1 : most_before_tail<Group>;
  auto const groups = (last - pair) / Group::pairs, rest = (last - pair) % Group::pairs,
             last_groups = groups > most ? 1 : groups;
  if (groups == 0) return pair;
  auto const stop = rest == 0 ? last : last - rest - last_groups * Group::pairs;
  ((stop - pair >= Groups * Group::pairs
        ? void(pair = whole_columns<From, To, Group, Groups>(some, pair, stop))
        : void()),
   ...);
  if (rest != 0) last_column<From, To, Group, most>(some, pair, last);
  return last;
}

template <class From, class To, class Tokens>
[[gnu::noinline, gnu::cold]] void rest_of_head(Tokens const& some,
                                               typename Tokens::from_type const* from,
                                               typename Tokens::to_type* to,
                                               decltype(Tokens::cos) cos, std::size_t pair,
                                               std::size_t last) noexcept {
  using S = typename Tokens::from_type;
  using T = typename Tokens::to_type;
  auto one = some;
  one.first = {from, to}, one.cos = cos, one.tokens = one.heads = 1;
  pair = by_registers<From, To, rotate_pairs<From, To, lanes<S>, lanes<T>>>(
      std::index_sequence<1>{}, one, pair, last);
  without_registers<From, To>(one, pair, last);
}

}  // namespace posenc::detail
