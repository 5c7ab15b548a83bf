// Whether what lies at strides fits into memory.
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// |stride|.
constexpr std::size_t magnitude(std::ptrdiff_t stride) noexcept {
  return stride < 0 ? 0 - static_cast<std::size_t>(stride) : static_cast<std::size_t>(stride);
}

/// How many elements of `size` bytes memory has at most: addresses differ by a std::ptrdiff_t.
constexpr std::size_t room_of_memory(std::size_t size) noexcept {
  return static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / size;
}

/// `count` things, each `stride` behind the one before, or before it.
struct repeated {
  std::size_t count;
  std::ptrdiff_t stride;
};

/// Whether `width` neighbours, and all their repetitions, span at most `room`: in elements, as
/// room_of_memory counts them, or in bytes. No sum and no product overflows.
POSENC_ALWAYS_INLINE constexpr bool fits_into_memory(
    std::size_t room, std::size_t width, std::same_as<repeated> auto const&... each) noexcept {
  if (width > room) return false;
  room -= width;
  [[maybe_unused]] auto const take = [&room](repeated const& of) {
    auto const steps = of.count == 0 ? 0 : of.count - 1, stride = magnitude(of.stride);
    // A division costs as much as rotating a head.
    constexpr auto root = std::size_t{1} << std::numeric_limits<std::size_t>::digits / 2;
    bool const fits = steps < root && stride < root ? steps * stride <= room
                                                    : steps == 0 || stride <= room / steps;
    if (fits) room -= steps * stride;
    return fits;
  };
  return (take(each) && ...);
}

}}}  // namespace posenc::detail
