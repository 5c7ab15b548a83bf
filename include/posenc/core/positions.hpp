// Positions of tokens, and lists of numbers as arguments.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// One position per token, in any order; gaps, repeats and negative positions are allowed.
using positions_view = std::span<std::int64_t const>;

namespace detail {

/// Of a vector, an array, a span ...: its span, and the type of its numbers.
template <class R>
using span_of = decltype(std::span(std::declval<R&>()));
template <class R>
using span_value_t = typename span_of<R>::value_type;

template <class R>
using number_in = std::remove_cvref_t<decltype(*std::begin(std::declval<R const&>()))>;

void require_position(char const* what, std::integral auto p, std::size_t token) {
  require(std::in_range<std::int64_t>(p), what, ": a position must fit int64, got ", p,
          " at token ", token);
}

}  // namespace detail

/// A vector, array, span ... of integers of any type.
template <class R>
concept integer_range =
    std::integral<detail::number_in<R>> && !std::same_as<detail::number_in<R>, bool> &&
    requires(R const& r) {
  std::size(r);
};

/// An argument that takes what std::span takes, a vector, an array ..., and braces:
///
///     contiguous_axes({16, 24, 24})
///
/// Valid during the call, which must copy what it keeps.
template <class T>
struct list_view : std::span<T const> {
  /// Braces.
  list_view(std::initializer_list<T> list) noexcept
      : std::span<T const>(list.begin(), list.size()) {}
  /// What std::span takes.
  template <class List>
  requires std::convertible_to<List const&, std::span<T const>> list_view(List const& list)
  noexcept : std::span<T const>(list) {}
};

/// Positions as a value, made of integers of any type:
///
///     attention_options{.query_positions = std::vector<std::int32_t>{7, 8}, .key_positions = ids}
///     m_rope.prepare({7, 8})
struct token_positions : std::vector<std::int64_t> {
  token_positions() = default;
  /// In braces.
  token_positions(std::initializer_list<std::int64_t> positions) : vector(positions) {}
  /// Moved, if the vector is given away.
  token_positions(std::vector<std::int64_t> positions) noexcept : vector(std::move(positions)) {}
  /// Of integers of any other type. Throws std::invalid_argument unless each position fits int64.
  template <integer_range Integers>
  token_positions(Integers const& positions) {
    reserve(static_cast<std::size_t>(std::size(positions)));
    for (auto const p : positions) {
      detail::require_position("token_positions", p, size());
      push_back(static_cast<std::int64_t>(p));
    }
  }
};

}  // namespace posenc
