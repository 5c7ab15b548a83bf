// Numbers of one head between their storage type and the type of arithmetic.
#pragma once

#include <cstddef>
#include <span>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Stores numbers, each rounded once to nearest even, at any address.
template <storable T>
void store_numbers(std::span<arithmetic_t<T> const> from, T* to) noexcept {
  using out = lanes<T>;
  using in = typename out::arithmetic_lanes;
  auto const whole = in::size > 1 ? from.size() / in::size * in::size : 0;
  auto const at = [&](std::size_t i) POSENC_INLINED { return in::load(from.data() + i); };
  std::size_t first = 0;
  if constexpr (requires(typename in::number x) { out::store_two(to, x, x); }) {
    for (; whole - first >= 2 * in::size; first += 2 * in::size)
      out::store_two(to + first, at(first), at(first + in::size));
  }
  for (auto i = first; i < whole; i += in::size) out::store(to + i, at(i));
  for (auto i = whole; i < from.size(); ++i) {
    T number;
    store(number, from[i]);
    put(reinterpret_cast<std::byte*>(to) + i * sizeof(T), number);
  }
}

/// Loads numbers from any address.
template <storable T>
void load_numbers(T const* from, std::span<arithmetic_t<T>> to) noexcept {
  using in = lanes<T>;
  auto const whole = in::size > 1 ? to.size() / in::size * in::size : 0;
  for (std::size_t i = 0; i < whole; i += in::size)
    in::arithmetic_lanes::store(to.data() + i, in::load(from + i));
  for (auto i = whole; i < to.size(); ++i)
    to[i] = load(number_at<T>(reinterpret_cast<std::byte const*>(from + i)));
}

}}}  // namespace posenc::detail
