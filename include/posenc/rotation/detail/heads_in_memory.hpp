// Heads of tokens in memory, and the way through them.
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/at_strides.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The place at which a loop reads and writes within a head.
template <class S, class T, bool Fused>
struct cursor {
  S const* from;
  T* to;

  void move(std::ptrdiff_t from_step, std::ptrdiff_t to_step) noexcept {
    from += from_step, to += to_step;
  }
  void next_head(std::ptrdiff_t from_stride, std::ptrdiff_t to_stride) noexcept {
    move(from_stride, to_stride);
  }
  template <class Group>
  void apply_weights(std::size_t, std::size_t, auto&) const noexcept {}
  template <class Lanes>
  void apply_weights(auto&) const noexcept {}
  void apply_gain(auto&...) const noexcept {}
  template <std::size_t Count>
  void ask_ahead(std::size_t) const noexcept {}
};

/// With factors: weights before the rotation (null: none), and the gain of the head after it.
template <class S, class T>
struct cursor<S, T, true> {
  using real = arithmetic_t<T>;
  S const* from;
  T* to;
  real const* weights;
  real const* gain;
  bool gain_per_head;  // else one gain for all
  S const* ahead;      // the same dims of the next token, to be prefetched for its norm, or `from`

  void move(std::ptrdiff_t from_step, std::ptrdiff_t to_step) noexcept {
    from += from_step, to += to_step, ahead += from_step;
    if (weights != nullptr) weights += from_step;
  }
  void next_head(std::ptrdiff_t from_stride, std::ptrdiff_t to_stride) noexcept {
    from += from_stride, to += to_stride, ahead += from_stride;
    if (gain_per_head) ++gain;
  }
  /// Multiplies a group of pairs, `pair` and the next of `all`, by the norm's weights.
  template <class Group>
  POSENC_ALWAYS_INLINE void apply_weights(std::size_t pair, std::size_t all,
                                          typename Group::numbers& n) const noexcept {
    if (weights == nullptr) return;
    typename Group::numbers of_group;
    Group::load_weights(weights, pair, all, of_group), n *= of_group;
  }
  template <class Lanes>
  void apply_weights(auto& x) const noexcept {
    if (weights != nullptr) x = x * Lanes::load(weights);
  }
  void apply_gain(auto&... numbers) const noexcept { ((numbers = numbers * *gain), ...); }
  /// Prefetches Count numbers of what comes next; none if they are less than half a cache line.
  /// always_inline, or g++ drops the call as having no effect.
  template <std::size_t Count>
  POSENC_ALWAYS_INLINE void ask_ahead(std::size_t dim) const noexcept {
    if constexpr (Count * sizeof(S) >= 32) prefetch_into_l1(ahead + dim);
  }
};

/// The heads that a loop rotates: the rotary block of the first head, the cosines of its
/// token (its sines follow them), and the strides, in elements. Fused: with factors.
template <class S, class T, bool Fused>
struct heads_in_memory {
  using from_type = S;
  using to_type = T;
  static constexpr bool fused = Fused, has_registers = lanes<S>::size > 1;

  cursor<S, T, Fused> first;
  arithmetic_t<T> const* cos;
  std::size_t tokens, heads, cos_token;
  std::ptrdiff_t from_token, from_head, to_token, to_head;
  std::size_t head_dim, first_dim, pairs;
};

/// The heads that a loop rotates, of tokens from `token` of the rows on: shape.tokens of
/// shape.heads. `block` is the first rotary block, at first_dim of its head.
template <class S, class T, bool Fused>
POSENC_ALWAYS_INLINE inline heads_in_memory<S, T, Fused> in_memory(
    cursor<S, T, Fused> const& block, heads_shape const& shape, std::size_t first_dim,
    heads_strides const& from, heads_strides const& to, cos_sin_view<arithmetic_t<T>> const& rows,
    std::size_t token) noexcept {
  return {block,
          rows.cos(token).data(),
          shape.tokens,
          shape.heads,
          rows.rotary_dim(),
          from.token,
          from.head,
          to.token,
          to.head,
          shape.head_dim,
          first_dim,
          rows.pairs()};
}

/// The heads of a token from `at` on, or, with the strides of tokens, the tokens.
template <class Cursor>
struct cursors {
  Cursor at;
  std::size_t left;
  std::ptrdiff_t from_stride, to_stride;

  cursors begin() const noexcept { return *this; }
  std::default_sentinel_t end() const noexcept { return {}; }
  Cursor const& operator*() const noexcept { return at; }
  void operator++() noexcept { at.next_head(from_stride, to_stride), --left; }
  bool operator==(std::default_sentinel_t) const noexcept { return left == 0; }
};
template <class Cursor>
cursors(Cursor, std::size_t, std::ptrdiff_t, std::ptrdiff_t) -> cursors<Cursor>;

auto tokens_of(auto const& work) noexcept {
  return cursors{work.first, work.tokens, work.from_token, work.to_token};
}
auto heads_of(auto const& work, auto const& at) noexcept {
  return cursors{at, work.heads, work.from_head, work.to_head};
}

/// Advances by `pairs` pairs.
template <class From, class To>
void move_pairs(auto& at, std::size_t pairs) noexcept {
  at.move(static_cast<std::ptrdiff_t>(From::x_index(pairs, 0)),
          static_cast<std::ptrdiff_t>(To::x_index(pairs, 0)));
}

}}}  // namespace posenc::detail
