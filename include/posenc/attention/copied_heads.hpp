// Heads in the type that attention computes with.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "posenc/core/heads_view.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Some tokens and heads of a view as dense numbers, [tokens][heads][head_dim], to be computed
/// with.
template <class T, class Heads>
heads_view<T> copied(T* to, Heads const& x) {
  using S = std::remove_const_t<typename Heads::element_type>;
  heads_view<T> const copy(to, x.shape());
  for (std::size_t token = 0; token < x.tokens(); ++token) {
    for (std::size_t head = 0; head < x.heads(); ++head) {
      auto const numbers = x(token, head);
      if constexpr (std::same_as<S, T>) {
        to = std::ranges::copy(numbers, to).out;
      } else {
        to = std::ranges::transform(numbers, to, [](S const& number) { return load(number); }).out;
      }
    }
  }
  return copy;
}
template <class T, class Heads>
heads_view<T> copied(std::vector<T>& numbers, Heads const& x) {
  numbers.resize(x.tokens() * x.heads() * x.head_dim());
  return copied(numbers.data(), x);
}

/// What is computed with, T, of heads that are not changed: themselves if they are stored so, with
/// strides.
template <class T, class Heads>
heads_view<T const> as_computed(std::vector<T>& numbers, Heads const& x) {
  if constexpr (std::convertible_to<Heads, heads_view<T const>>) {
#if defined(EIGEN_USE_BLAS)  // a BLAS takes no rows that overlap or go backwards
    if (x.strides().token < static_cast<std::ptrdiff_t>(x.head_dim())) return copied<T>(numbers, x);
#endif
    return x;
  } else {
    return copied<T>(numbers, x);
  }
}

}  // namespace posenc::detail
