#pragma once

/// The arithmetic of the conformance set: numbers of 320 bits behind the point, in integers, so
/// that every platform and every compiler writes the same digits. Nothing here is of posenc's
/// headers.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "oracle/fixed_point.hpp"

namespace exact {

using number = oracle::fixed_point;
using series = std::vector<number>;  ///< one frequency per pair, in radians per position

inline number whole(std::int64_t n) { return number::whole(n); }
inline number ratio(std::int64_t a, std::int64_t b) { return oracle::quotient(whole(a), whole(b)); }
inline number operator/(number const& a, number const& b) { return oracle::quotient(a, b); }

/// x^y for x in (2^-40, 2^62).
inline number power(number const& x, number const& y) { return oracle::exp(y * oracle::log(x)); }

inline number turn() { return oracle::pi_in_fixed_point() + oracle::pi_in_fixed_point(); }

/// The nearest double; 0 below 2^-250, where only rounding is left, and where no formula of the set
/// comes but at 0.
inline double nearest(number const& x) {
  auto const first = x.number();
  if (first < 0x1p-250 && first > -0x1p-250) return 0;
  return first + (x - number(first)).number();
}

inline bool less(number const& a, number const& b) { return (a - b).negative(); }
inline number smaller(number const& a, number const& b) { return less(a, b) ? a : b; }
inline number larger(number const& a, number const& b) { return less(a, b) ? b : a; }

/// The largest integer that is not above x, where 2^-200 below an integer counts as that integer.
inline std::int64_t floor_of(number const& x) {
  auto n = static_cast<std::int64_t>(x.number());
  auto const slack = oracle::exp(-whole(138));
  while (less(x + slack, whole(n))) --n;
  while (!less(x + slack, whole(n + 1))) ++n;
  return n;
}

}  // namespace exact
