// Numbers of two doubles: the second is the rounding error of the first.
#pragma once

#include <cmath>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// high + low, high the double nearest to the sum. Operations: relative error of a few 2^-104.
struct two_doubles {
  double high, low;
  two_doubles(double x, double rest = 0) noexcept : high(x), low(rest) {}
};

/// a + b, exactly. [Knuth, The Art of Computer Programming 2, 4.2.2]
inline two_doubles exact_sum(double a, double b) noexcept {
  auto const sum = stored(a + b), of_b = stored(sum - a), of_a = stored(sum - of_b);
  return {sum, stored(stored(a - of_a) + stored(b - of_b))};
}

inline two_doubles operator-(two_doubles const& a) noexcept { return {-a.high, -a.low}; }
inline two_doubles operator+(two_doubles const& a, two_doubles const& b) noexcept {
  auto const high = exact_sum(a.high, b.high), low = exact_sum(a.low, b.low),
             both = exact_sum(high.high, stored(high.low + low.high));
  return exact_sum(both.high, stored(both.low + low.low));
}
inline two_doubles operator-(two_doubles const& a, two_doubles const& b) noexcept { return a + -b; }
inline two_doubles operator*(two_doubles const& a, two_doubles const& b) noexcept {
  auto const product = stored(a.high * b.high), error = std::fma(a.high, b.high, -product);
  return exact_sum(product, stored(error + stored(a.high * b.low + a.low * b.high)));
}
inline two_doubles operator/(two_doubles const& a, two_doubles const& b) noexcept {
  auto const first = stored(a.high / b.high);
  auto const rest = a - b * first;
  auto const second = stored(rest.high / b.high);
  return exact_sum(first, second) + stored((rest - b * second).high / b.high);
}

inline two_doubles two_pi() noexcept { return {6.283185307179586, 2.4492935982947064e-16}; }
inline two_doubles ln2() noexcept { return {0.6931471805599453, 2.3190468138462996e-17}; }

/// e^x: x = n ln 2 + r; e^(r / 2^8) - 1 by its Taylor series, then eight squarings. Relative error
/// 2^-102 + |x| 2^-105, absolute error 2^-1073. 0 below x = -746, and e^709 above 709.
inline two_doubles exp(two_doubles const& x) noexcept {
  if (x.high < -746) return 0;
  if (x.high > 709) return exp(709);
  auto const n = std::round(x.high / ln2().high);
  auto const r = (x - ln2() * n) * 0x1p-8;
  double tail = 1;  // the terms below 2^-56
  for (int k = 10; k > 6; --k) tail = r.high * tail / k + 1;
  two_doubles series = tail;
  for (int k = 6; k > 1; --k) series = r * series / k + 1;
  auto less_one = r * series;
  for (int i = 0; i < 8; ++i) less_one = less_one * 2 + less_one * less_one;
  auto const e = less_one + 1;
  return {std::ldexp(e.high, static_cast<int>(n)), std::ldexp(e.low, static_cast<int>(n))};
}

/// ln x for x = 2^n m > 0: ln m by std::log and one Newton step. Error 2^-102 max(1, |ln x|).
inline two_doubles log(two_doubles const& x) noexcept {
  int n = 0;
  if (std::frexp(x.high, &n) < 0.7) --n;  // so that the logarithm of 1 is 0
  two_doubles const mantissa(std::ldexp(x.high, -n), std::ldexp(x.low, -n)),
      rough = std::log(mantissa.high);
  auto const rest = mantissa * exp(-rough) - 1;
  return ln2() * n + (rough + (rest - rest * rest * 0.5));
}

/// x^y for x > 0, relative error (1 + |y ln x|) 2^-101.
inline two_doubles pow(two_doubles const& x, two_doubles const& y) noexcept {
  return exp(y * log(x));
}

}}}  // namespace posenc::detail
