// Keys and values as attention reads them, and copies in the type with which it computes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/chosen_format.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/x86_bfloat16_products.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The type of arithmetic on what a view shows.
template <class View>
using arithmetic_of = arithmetic_t<typename View::element_type>;

/// Keys or values to be read.
template <any_heads Heads>
auto to_read(Heads const& x) {
  if constexpr (heads_of_numbers<Heads>) {
    return x.to_read();
  } else {
    return x;
  }
}
/// Copies tokens and heads as dense numbers, [tokens][heads][head_dim], to be computed with.
template <class T, class Heads>
heads_view<T> copied(T* to, Heads const& x) {
  heads_view<T> const copy(to, x.shape());
  [[maybe_unused]] constexpr std::size_t ahead = 8;  // tokens: no CPU foresees their stride
  for (std::size_t token = 0; token < x.tokens(); ++token) {
    for (std::size_t head = 0; head < x.heads(); ++head, to += x.head_dim()) {
      if constexpr (heads_of_numbers<Heads>) {
        if (token + ahead < x.tokens()) prefetch_numbers(x(token + ahead, head));
        for (auto const& number : x(token, head)) *to++ = load(number);
        to -= x.head_dim();
      } else {
        x.read(token, head, {to, x.head_dim()});
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

/// Heads that are T at strides, as they lie; no tokens of others.
template <class T, class Heads>
heads_view<T const> numbers_in_place(Heads const& x) {
  heads_view<T const> numbers = {nullptr, {0, 1, 1}};
  if constexpr (std::convertible_to<Heads, heads_view<T const>>) {
    numbers = x;
  } else if constexpr (chooses_format<Heads>) {
    visit_format(x, [&](auto const& in_format) {
      if constexpr (std::convertible_to<decltype(in_format), heads_view<T const>>)
        numbers = in_format;
    });
  }
  return numbers;
}
/// Heads of T, to compute with: the heads themselves if they are T at strides, otherwise copies.
template <class T, class Heads>
heads_view<T const> as_computed(T* numbers, Heads const& x) {
  auto const in_place = numbers_in_place<T>(x);
  return in_place.tokens() != 0 ? in_place : heads_view<T const>(copied<T>(numbers, x));
}

template <class Heads>
inline constexpr bool are_bfloat16 = false;
template <heads_of_numbers Heads>
inline constexpr bool are_bfloat16<Heads> =
    std::same_as<std::remove_const_t<typename Heads::element_type>, bfloat16>;

/// Whether heads may be bfloat16 numbers that the CPU multiplies, and whether they are: a format
/// that is known as the program runs says so.
template <class Heads>
concept may_be_words = (multiplies_bfloat16 && are_bfloat16<Heads>) ||
                       (may_multiply_bfloat16 && requires(Heads const& heads) {
                         { heads.format().multiplies_bfloat16() } -> std::same_as<bool>;
                       });
template <class Heads>
bool are_words(Heads const& heads) noexcept {
  if constexpr (requires { heads.format().multiplies_bfloat16(); }) {
    return heads.format().multiplies_bfloat16();
  } else {
    return are_bfloat16<Heads>;
  }
}
/// Copies heads that are bfloat16 numbers as words of two dims, [tokens][heads][words]; an odd last
/// dim has a 0 beside it.
template <class Heads>
void copy_words(float* to, Heads const& x) noexcept {
  if constexpr (chooses_format<Heads>) {
    visit_format(x, [&]<class Some>(Some const& some) {
      if constexpr (are_bfloat16<Some>) copy_words(to, some);
    });
  } else {
    auto const dims = x.head_dim(), words = (dims + 1) / 2;
    constexpr std::size_t ahead = 8;  // tokens: no CPU foresees their stride
    for (std::size_t token = 0; token < x.tokens(); ++token) {
      for (std::size_t head = 0; head < x.heads(); ++head, to += words) {
        if (token + ahead < x.tokens()) prefetch_numbers(x(token + ahead, head));
        to[words - 1] = 0;
        std::memcpy(to, x(token, head).data(), dims * sizeof(bfloat16));
      }
    }
  }
}

}  // namespace detail
}}  // namespace posenc
