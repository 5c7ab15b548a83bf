// Heads wider than a column, beyond the cache: in the order of their addresses.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>

#include "posenc/core/compiler.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/columns.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotate_apart.hpp"
#include "posenc/rotation/rounded_columns.hpp"
#include "posenc/rotation/token_heads.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Groups of pairs in a block. In layout halves, x of a whole block of floats is read before any y:
/// it takes half of the registers.
template <class From, class Group>
inline constexpr std::size_t groups_of_block =
    !std::same_as<From, halves> || Group::registers > 2 ? 4
    : has_32_registers                                  ? 16
                                                        : 8;

/// What of a head is read before it is rotated. The CPU's own prefetching does not follow two
/// streams, x and y, that are far apart.
enum class read_first { nothing, x, x_and_y };
template <class From, class Group>
constexpr read_first what_to_read_first(std::size_t pairs, std::size_t bytes_of_x) noexcept {
  if (!std::same_as<From, halves> || bytes_of_x < 512) return read_first::nothing;
  if (pairs <= groups_of_block<From, Group> * Group::pairs) return read_first::nothing;
  return bytes_of_x < 1024 ? read_first::x : read_first::x_and_y;
}

/// Half of the 32 MiB of a Zen's L3: other cores use it too.
inline constexpr auto most_of_L3 = std::size_t{1} << 24;

/// Whether it may be faster: conversions that take all registers take longer than memory does.
template <class Group>
inline constexpr bool may_go_in_order = Group::registers <= 8;

/// Whether it is faster on Zen 3 and 4 than columns of few heads: of whole blocks, beyond a cache.
/// bytes: of all heads together.
template <class From, class To, class S, class T>
constexpr bool in_order_is_faster(std::size_t pairs, std::size_t bytes) noexcept {
  using group = typename wide_rotation<From, To, S, T>::type;
  if (!may_go_in_order<group>) return false;
  constexpr auto block = groups_of_block<From, group> * group::pairs, L2 = std::size_t{1} << 20;
  auto const bytes_of_x = pairs * sizeof(S);
  if (pairs % block != 0) return false;  // the rest would take another pass over all heads
  if (std::same_as<From, halves>) {
    if (sizeof(S) > 2 && bytes_of_x < 512) return false;
    if (std::same_as<storage_format_t<S>, half> && pairs == block) return false;
  }
  bool const twice = what_to_read_first<From, group>(pairs, bytes_of_x) == read_first::x_and_y;
  return bytes >= (twice ? most_of_L3 : L2);
}

// Reads `bytes` bytes, a line of the cache at a time.
inline void read_lines(void const* from, std::size_t bytes) noexcept {
  auto const* const lines = static_cast<char const volatile*>(from);
  for (std::size_t i = 0; i < bytes; i += 64) static_cast<void>(lines[i]);
}

// Prefetches cosines and sines of the next token, a few with each head: else the first head of
// every token waits for them. Returns where the next ones begin.
template <class Real>
std::size_t prefetch_cos_sin(Real const* cos, Real const* sin, std::size_t from,
                             std::size_t to) noexcept {
  for (; from < to; from += 64 / sizeof(Real))
    prefetch_into_l2(cos + from), prefetch_into_l2(sin + from);
  return from;
}

// Loads cosines and sines of `count` groups. Returns the bits of which a tiny number has none, if
// the groups need to tell it.
template <class Tokens, class Group, class Real>
[[gnu::always_inline]] inline auto load_groups(Group* groups, std::size_t count, Real const* cos,
                                               Real const* sin) noexcept {
  auto const load = [&](std::size_t j) POSENC_INLINED {
    groups[j].load(cos + j * Group::pairs, sin + j * Group::pairs);
  };
  if constexpr (rounded_unless_tiny<Group, Tokens>) {
    typename Group::bound bound;
    POSENC_NOT_UNROLLED
    for (std::size_t j = 0; j < count; ++j) load(j), bound.add(groups[j]);
    return bound.large();
  } else {
    POSENC_NOT_UNROLLED
    for (std::size_t j = 0; j < count; ++j) load(j);
    return 0;
  }
}

// Rotates what pairs of whole blocks there are from `pair` on, with cosines and sines from L1;
// returns where they end.
template <class From, class To, class Group, class Tokens>
[[gnu::noinline]] std::size_t in_order(Tokens const& some, std::size_t pair,
                                       std::size_t last) noexcept {
  constexpr std::size_t in_block = groups_of_block<From, Group>, width = in_block * Group::pairs,
                        most_blocks = std::max<std::size_t>(1, 8192 / sizeof(Group) / in_block);
  Group groups[most_blocks * in_block];
  auto const blocks = std::min((last - pair) / width, most_blocks), all = some.pairs,
             bytes_of_x = blocks * width * sizeof(typename Tokens::from_type);
  auto const before = what_to_read_first<From, Group>(blocks * width, bytes_of_x);
  auto const *cos = some.cos + pair, *sin = cos + all;
  auto const of_head = (blocks * width + some.heads - 1) / some.heads;
  POSENC_NOT_UNROLLED
  for (auto first : tokens_of(some)) {
    move_pairs<From, To>(first, pair);
    [[maybe_unused]] auto const large = load_groups<Tokens>(groups, blocks * in_block, cos, sin);
    std::size_t fetched = 0;
    POSENC_NOT_UNROLLED
    for (auto at : heads_of(some, first)) {
      if (some.pace.row_ahead)
        fetched = prefetch_cos_sin(cos + some.cos_token, sin + some.cos_token, fetched,
                                   std::min(fetched + of_head, blocks * width));
      if (before != read_first::nothing) read_lines(at.from, bytes_of_x);
      if (before == read_first::x_and_y) read_lines(at.from + all, bytes_of_x);
      auto const* group = groups;
      POSENC_NOT_UNROLLED
      for (std::size_t i = 0; i < blocks; ++i, group += in_block, move_pairs<From, To>(at, width)) {
        typename Group::numbers numbers[in_block];
        unrolled<in_block>([&](std::size_t j) POSENC_INLINED {
          Group::begin(at, j * Group::pairs, all, numbers[j]);
        });
        auto const rotated = [&](std::size_t j) POSENC_INLINED {
          auto const one = group[j].kept();
          one.finish(at, j * Group::pairs, all, numbers[j]);
          if constexpr (rounded_unless_tiny<Group, Tokens>) {
            if (Group::has_tiny(numbers[j], large)) [[unlikely]]
              return false;
          }
          one.write(at, j * Group::pairs, all, numbers[j]);
          // One group after the other: g++ mixes them, which takes 1.2 of the time in DRAM.
          if constexpr (writes_halves<Group> && Tokens::has_narrow_registers)
            std::atomic_signal_fence(std::memory_order_seq_cst);
          return true;
        };
        if constexpr (rounded_unless_tiny<Group, Tokens>) {
          auto const written = unrolled_while<in_block>(rotated);
          if (written < in_block) [[unlikely]] {
            auto const pairs = anew_in_each_turn(i) * width;  // else it stays in a register
            rest_of_head<From, To>(some, at.from, at.to, cos + pairs, written * Group::pairs,
                                   width);
          }
        } else {
          unrolled<in_block>(rotated);
        }
      }
    }
    cos += some.cos_token, sin += some.cos_token;
  }
  return pair + blocks * width;
}

}  // namespace posenc::detail
