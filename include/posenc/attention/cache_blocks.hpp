// A cache of keys or of values, as few queries read it: in place and once, a few tokens at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Whether two registers of S are loaded as those of even and those of odd index, as bfloat16 comes
/// out of 32 bits at the least cost. What meets them is then kept in that order.
template <class S>
inline constexpr bool loads_pairs = requires {
  requires lanes<S>::free_deinterleave;
};

/// Calls few(constant, row) for four rows at a time, then for one.
void in_fours(std::size_t rows, auto const& few) {
  std::size_t row = 0;
  for (; row + 4 <= rows; row += 4) few(std::integral_constant<std::size_t, 4>(), row);
  for (; row < rows; ++row) few(std::integral_constant<std::size_t, 1>(), row);
}

/// Two registers of numbers of T in the order of S. T: S, or what it is computed with.
template <class S, class T, class Number>
[[gnu::always_inline]] inline void load_two(T const* from, Number& x, Number& y) noexcept {
  if constexpr (loads_pairs<S>) {
    lanes<T>::load_pairs(from, x, y);
  } else {
    x = lanes<T>::load(from), y = lanes<T>::load(from + lanes<T>::size);
  }
}
template <class S, class T, class Number>
[[gnu::always_inline]] inline void store_two(T* to, Number const& x, Number const& y) noexcept {
  if constexpr (loads_pairs<S>) {
    lanes<T>::store_pairs(to, x, y);
  } else {
    lanes<T>::store(to, x), lanes<T>::store(to + lanes<T>::size, y);
  }
}

/// Zeros that start at a cache line: a load of a whole register that crosses lines costs two.
template <class T>
class aligned_numbers {
 public:
  explicit aligned_numbers(std::size_t count) : numbers_(count + line / sizeof(T)) {
    auto const past = reinterpret_cast<std::uintptr_t>(numbers_.data()) % line;
    first_ = numbers_.data() + (past == 0 ? 0 : (line - past) / sizeof(T));
  }
  T* data() noexcept { return first_; }

 private:
  static constexpr std::size_t line = 64;
  std::vector<T> numbers_;
  T* first_;
};

/// Where some tokens of a head are, and how many bytes after them are tokens that are read a little
/// later, to be prefetched; 0 if none are.
template <class S>
struct token_block {
  static constexpr std::size_t most = std::max<std::size_t>(lanes<S>::size, 16);
  std::array<S const*, most> tokens{};
  std::size_t count = 0;
  std::uintptr_t ahead = 0;
};

inline void const* after(void const* address, std::uintptr_t bytes) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): in another token, perhaps of another page
  return reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(address) + bytes);
}

/// Prefetches Count numbers into L2, `ahead` bytes after the first of them. The address may be any.
template <std::size_t Count, class S>
[[gnu::always_inline]] inline void prefetch(S const* numbers, std::uintptr_t ahead) noexcept {
  for (std::size_t i = 0; i < Count; i += 64 / sizeof(S))
    prefetch_into_l2(after(numbers + i, ahead));
}

/// Prefetches are in step with the arithmetic, this many bytes ahead of it, in caches of at least
/// so many bytes. Smaller ones are read from L2 or L3: a Zen 4 takes as long either way, a Zen 5 up
/// to 1.3 times as long with prefetches.
inline constexpr std::size_t prefetched_ahead = 16'384, prefetched_from = 4 << 20;

/// Calls some(head, first token, block) for blocks of some tokens of a cache, from `from` to before
/// `to`, in reading order.
template <class Heads>
[[gnu::always_inline]] inline void for_blocks(Heads const& cache, std::size_t from, std::size_t to,
                                              std::size_t tokens_at_once, auto const& some) {
  using S = std::remove_const_t<typename Heads::element_type>;
  if (cache.heads() == 0) return;
  auto const tokens = cache.tokens(), bytes = cache.heads() * cache.head_dim() * sizeof(S);
  auto const ahead = tokens * bytes < prefetched_from
                         ? tokens
                         : std::max(tokens_at_once, prefetched_ahead / bytes);
  token_block<S> block;
  auto const address = [&](std::size_t token) {
    return reinterpret_cast<std::uintptr_t>(cache(token, 0).data());
  };
  for (auto first = from; first < to; first += tokens_at_once) {
    block.count = std::min(tokens_at_once, to - first);
    auto const bytes_to = [&](std::size_t later) {
      return later + block.count <= tokens ? address(later) - address(first) : 0;
    };
    block.ahead = bytes_to(first + ahead);
    auto const far_ahead = block.count <= 8 ? bytes_to(first + 2 * ahead) : 0;
    for (std::size_t head = 0; head < cache.heads(); ++head) {
      for (std::size_t t = 0; t < block.count; ++t) block.tokens[t] = cache(first + t, head).data();
      // A prefetch into L2 does little if the TLB lacks its page; one into L1 looks the page up.
      for (auto t = head; far_ahead != 0 && t < block.count; t += cache.heads())
        prefetch(after(block.tokens[t], far_ahead));
      some(head, first, block);
    }
  }
}

}  // namespace posenc::detail
