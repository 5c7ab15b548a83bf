// Rows of numbers in registers of doubles.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>

#include "posenc/core/target.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Calls what(register of doubles, first index, how many of its numbers are of the row) along a row
/// of T; zeros pad the last register.
template <std::floating_point T>
[[gnu::always_inline]] inline void for_doubles(std::span<T const> row, auto&& what) noexcept {
  constexpr auto size = lanes<double>::size;
  std::array<double, size> wide;
  std::size_t s = 0;
  for (; s + size <= row.size(); s += size) {
    for (std::size_t i = 0; i < size; ++i) wide[i] = static_cast<double>(row[s + i]);
    what(lanes<double>::load(wide.data()), s, size);
  }
  if (s == row.size()) return;
  for (std::size_t i = 0; i < size; ++i)
    wide[i] = s + i < row.size() ? static_cast<double>(row[s + i]) : 0;
  what(lanes<double>::load(wide.data()), s, row.size() - s);
}

}  // namespace posenc::detail
