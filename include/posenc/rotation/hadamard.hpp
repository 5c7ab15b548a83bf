// The Walsh-Hadamard transform of heads, which spreads one large dim over all before coding.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <numbers>
#include <span>
#include <type_traits>
#include <utility>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/detail/checks.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/numbers.hpp"

namespace posenc { inline namespace POSENC_TARGET {
namespace detail {

/// 1 / sqrt(n) of a power of two.
constexpr double inverse_root(std::size_t n) noexcept {
  auto const log2 = std::bit_width(n) - 1;
  auto const root = static_cast<double>(std::size_t{1} << log2 / 2);
  return (log2 % 2 == 0 ? 1 : std::numbers::sqrt2 / 2) / root;
}

/// The block of a transform. Throws as hadamard says, in the name of whom `names` say.
std::size_t hadamard_block(std::size_t head_dim, std::size_t block, auto const&... names) {
  auto const largest = std::min(head_dim & (0 - head_dim), most_head_dim);
  auto const result = block == 0 ? largest : block;
  require(std::has_single_bit(result) && result <= largest, names...,
          ": the block of a Hadamard transform must be a power of two, at most ", most_head_dim,
          ", that divides head_dim ", head_dim, ", got ", block);
  return result;
}

/// x + y in one lane and x - y in the other, Distance apart.
template <class Lanes, unsigned Distance>
POSENC_ALWAYS_INLINE inline auto add_lanes(typename Lanes::number const& x) noexcept {
  using Real = typename Lanes::number::value_type;
  alignas(64) static constexpr auto signs = [] {
    std::array<Real, Lanes::size> result{};
    for (unsigned i = 0; i < Lanes::size; ++i) result[i] = (i & Distance) != 0 ? Real{-1} : Real{1};
    return result;
  }();
  return Lanes::multiply_add(x, Lanes::number::load_unaligned(signs.data()),
                             Lanes::template in_order<exchanged<Distance>>(x));
}

/// Sums and differences of Count registers: the last stages of a transform.
template <class Lanes, std::size_t Count>
POSENC_ALWAYS_INLINE inline void add_registers(typename Lanes::number (&x)[Count]) noexcept {
  unrolled<std::bit_width(Count) - 1>([&](std::size_t stage) POSENC_INLINED {
    unrolled<Count / 2>([&](std::size_t i) POSENC_INLINED {
      auto const apart = std::size_t{1} << stage;
      auto &a = x[i / apart * 2 * apart + i % apart], &b = *(&a + apart);
      auto const sum = a + b;
      b = a - b;
      a = sum;
    });
  });
}

/// Blocks of Count registers, or, in the lanes of one, of Lane numbers each.
template <class Lanes, std::size_t Count, std::size_t Lane = Lanes::size, class Real>
void transform_registers(Real* x, std::size_t count, Real factor) noexcept {
  for (auto* const end = x + count; x != end; x += Count * Lanes::size) {
    typename Lanes::number numbers[Count];
    unrolled<Count>([&](std::size_t i) POSENC_INLINED {
      auto number = Lanes::load(x + i * Lanes::size) * factor;
      [&]<std::size_t... Stage>(std::index_sequence<Stage...>) POSENC_INLINED {
        ((number = add_lanes<Lanes, 1u << Stage>(number)), ...);
      }
      (std::make_index_sequence<std::bit_width(Lane) - 1>());
      numbers[i] = number;
    });
    add_registers<Lanes>(numbers);
    unrolled<Count>([&](std::size_t i)
                        POSENC_INLINED { Lanes::store(x + i * Lanes::size, numbers[i]); });
  }
}

/// Stages of larger blocks, between registers that are `step` numbers apart, Count at a time.
template <class Lanes, std::size_t Count, class Real>
void transform_apart(Real* x, std::size_t count, std::size_t step) noexcept {
  for (auto* const end = x + count; x != end; x += (Count - 1) * step) {
    for (auto* const next = x + step; x != next; x += Lanes::size) {
      typename Lanes::number numbers[Count];
      unrolled<Count>([&](std::size_t i)
                          POSENC_INLINED { numbers[i] = Lanes::load(x + i * step); });
      add_registers<Lanes>(numbers);
      unrolled<Count>([&](std::size_t i)
                          POSENC_INLINED { Lanes::store(x + i * step, numbers[i]); });
    }
  }
}

/// Calls act with the constant that n is, of 1, 2, 4 ... Most; with Most if n is larger.
template <std::size_t Most>
POSENC_ALWAYS_INLINE inline void with_power(std::size_t n, auto const& act) noexcept {
  if constexpr (Most > 1)
    if (n < Most) return with_power<Most / 2>(n, act);
  act(std::integral_constant<std::size_t, Most>());
}

/// Transforms blocks of numbers that follow one another, `count` in all. The same additions in the
/// same order for any registers.
template <class Lanes, class Real>
void transform_blocks(Real* x, std::size_t count, std::size_t block) noexcept {
  constexpr std::size_t most = 8;  // registers of 16
  auto const factor = static_cast<Real>(inverse_root(block));
  if constexpr (Lanes::size > 1) {
    if (block < Lanes::size) {
      auto const whole = count / Lanes::size * Lanes::size;
      with_power<Lanes::size / 2>(block,
                                  [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
                                    transform_registers<Lanes, 1, N>(x, whole, factor);
                                  });
      return transform_blocks<one_lane<Real>>(x + whole, count - whole, block);
    }
  }
  auto done = std::min(block / Lanes::size, most);
  with_power<most>(done, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    transform_registers<Lanes, N>(x, count, factor);
  });
  for (done *= Lanes::size; done < block; done *= most)
    with_power<most>(block / done, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
      transform_apart<Lanes, N>(x, count, done);
    });
}
/// The same in the CPU's registers; nothing of blocks of 1.
template <std::floating_point Real>
void transform_blocks(std::span<Real> x, std::size_t block) noexcept {
  if (block > 1) transform_blocks<lanes<Real>>(x.data(), x.size(), block);
}

}  // namespace detail

