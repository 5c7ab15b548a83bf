// Lists of numbers as arguments: vectors, arrays, spans, braces.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {
namespace detail {

/// The span of a vector, an array, a span ..., and the type of its numbers.
template <class R>
using span_of = decltype(std::span(std::declval<R&>()));
template <class R>
using span_value_t = typename span_of<R>::value_type;

template <class R>
using number_in = std::remove_cvref_t<decltype(*std::begin(std::declval<R const&>()))>;

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
  /// The argument of std::span.
  template <class List>
  requires std::convertible_to<List const&, std::span<T const>> list_view(List const& list)
  noexcept : std::span<T const>(list) {}
};

}}  // namespace posenc
