// e^x for a register of x <= 0, as softmax needs it, and the tanh that soft-capping needs.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/polynomial.hpp"
#include "posenc/simd/quotient.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Below it, e^x is no normal float (double), and the result is 0.
template <std::floating_point T>
inline constexpr T lowest_exponent = std::same_as<T, float> ? T(-87) : T(-708);

template <std::floating_point T>
T exponential(one_lane<T>, T x) noexcept {
  return x < lowest_exponent<T> ? T{0} : std::exp(x);
}

/// 0 for -infinity, 1 for all else.
template <std::floating_point T>
T one_unless_masked(one_lane<T>, T x) noexcept {
  return is_negative_infinity(x) ? T{0} : T{1};
}

template <std::floating_point T>
T hyperbolic_tangent(one_lane<T>, T x) noexcept {
  return std::tanh(x);
}

#if !defined(POSENC_NO_REGISTERS)

/// The bits of T as a number, a register of them, and a register of T.
template <std::floating_point T>
using word_of = std::conditional_t<std::same_as<T, float>, std::uint32_t, std::uint64_t>;
template <std::floating_point T>
using bits_of = vectors::batch<word_of<T>>;
template <std::floating_point T>
using register_of = typename lanes<T>::number;

/// The coefficients of e^r ~ 1 + r + r^2 (...) for |r| <= ln 2 / 2, the highest power first, from
/// the Remez algorithm. The relative error is below 3.9e-9 in float and 1.2e-17 in double.
template <std::floating_point T>
struct series_of_exponential {
  static constexpr std::array coefficients{0x1.ad7f745fdf22dp-26,
                                           0x1.28ad68951d5bap-22,
                                           0x1.71df253e0e215p-19,
                                           0x1.a0199a16f2273p-16,
                                           0x1.a01a012a68206p-13,
                                           0x1.6c16c18426664p-10,
                                           0x1.1111111127bap-7,
                                           0x1.555555555088cp-5,
                                           0x1.55555555554fap-3,
                                           0x1.000000000000ap-1,
                                           1.0,
                                           1.0};
};
template <>
struct series_of_exponential<float> {
  static constexpr std::array coefficients{
      0x1.6a2458p-10f, 0x1.1239d4p-7f, 0x1.5558f2p-5f, 0x1.555492p-3f, 0x1.fffffcp-2f, 1.0f, 1.0f};
};

/// x = n ln 2 + r with n = round(x / ln 2), |r| <= ln 2 / 2.
template <std::floating_point T>
struct split_exponent {
  register_of<T> power, rest;  ///< 2^n, r

  POSENC_ALWAYS_INLINE explicit split_exponent(register_of<T> const& x) noexcept {
    using number = register_of<T>;
    using word = word_of<T>;
    constexpr int places = std::numeric_limits<T>::digits - 1;
    // Adding it rounds to an integer, which the last bits then hold. It has the bias of exponents,
    // so that these bits are the exponent of 2^n.
    constexpr word bias = std::numeric_limits<T>::max_exponent - 1;
    constexpr auto to_integer = static_cast<T>((word{3} << (places - 1)) + bias);
    // ln 2 in two parts, written out (long double varies); the first times any n is exact.
    constexpr auto ln2_first = std::same_as<T, float> ? T(0x1.62e4p-1) : T(0x1.62e42fefa38p-1);
    constexpr auto ln2_rest = std::same_as<T, float> ? T(0x1.7f7d1cp-20) : T(0x1.ef35793c7673p-45);

    auto shifted = lanes<T>::multiply_add(x, number(std::numbers::log2e_v<T>), number(to_integer));
    as_written(shifted);  // else to_integer would cancel
    auto n = shifted - number(to_integer);
    as_written(n);  // else the product with ln 2 would be distributed
    auto most = lanes<T>::multiply_add(n, number(-ln2_first), x);
    as_written(most);  // else the two parts of ln 2 would be combined
    rest = lanes<T>::multiply_add(n, number(-ln2_rest), most);
    power = bits_as<T>(bits_as<word>(shifted) << places);
  }
};

