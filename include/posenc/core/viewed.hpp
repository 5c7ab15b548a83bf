// Numbers that a value keeps by address, which a temporary does not give.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <type_traits>

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// An array that may be viewed beyond the line: an object with a name, or a view itself, like a
/// std::span.
template <class R>
concept outlives_its_line =
    std::ranges::borrowed_range<R> || std::remove_cvref_t<R>::views_what_has_a_name;
/// An array, vector ... without a name, which ends with its line.
template <class R>
concept ends_with_its_line = std::ranges::range<R> && !outlives_its_line<R>;

}  // namespace detail

/// A std::span<T const> of an array, vector or span that has a name, or of what another view shows;
/// a vector without a name is a compile error. As a member of a struct, or an argument that is
/// kept.
template <class T>
struct viewed : std::span<T const> {
  static constexpr bool views_what_has_a_name = true;  ///< so it may itself have none

  viewed() = default;
  /// From an object with a name.
  template <class List>
  requires std::convertible_to<List&, std::span<T const>> viewed(List& list)
  noexcept : std::span<T const>(list) {}
  /// From a view, which may be a temporary.
  template <detail::outlives_its_line List>
  requires std::convertible_to<List const&, std::span<T const>> viewed(List const&& list)
  noexcept : std::span<T const>(list) {}
  /// The numbers at an address.
  viewed(T const* first, std::size_t count) noexcept : std::span<T const>(first, count) {}
  template <detail::ends_with_its_line List>
  viewed(List const&&) = delete;  // posenc: what is viewed must have a name
};

}}  // namespace posenc
