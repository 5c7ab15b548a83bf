// Lists of numbers as arguments, in braces too.
#pragma once

#include <concepts>
#include <initializer_list>
#include <span>
#include <utility>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// An argument that takes what std::span takes, a vector, an array ..., and braces:
///
///     contiguous_axes({16, 24, 24})
///
/// Valid during the call, which must copy what it keeps.
template <class T>
struct list_view : std::span<T const> {
  /// Of a list in braces, which lives until the call returns.
  list_view(std::initializer_list<T> list) noexcept
      : std::span<T const>(list.begin(), list.size()) {}
  /// Of what std::span takes: a vector, an array, a span.
  template <class List>
  requires std::convertible_to<List const&, std::span<T const>> list_view(List const& list)
  noexcept : std::span<T const>(list) {}
};

namespace detail {

/// Of a vector, an array, a span ...: its span, and the type of its numbers.
template <class R>
using span_of = decltype(std::span(std::declval<R&>()));
template <class R>
using span_value_t = typename span_of<R>::value_type;

}  // namespace detail
}  // namespace posenc
