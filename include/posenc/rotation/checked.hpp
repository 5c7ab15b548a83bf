// A rotation of numbers to numbers that passed its checks: what the loops take.
#pragma once

#include <cstddef>
#include <type_traits>

#include "posenc/core/compiler.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/heads_in_memory.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc::inline POSENC_TARGET::detail {

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

  /// Some heads of some tokens.
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
    heads_in_memory<from_type, to_type, Fused> some;
    some.first.from = first(from), some.first.to = first(to);
    if constexpr (Fused) {
      some.first.weights = nullptr, some.first.gain = &scale, some.first.gain_per_head = false;
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

}  // namespace posenc::detail
