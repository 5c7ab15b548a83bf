// Rows of numbers in registers of doubles.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// A register of doubles, as many numbers of T.
template <std::floating_point T, class Number = typename lanes<double>::number>
POSENC_ALWAYS_INLINE inline Number load_doubles(T const* from) noexcept {
  if constexpr (std::same_as<T, double>) {
    return lanes<double>::load(from);
  } else if constexpr (requires(Number x) { load_floats(from, x.data); }) {
    Number x;
    load_floats(from, x.data);
    return x;
  } else {
    std::array<double, lanes<double>::size> wide;
    std::copy_n(from, wide.size(), wide.begin());
    return lanes<double>::load(wide.data());
  }
}
/// Rounded to T, once.
template <std::floating_point T, class Number = typename lanes<double>::number>
POSENC_ALWAYS_INLINE inline void store_doubles(T* to, Number const& x) noexcept {
  if constexpr (std::same_as<T, double>) {
    lanes<double>::store(to, x);
  } else if constexpr (requires { store_floats(to, x.data); }) {
    store_floats(to, x.data);
  } else {
    std::array<double, lanes<double>::size> wide;
    lanes<double>::store(wide.data(), x);
    std::ranges::transform(wide, to, [](double number) { return static_cast<T>(number); });
  }
}

/// The doubles from `first` on of a row; zeros beyond its end.
template <std::floating_point T>
POSENC_ALWAYS_INLINE inline typename lanes<double>::number doubles_of(std::span<T const> row,
                                                                      std::size_t first) noexcept {
  constexpr auto size = lanes<double>::size;
  if (first + size <= row.size()) return load_doubles(row.data() + first);
  std::array<T, size> rest{};
  std::copy(row.begin() + static_cast<std::ptrdiff_t>(first), row.end(), rest.begin());
  return load_doubles(rest.data());
}

/// A row of numbers in double, with zeros behind it up to whole registers.
template <std::floating_point T>
std::vector<double> doubles_of(std::span<T const> row) {
  constexpr auto size = lanes<double>::size;
  std::vector<double> all((row.size() + size - 1) / size * size, 0);
  std::copy(row.begin(), row.end(), all.begin());
  return all;
}

/// row[i ...] = what(register of doubles, i), a register at a time.
template <std::floating_point T>
POSENC_ALWAYS_INLINE inline void change_doubles(std::span<T> row, auto&& what) noexcept {
  constexpr auto size = lanes<double>::size;
  std::size_t i = 0;
  for (; i + size <= row.size(); i += size)
    store_doubles(row.data() + i, what(load_doubles<T>(row.data() + i), i));
  if (i == row.size()) return;
  std::array<T, size> rest;
  store_doubles(rest.data(), what(doubles_of<T>(row, i), i));
  std::copy_n(rest.begin(), row.size() - i, row.begin() + static_cast<std::ptrdiff_t>(i));
}

/// x where `of` is finite, else `otherwise`; under -ffast-math too.
inline double where_finite(one_lane<double>, double of, double x, double otherwise) noexcept {
  return is_finite(of) ? x : otherwise;
}
template <several_lanes Lanes, class Number>
POSENC_ALWAYS_INLINE inline Number where_finite(Lanes, Number const& of, Number const& x,
                                                Number const& otherwise) noexcept {
  using bits = decltype(bits_as<std::uint64_t>(of));
  bits const exponent(std::uint64_t{0x7ff} << 52);
  auto const not_finite = (bits_as<std::uint64_t>(of) & exponent) == exponent;
  return bits_as<double>(
      chosen(not_finite, bits_as<std::uint64_t>(otherwise), bits_as<std::uint64_t>(x)));
}

/// from - to[i] of a register of integers, if each is in [0, 2^52); else false.
inline bool differences(one_lane<double>, std::int64_t from, std::int64_t const* to,
                        double& result) noexcept {
  auto const difference = static_cast<std::uint64_t>(from) - static_cast<std::uint64_t>(*to);
  result = static_cast<double>(difference);
  return difference >> 52 == 0;
}
template <several_lanes Lanes, class Number>
POSENC_ALWAYS_INLINE inline bool differences(Lanes, std::int64_t from, std::int64_t const* to,
                                             Number& result) noexcept {
  using bits = decltype(bits_as<std::uint64_t>(result));
  auto const integers = bits(static_cast<std::uint64_t>(from)) -
                        bits::load_unaligned(reinterpret_cast<std::uint64_t const*>(to));
  if (any((integers >> 52) != bits(std::uint64_t{0}))) return false;
  // The last bits of 2^52 are integers.
  auto shifted = bits_as<double>(integers | bits(detail::bit_cast<std::uint64_t>(0x1p52)));
  as_written(shifted);
  result = shifted - Number(0x1p52);
  return true;
}

/// Whether each number is in [from, to).
inline bool all_within(one_lane<double>, double x, double from, double to) noexcept {
  return from <= x && x < to;
}
template <several_lanes Lanes, class Number>
POSENC_ALWAYS_INLINE inline bool all_within(Lanes, Number const& x, double from,
                                            double to) noexcept {
  return all((x >= Number(from)) & (x < Number(to)));
}

}}}  // namespace posenc::detail
