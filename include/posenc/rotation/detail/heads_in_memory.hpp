// Heads of tokens in memory, and the way through them.
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Where a loop reads and writes within a head.
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
  [[gnu::always_inline]] void apply_weights(std::size_t pair, std::size_t all,
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
  [[gnu::always_inline]] void ask_ahead(std::size_t dim) const noexcept {
    if constexpr (Count * sizeof(S) >= 32) prefetch_into_l1(ahead + dim);
  }
};

/// What a loop rotates, heads of tokens: the rotary block of the first head, the cosines of its
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

/// A rotation that passed. Holds references: copying the views would cost as much as rotating a few
/// heads. Fused: there are factors. InPlace: of one view.
template <class From, class To, bool Fused, class Source, class Target, bool InPlace = false>
struct checked_heads {
  using from_layout = From;
  using to_layout = To;
  using from_type = std::remove_const_t<typename Source::element_type>;
  using to_type = typename Target::element_type;
  using real = arithmetic_t<to_type>;
  static constexpr bool fused = Fused, in_place = InPlace;
  /// Whether all tokens are equally far from the next: paged ones are not.
  static constexpr bool strided = requires(Source const& source, Target const& target) {
    source.strides(), target.strides();
  };

  Source const& from;
  Target const& to;
  real const& scale;
  cos_sin_view<real> const& rows;
  std::size_t first_dim;
  bool copies;  ///< dims that are not rotated are copied or scaled too (out of place, or fused)

  /// A slot of -1.
  bool is_left_out(std::size_t token) const noexcept {
    return from.token(token) == nullptr || to.token(token) == nullptr;
  }

  /// `heads` heads of `tokens` tokens.
  heads_in_memory<from_type, to_type, Fused> at(std::size_t token, std::size_t tokens,
                                                std::size_t head,
                                                std::size_t heads) const noexcept {
    auto const first = [&](auto const& view) {
      return view.token(token) + static_cast<std::ptrdiff_t>(head) * view.head_stride() +
             static_cast<std::ptrdiff_t>(first_dim);
    };
    auto const token_stride = [&](auto const& view) {
      return tokens > 1 ? view.token(token + 1) - view.token(token) : 0;
    };
    // With one head, the stride may be anything. Hidden from clang, which would load both strides
    // as 16 bytes: a store-forwarding stall.
    auto const head_stride = [&](auto const& view) {
      return opaque(from.heads() > 1 ? view.head_stride() : 0);
    };
    heads_in_memory<from_type, to_type, Fused> work;
    work.first.from = first(from), work.first.to = first(to);
    if constexpr (Fused) {
      work.first.weights = nullptr, work.first.gain = &scale, work.first.gain_per_head = false;
      work.first.ahead = work.first.from;
    }
    work.cos = rows.cos(token).data();
    work.tokens = tokens, work.heads = heads, work.cos_token = rows.rotary_dim();
    work.from_token = token_stride(from), work.to_token = token_stride(to);
    work.from_head = head_stride(from), work.to_head = head_stride(to);
    work.head_dim = from.head_dim(), work.first_dim = first_dim, work.pairs = rows.pairs();
    return work;
  }
};

}}}  // namespace posenc::detail
