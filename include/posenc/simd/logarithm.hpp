// ln(1 + x) for a register of doubles, as biases by the logarithm of a distance need it.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/polynomial.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

inline double log_1_plus(one_lane<double>, double x) noexcept { return std::log1p(x); }

#if !defined(POSENC_NO_REGISTERS)

/// 2 / (2 j + 1), from j = 10 down to 1: with s = f / (2 + f), ln(1 + f) = 2 s + s (2/3 s^2 + ...).
inline constexpr auto series_of_logarithm = [] {
  std::array<double, 10> coefficients{};
  for (std::size_t j = 1; j <= 10; ++j) coefficients[10 - j] = 2 / static_cast<double>(2 * j + 1);
  return coefficients;
}();

/// ln(1 + x) = k ln 2 + ln(1 + f), 1 + x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for x in [0,
/// 2^1000]. |s| < 0.172, so the series ends below a quarter of the last bit. 1 + x has two parts,
/// so that f is rounded once, and ln(1 + f) off by 4 roundings of itself. Error at most 8
/// roundings.
template <several_lanes Lanes>
POSENC_ALWAYS_INLINE inline typename Lanes::number log_1_plus(
    Lanes, typename Lanes::number const& x) noexcept {
  using number = typename Lanes::number;
  using bits = decltype(bits_as<std::uint64_t>(x));
  number const one(1.0);
  constexpr auto ln2_first = 0x1.62e42fefa38p-1, ln2_rest = 0x1.ef35793c7673p-45;  // 9 bits are 0

  auto sum = one + x;
  as_written(sum);
  auto of_x = sum - one;  // what the sum has of x
  as_written(of_x);
  auto of_one = sum - of_x;
  as_written(of_one);
  auto lost_of_one = one - of_one;
  as_written(lost_of_one);  // else 1 + x would be put together again
  auto const lost = lost_of_one + (x - of_x);

  auto const of_sum = bits_as<std::uint64_t>(sum);
  auto const root_of_half = detail::bit_cast<std::uint64_t>(std::numbers::sqrt2 / 2);
  auto const k = (of_sum - bits(root_of_half)) >> 52;
  auto const exponent = k << 52;
  auto const power =
      bits_as<double>(bits(detail::bit_cast<std::uint64_t>(1.0)) - exponent);  // 2^-k
  auto const f = Lanes::multiply_add(lost, power, bits_as<double>(of_sum - exponent) - one);
  // k as a number, by way of the last bits of 2^52.
  auto shifted = bits_as<double>(k + bits(detail::bit_cast<std::uint64_t>(0x1p52)));
  as_written(shifted);
  auto const whole = shifted - number(0x1p52);

  auto const s = f / (f + number(2.0)), square = s * s;
  auto const series = polynomial<Lanes>(series_of_logarithm, square);
  auto rest = Lanes::multiply_add(s * square, series, s + s);
  as_written(rest);
  rest = Lanes::multiply_add(whole, number(ln2_rest), rest);
  return Lanes::multiply_add(whole, number(ln2_first), rest);
}

#endif

}}}  // namespace posenc::detail
