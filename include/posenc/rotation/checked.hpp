// Checks the arguments of a rotation. Loops take what it returns and check nothing.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "posenc/core/compiler.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/heads_in_memory.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// What a rotation multiplies heads by: by the norm's weights before it, by the scale after it.
template <class Real>
struct head_factors {
  std::span<Real const> weight = {};
  Real eps = 0, scale = 1;
  bool normalises = false;
};

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
  head_factors<real> const& factors;
  cos_sin_view<real> const& rows;
  std::size_t first_dim;
  bool copies;  ///< dims that are not rotated are copied or scaled too (out of place, or fused)

  /// A slot of -1.
  bool is_left_out(std::size_t token) const noexcept {
    return from.token(token) == nullptr || to.token(token) == nullptr;
  }

  /// Some heads of some tokens. gains: one for all, or one per head.
  heads_in_memory<from_type, to_type, Fused> at(std::size_t token, std::size_t tokens,
                                                std::size_t head, std::size_t heads,
                                                [[maybe_unused]] real const* gains,
                                                [[maybe_unused]] bool per_head) const noexcept {
    auto const first = [&](auto const& view) {
      return view.token(token) + static_cast<std::ptrdiff_t>(head) * view.head_stride() +
             static_cast<std::ptrdiff_t>(first_dim);
    };
    auto const token_stride = [&](auto const& view) {
      return tokens > 1 ? view.token(token + 1) - view.token(token) : 0;
    };
    // With one head, the stride may be anything. Clang would load it with that of tokens, 16 bytes
    // that the caller stored as 8 and 8, which is not forwarded.
    auto const head_stride = [&](auto const& view) {
      return anew_in_each_turn(from.heads() > 1 ? view.head_stride() : 0);
    };
    heads_in_memory<from_type, to_type, Fused> some;
    some.first.from = first(from), some.first.to = first(to);
    if constexpr (Fused) {
      auto const& weight = factors.weight;
      some.first.weights = weight.empty() ? nullptr : weight.data() + first_dim;
      some.first.gain = gains, some.first.gain_per_head = per_head;
      some.first.ahead = some.first.from;
    }
    some.cos = rows.cos(token).data();
    some.tokens = tokens, some.heads = heads, some.cos_token = rows.rotary_dim();
    some.from_token = token_stride(from), some.to_token = token_stride(to);
    some.from_head = head_stride(from), some.to_head = head_stride(to);
    some.head_dim = from.head_dim(), some.first_dim = first_dim, some.pairs = rows.pairs();
    return some;
  }
};

/// Whether source and target, of the same shape, are the same heads.
template <class Source, class Target>
bool same_heads(Source const& source, Target const& target) noexcept {
  if (static_cast<void const*>(&source) == &target) return true;
  using stored = std::remove_const_t<typename Source::element_type>;
  bool same = std::same_as<stored, typename Target::element_type> &&
              (source.head_stride() == target.head_stride() || source.heads() <= 1);
  for (std::size_t token = 0; same && token < source.tokens(); ++token)
    same = static_cast<void const*>(source.token(token)) == target.token(token);
  return same;
}

/// Throws std::invalid_argument as rotate says. Inlined: what it returns stays in registers.
template <class Layout, class View, class Real>
[[gnu::always_inline]] inline auto check_in_place(View const& heads, rotary_block const& block,
                                                  head_factors<Real> const& factors,
                                                  cos_sin_view<Real> const& rows) {
  require(rows.tokens() == heads.tokens(), "rotate: there must be one row per token, got ",
          rows.tokens(), " rows for ", heads.tokens(), " tokens");
  return checked_heads<Layout, Layout, false, View, View, true>{
      heads, heads, factors, rows, block.first_dim(heads.head_dim(), rows.rotary_dim()), false};
}
template <class From, class To, bool Fused, class Source, class Target, class Real>
[[gnu::always_inline]] inline checked_heads<From, To, Fused, Source, Target> check(
    Source const& from, Target const& to, rotary_block const& block,
    head_factors<Real> const& factors, cos_sin_view<Real> const& rows) {
  require(rows.tokens() == from.tokens(), "rotate: there must be one row per token, got ",
          rows.tokens(), " rows for ", from.tokens(), " tokens");
  require(from.tokens() == to.tokens() && from.heads() == to.heads() &&
              from.head_dim() == to.head_dim(),
          "rotate: source and target must have the same shape, got ", from.tokens(), " tokens x ",
          from.heads(), " heads of ", from.head_dim(), " and ", to.tokens(), " x ", to.heads(),
          " of ", to.head_dim());
  auto const first_dim = block.first_dim(from.head_dim(), rows.rotary_dim());
  bool const in_place = same_heads(from, to);
  require((in_place && std::same_as<From, To>) || !may_overlap(from, to),
          "rotate: source and target must not overlap, unless they are the same heads in the "
          "same layout");
  return {from, to, factors, rows, first_dim, Fused || !in_place};
}

}  // namespace posenc::detail
