// Rotates fewer pairs of 16-bit numbers than a register holds, where the CPU reads a part of one.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "posenc/core/compiler.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/fastest_rotation.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotate_pairs.hpp"
#include "posenc/rotation/token_heads.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

template <class T>
concept in_16_bits = storable<T> && sizeof(T) == 2;

// clang-format off

/// Whether few_pairs can rotate them: the CPU reads a part of a register of 16 numbers.
template <class Tokens>
concept has_few_pairs =
    !Tokens::fused && in_16_bits<typename Tokens::from_type> &&
    in_16_bits<typename Tokens::to_type> && lanes<typename Tokens::from_type>::size == 16 &&
    requires(typename Tokens::from_type* words) {
      read_some_of_16(words, words, 1);
    };

// clang-format on

// Copies 1 to 31 words, in two parts that may overlap: a Zen 4 takes thrice as long to write a part
// of a register.
template <class T>
[[gnu::always_inline]] inline void write_some(T* to, T const* from, std::size_t count) noexcept {
  auto const copy =
      [&]<std::size_t Words>(std::integral_constant<std::size_t, Words>) POSENC_INLINED {
        if (count < Words) return false;
        auto const rest = count - Words;
        std::memcpy(static_cast<void*>(to), from, Words * sizeof(T));
        std::memcpy(static_cast<void*>(to + rest), from + rest, Words * sizeof(T));
        return true;
      };
  [&]<std::size_t... Words>(std::index_sequence<Words...>) POSENC_INLINED {
    static_cast<void>((copy(std::integral_constant<std::size_t, Words>{}) || ...));
  }
  (std::index_sequence<16, 8, 4, 2, 1>{});
}

// Copies the pairs of a head into a block of 16, whose others are zeros, and rotates that.
template <class From, class To, has_few_pairs Tokens>
[[gnu::noinline]] void few_pairs(Tokens const& some, std::size_t pair, std::size_t last) noexcept {
  using S = typename Tokens::from_type;
  using T = typename Tokens::to_type;
  using fastest = typename fastest_rotation<From, To, S, T>::type;
  constexpr auto size = lanes<S>::size;
  using group = std::conditional_t<fastest::pairs <= size, fastest,
                                   rotate_pairs<From, To, lanes<S>, lanes<T>>>;
  alignas(64) S before[2 * size] = {};
  alignas(64) T after[2 * size];
  alignas(64) arithmetic_t<T> cos_sin[2 * size] = {};
  cursor<S, T, false> const block{before, after};
  auto const all = some.pairs, count = last - pair;
  auto const* cos = some.cos + pair;
  POSENC_NOT_UNROLLED
  for (auto const& first : tokens_of(some)) {
    std::copy_n(cos, count, cos_sin), std::copy_n(cos + all, count, cos_sin + size);
    group one;
    one.load(cos_sin, cos_sin + size);
    POSENC_NOT_UNROLLED
    for (auto const& at : heads_of(some, first)) {
      auto const* const from = at.from + From::x_index(pair, all);
      auto* const to = at.to + To::x_index(pair, all);
      if constexpr (std::same_as<From, halves>) {
        read_some_of_16(before, from, count), read_some_of_16(before + size, from + all, count);
      } else {
        read_some_of_32(before, from, 2 * count);
      }
      typename group::numbers x_y;
      group::begin(block, 0, size, x_y), one.finish(block, 0, size, x_y);
      one.write(block, 0, size, x_y);
      if constexpr (std::same_as<To, halves>) {
        write_some(to, after, count), write_some(to + all, after + size, count);
      } else {
        write_some(to, after, 2 * count);
      }
    }
    cos += some.cos_token;
  }
}

}  // namespace posenc::detail
