// A cache of keys or of values, as few queries read it: in place and once, a few tokens at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "posenc/core/compiler.hpp"
#include "posenc/core/cpu.hpp"
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

/// Where prefetches put what is read a little later.
enum class prefetches { none, into_l1, into_l2 };

/// Calls what(kind), where kind is a constant: the kind of prefetches that is fastest on this CPU.
/// On a Xeon with AVX-512 FP16 those into L1 are: 16384 keys of bfloat16 take 0.7 of the time, of
/// float 0.9. On a Zen 4 those into L2 are, with 0.55 and 0.7 of the time, and those into L1 lose:
/// its own prefetching cannot follow the tokens of a block.
void with_prefetches(auto const& what) {
  using enum prefetches;
#if defined(__AVX512FP16__)
  what(std::integral_constant<prefetches, into_l1>());
#else
  if (is_zen_4()) return what(std::integral_constant<prefetches, into_l2>());
  what(std::integral_constant<prefetches, none>());
#endif
}

/// Of Count numbers, `ahead` bytes after the first of them. The address may be any.
template <std::size_t Count, prefetches Prefetches, class S>
[[gnu::always_inline]] inline void prefetch([[maybe_unused]] S const* numbers,
                                            [[maybe_unused]] std::uintptr_t ahead) noexcept {
  if constexpr (Prefetches != prefetches::none) {
    for (std::size_t i = 0; i < Count; i += 64 / sizeof(S)) {
      auto const address = reinterpret_cast<std::uintptr_t>(numbers + i) + ahead;
      // NOLINTNEXTLINE(performance-no-int-to-ptr): in another token, perhaps of another page
      auto const* const later = reinterpret_cast<void const*>(address);
      Prefetches == prefetches::into_l1 ? prefetch(later) : prefetch_into_l2(later);
    }
  }
}

/// Where some tokens of a head are, and how many bytes after the first are a token that is read a
/// little later, and one that is read as much later again; 0 if there is none.
template <class S>
struct token_block {
  static constexpr std::size_t most = std::max<std::size_t>(lanes<S>::size, 16);
  std::array<S const*, most> tokens{};
  std::size_t count = 0;
  std::uintptr_t ahead = 0, far_ahead = 0;
};

/// Prefetches a line of each token that is read much later. On Zen 4, a prefetch into L2 does
/// little if the TLB lacks its page; one into L1 looks the page up. It is called once a head, and
/// takes every heads-th token of the block. Returns how many. The two products of 16384 keys of
/// float take 0.96 of the time, the scores of bfloat16 0.8.
template <prefetches Prefetches, class S>
[[gnu::always_inline]] inline std::size_t prefetch_pages(token_block<S> const& block,
                                                         std::size_t head,
                                                         std::size_t heads) noexcept {
  std::size_t pages = 0;
  if (Prefetches != prefetches::into_l2 || block.far_ahead == 0) return pages;
  if (block.count > 8) return pages;  // more at once lose: 1.1 of the time
  for (auto t = head; t < block.count; t += heads, ++pages)
    prefetch<1, prefetches::into_l1>(block.tokens[t], block.far_ahead);
  return pages;
}

/// Prefetches a column of a matrix into L2, if its index is a multiple of a line: it is read or
/// written in as many places at once as there are rows, too many for the CPU's own prefetching.
/// Returns how many lines. The two products of 16384 keys take 0.93 of the time.
template <prefetches Prefetches, class T>
[[gnu::always_inline]] inline std::size_t prefetch_column(T const* matrix, std::size_t rows,
                                                          std::size_t columns,
                                                          std::size_t column) noexcept {
  if (Prefetches != prefetches::into_l2) return 0;
  if (column % (64 / sizeof(T)) != 0 || column >= columns) return 0;
  for (std::size_t r = 0; r < rows; ++r) prefetch_into_l2(matrix + r * columns + column);
  return rows;
}

/// Prefetches are in step with the arithmetic, this many bytes ahead of it.
inline constexpr std::size_t prefetched_ahead = 16'384;

/// Calls some(head, first token, block) for blocks of some tokens of a cache, from `from` to before
/// `to`, in reading order.
template <class Heads>
[[gnu::always_inline]] inline void for_blocks(Heads const& cache, std::size_t from, std::size_t to,
                                              std::size_t tokens_at_once, auto const& some) {
  using S = std::remove_const_t<typename Heads::element_type>;
  if (cache.heads() == 0) return;
  auto const tokens = cache.tokens(), bytes = cache.heads() * cache.head_dim() * sizeof(S);
  auto const ahead = bytes == 0 ? 0 : std::max(tokens_at_once, prefetched_ahead / bytes);
  token_block<S> block;
  auto const address = [&](std::size_t token) {
    return reinterpret_cast<std::uintptr_t>(cache(token, 0).data());
  };
  for (auto first = from; first < to; first += tokens_at_once) {
    block.count = std::min(tokens_at_once, to - first);
    auto const bytes_to = [&](std::size_t later) {
      return later + block.count <= tokens ? address(later) - address(first) : 0;
    };
    block.ahead = bytes_to(first + ahead), block.far_ahead = bytes_to(first + 2 * ahead);
    for (std::size_t head = 0; head < cache.heads(); ++head) {
      for (std::size_t t = 0; t < block.count; ++t) block.tokens[t] = cache(first + t, head).data();
      some(head, first, block);
    }
  }
}

}  // namespace posenc::detail