/// Transforms each block of n dims of every head, in place [Sylvester 1867]:
///
///     x'_i = sum over j of (-1)^(ones in i & j) x_j / sqrt(n)        x' = H x,  H = H^T = H^-1
///
/// Once more undoes it. Products of two heads, and so scores, are the same if both are transformed;
/// one dim of a head that outgrows the others is spread over all of its block, and formats of few
/// bits code the rest better. H does not commute with a rotation: cached keys that move take
/// operand::from_hadamard.
///
///     hadamard(q);                                  queries, against keys that are stored so
///     rotate(rows, rotated<halves>(k, k_cache).hadamard(), unrotated(v, v_cache).hadamard(64));
///     hadamard(outputs, 64);                        of values that are stored so
///
/// n: `block`, or 0 for the largest that is allowed: llama.cpp's of keys, with 64 for values. Heads
/// of numbers; tokens without a slot are skipped. Arithmetic is in float (double for doubles), with
/// an error of at most log2 n + 2 roundings of sqrt(n) max |x|. Throws std::invalid_argument,
/// before anything is changed, unless n is a power of two, at most 4096, that divides head_dim.
template <writable_heads Heads>
void hadamard(Heads const& heads, std::size_t block = 0) {
  using T = typename Heads::element_type;
  using real = arithmetic_t<T>;
  auto const dim = heads.head_dim(), all = heads.heads();
  auto const n = detail::hadamard_block(dim, block, "hadamard");
  auto const at_once = heads.head_stride() == static_cast<std::ptrdiff_t>(dim) ? all : 1;
  for (std::size_t token = 0; token < heads.tokens(); ++token) {
    if (!heads.has(token)) continue;
    for (std::size_t head = 0; head < all; head += at_once) {
      std::span const x(heads.at(token, head), at_once * dim);
      if constexpr (std::same_as<T, real>) {
        detail::transform_blocks(x, n);
      } else {
        alignas(64) real numbers[detail::most_head_dim];
        for (std::size_t first = 0, count; first < x.size(); first += count) {
          count = std::min(x.size() - first, detail::most_head_dim);
          std::span const part(numbers, count);
          detail::load_numbers(x.data() + first, part);
          detail::transform_blocks(part, n);
          detail::store_numbers<T>(part, x.data() + first);
        }
      }
    }
  }
}

}}  // namespace posenc
