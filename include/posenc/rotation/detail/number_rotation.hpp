// A rotation of numbers that passed its checks, and what a loop is given of it.
#pragma once

#include <cstddef>
#include <type_traits>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/detail/heads_in_memory.hpp"
#include "posenc/rotation/detail/heads_of_rows.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// A rotation that passed. Holds references: copying the views would cost as much as rotating a few
/// heads. Fused: there are factors. InPlace: of one view.
template <class From, class To, bool Fused, class Source, class Target, bool InPlace = false>
struct number_rotation {
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
    cursor<from_type, to_type, Fused> block;
    block.from = first(from), block.to = first(to);
    if constexpr (Fused) {
      block.weights = nullptr;
      block.gain = &scale;
      block.gain_per_head = false;
      block.ahead = block.from;
    }
    return in_memory(block, {tokens, heads, from.head_dim()}, first_dim,
                     {token_stride(from), head_stride(from)}, {token_stride(to), head_stride(to)},
                     rows, token);
  }
};

}}}  // namespace posenc::detail