#if defined(__AVX512F__)
POSENC_QUIET_BEGIN
/// e^x = 2^n 2^(x / ln 2 - n), as exact as the function below. AVX-512 has one instruction that
/// scales by powers of 2 and makes 0 of what a mask leaves out.
POSENC_ALWAYS_INLINE inline register_of<float> exponential_of_16(
    register_of<float> const& x) noexcept {
  using number = register_of<float>;
  static constexpr auto coefficients = [] {
    auto of_twos = series_of_exponential<float>::coefficients;
    double factor = 1;
    for (auto i = of_twos.size(); i-- > 0; factor *= std::numbers::ln2)
      of_twos[i] = static_cast<float>(double{of_twos[i]} * factor);
    return of_twos;
  }();
  constexpr auto to_integer = 0x1.8p+23f;  // adding it rounds to an integer
  auto const log2e = number(std::numbers::log2e_v<float>);
  auto shifted = lanes<float>::multiply_add(x, log2e, number(to_integer));
  as_written(shifted);  // else to_integer would cancel
  auto n = shifted - number(to_integer);
  as_written(n);  // else the product would be distributed
  auto const series =
      polynomial<lanes<float>>(coefficients, lanes<float>::multiply_subtract(x, log2e, n));
  auto const is_normal =
      _mm512_cmp_ps_mask(x.data, _mm512_set1_ps(lowest_exponent<float>), _CMP_NLT_UQ);  // or NaN
  return number(_mm512_maskz_scalef_ps(is_normal, series.data, n.data));
}
POSENC_QUIET_END
#endif

/// e^x = 2^n e^r, off by at most 2 + |x| roundings; the series by an eighth of one. NaN gives NaN.
template <std::floating_point T>
requires has_registers<T> POSENC_ALWAYS_INLINE inline register_of<T> exponential(
    lanes<T>, register_of<T> const& x) noexcept {
#if defined(__AVX512F__)
  if constexpr (std::same_as<T, float> && lanes<T>::size == 16) return exponential_of_16(x);
#endif
  split_exponent<T> const parts(x);
  auto const series = polynomial<lanes<T>>(series_of_exponential<T>::coefficients, parts.rest);
  // Whether x is below the lowest exponent (or -infinity) but not NaN. The bits of negative numbers
  // grow with their magnitude.
  auto const lowest = detail::bit_cast<word_of<T>>(lowest_exponent<T>),
             infinity = detail::bit_cast<word_of<T>>(negative_infinity<T>);
  auto const is_low =
      bits_as<word_of<T>>(x) - bits_of<T>(lowest + 1) < bits_of<T>(infinity - lowest);
  // The power is multiplied, not added as bits, so that NaN stays NaN.
  return bits_as<T>(
      chosen(is_low, bits_of<T>(word_of<T>{0}), bits_as<word_of<T>>(series * parts.power)));
}

/// e^x - 1 = 2^n (e^r - 1) + (2^n - 1), for x from the lowest exponent to 0. e^r - 1 is r + r^2
/// (1/2 + ...), off by 3 roundings of itself; so the sum, whose terms do not cancel to less than a
/// third of either, is within 4 roundings of itself.
template <std::floating_point T>
requires has_registers<T> POSENC_ALWAYS_INLINE inline register_of<T> exponential_less_1(
    lanes<T>, register_of<T> const& x) noexcept {
  split_exponent<T> const parts(x);
  auto const series = polynomial<lanes<T>, 2>(series_of_exponential<T>::coefficients, parts.rest);
  auto of_rest = lanes<T>::multiply_add(series * parts.rest, parts.rest, parts.rest);
  auto of_power = parts.power - register_of<T>(T{1});
  as_written(of_rest), as_written(of_power);  // else 2^n would be taken out of the sum
  return lanes<T>::multiply_add(parts.power, of_rest, of_power);
}

template <std::floating_point T>
requires has_registers<T> POSENC_ALWAYS_INLINE inline register_of<T> one_unless_masked(
    lanes<T>, register_of<T> const& x) noexcept {
  using word = word_of<T>;
  auto const is_masked =
      bits_as<word>(x) == bits_of<T>(detail::bit_cast<word>(negative_infinity<T>));
  return bits_as<T>(
      chosen(is_masked, bits_of<T>(word{0}), bits_of<T>(detail::bit_cast<word>(T{1}))));
}

/// tanh x = -m / (2 + m) with m = e^(-2 |x|) - 1, and the sign of x: no difference cancels. m is
/// off by 4 roundings, which the quotient makes at most 6; with its own and that of 2 + m, 8
/// roundings. 1 beyond |x| = 22, where m is -1. NaN gives any number.
template <std::floating_point T>
requires has_registers<T> POSENC_ALWAYS_INLINE inline register_of<T> hyperbolic_tangent(
    lanes<T>, register_of<T> const& x) noexcept {
  using number = register_of<T>;
  using word = word_of<T>;
  bits_of<T> const sign(word{1} << (8 * sizeof(T) - 1)), of_x = bits_as<word>(x);
  auto const magnitude = bits_as<T>(of_x & ~sign);
  auto const m =
      exponential_less_1(lanes<T>(), lanes<T>::larger(number(T{-44}), number(T{-2}) * magnitude));
  number const positive = quotient(m, number(m + number(T{2})));
  return bits_as<T>((bits_as<word>(positive) & ~sign) | (of_x & sign));
}

#endif

}}}  // namespace posenc::detail
