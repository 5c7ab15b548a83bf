// What attention reads keys and values of: a view with strides, tokens anywhere in memory, as paged
// caches hold them, or copies in the type that it computes with.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "posenc/core/heads_in_format.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {
/// dot_products.
template <class V>
concept dot_source = requires {
  requires V::by_dot_products;
};
}  // namespace detail

/// Where keys and values may be: heads_view, heads_view, or a cache's heads_view of any format;
/// or dot_products of these.
template <class V>
concept attended_heads = std::same_as<V, heads_view<typename V::element_type>> ||
    std::same_as<V, heads_view<typename V::element_type, in_pages>> || detail::encoded_source<V> ||
    detail::dot_source<V>;

namespace detail {

/// A view of heads whose tokens are anywhere: offsets[t] elements from `numbers`.
template <class S>
class scattered_heads {
 public:
  using element_type = S;

  scattered_heads(S* numbers, std::span<std::ptrdiff_t const> offsets, std::ptrdiff_t head_stride,
                  heads_shape const& shape) noexcept
      : numbers_(numbers), offsets_(offsets), head_stride_(head_stride), shape_(shape) {}

  std::size_t tokens() const noexcept { return shape_.tokens; }
  std::size_t heads() const noexcept { return shape_.heads; }
  std::size_t head_dim() const noexcept { return shape_.head_dim; }
  heads_shape const& shape() const noexcept { return shape_; }

  std::span<S> operator()(std::size_t token, std::size_t head) const noexcept {
    return {of_head(head) + offsets_[token], shape_.head_dim};
  }
  /// Precondition, not checked: they lie within this view.
  scattered_heads slice_tokens(std::size_t first, std::size_t count) const noexcept {
    return {numbers_,
            offsets_.subspan(first, count),
            head_stride_,
            {count, shape_.heads, shape_.head_dim}};
  }
  scattered_heads slice_heads(std::size_t first, std::size_t count) const noexcept {
    return {of_head(first), offsets_, head_stride_, {shape_.tokens, count, shape_.head_dim}};
  }

 private:
  S* of_head(std::size_t head) const noexcept {
    return numbers_ + static_cast<std::ptrdiff_t>(head) * head_stride_;
  }

  S* numbers_;
  std::span<std::ptrdiff_t const> offsets_;
  std::ptrdiff_t head_stride_;
  heads_shape shape_;
};

/// The type of arithmetic on what a view shows.
template <class View>
using arithmetic_of = arithmetic_t<typename View::element_type>;

heads_shape shape_of(auto const& x) noexcept { return {x.tokens(), x.heads(), x.head_dim()}; }

/// Keys or values to be read. Those of heads_view need memory for the offset of each token. Throws
/// std::invalid_argument, in the name of a function, unless each has a slot.
template <class S>
heads_view<S const> to_read(char const*, char const*, heads_view<S> const& x,
                            std::vector<std::ptrdiff_t>&) noexcept {
  return x;
}
template <class S>
scattered_heads<S const> to_read(char const* function, char const* what, heads_view<S, in_pages> const& x,
                                 std::vector<std::ptrdiff_t>& offsets) {
  offsets.resize(x.tokens());
  auto const* const first = x.tokens() == 0 ? nullptr : x.token(0);
  for (std::size_t t = 0; t < x.tokens(); ++t) {
    auto const* const token = x.token(t);
    require(token != nullptr, function, ": ", what, " must all have a slot, got none for token ",
            t);
    offsets[t] = token - first;
  }
  return {first, offsets, x.head_stride(), shape_of(x)};
}

template <encoded_source Heads>
Heads const& to_read(char const* function, char const* what, Heads const& x,
                     std::vector<std::ptrdiff_t>&) {
  for (std::size_t t = 0; t < x.tokens() && x.heads() > 0; ++t)
    require(x.has(t), function, ": ", what, " must all have a slot, got none for token ", t);
  return x;
}

/// One head of a view as numbers to be computed with.
template <class T, class Heads>
void read_head(Heads const& x, std::size_t token, std::size_t head, T* to) {
  if constexpr (encoded_source<Heads>) {
    x.read(token, head, {to, x.head_dim()});
  } else {
    std::ranges::transform(x(token, head), to, [](auto const& n) { return load(n); });
  }
}

/// Some tokens and heads of a view as dense numbers, [tokens][heads][head_dim], to be computed
/// with.
template <class T, class Heads>
heads_view<T> copied(T* to, Heads const& x) {
  heads_view<T> const copy(to, shape_of(x));
  [[maybe_unused]] constexpr std::size_t ahead = 8;  // tokens: no CPU foresees their stride
  for (std::size_t token = 0; token < x.tokens(); ++token) {
    for (std::size_t head = 0; head < x.heads(); ++head, to += x.head_dim()) {
      if constexpr (!encoded_source<Heads>)
        if (token + ahead < x.tokens()) prefetch_numbers(x(token + ahead, head));
      read_head(x, token, head, to);
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
    return x;
  } else {
    return copied<T>(numbers, x);
  }
}

}  // namespace detail
}  // namespace posenc
