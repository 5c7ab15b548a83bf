// A polynomial of a register of numbers.
#pragma once

#include <array>
#include <cstddef>

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// a[0] x^(n - 1) + ... + a[n - 1], of a series without its `Left` last coefficients.
template <class Lanes, std::size_t Left = 0, class Number, std::size_t Size>
POSENC_ALWAYS_INLINE inline auto polynomial(std::array<Number, Size> const& a,
                                            typename Lanes::number const& x) noexcept {
  typename Lanes::number sum(a[0]);
  for (std::size_t k = 1; k + Left < Size; ++k)
    sum = Lanes::multiply_add(sum, x, typename Lanes::number(a[k]));
  return sum;
}

}}}  // namespace posenc::detail
