#pragma once

/// Numbers with 64 bits before the binary point and 320 behind it, in integers: wider than any
/// floating-point type, the same on every platform, and under -ffast-math. Made for clarity, not
/// for speed: logarithm, exponential and sine are correct to about 2^-250.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>

namespace oracle {

class fixed_point {
 public:
  fixed_point() = default;
  /// Exact for |x| < 2^63, except for bits beyond the last.
  explicit fixed_point(double x) {
    int exponent = 0;
    auto const mantissa =
        static_cast<std::int64_t>(std::ldexp(std::frexp(std::abs(x), &exponent), 53));
    *this = whole(mantissa);
    for (auto shift = exponent - 53; shift != 0; shift += shift < 0 ? 1 : -1)
      *this = shift < 0 ? half() : *this + *this;
    if (x < 0) *this = -*this;
  }
  static fixed_point whole(std::int64_t n) {
    fixed_point result;
    auto const bits = static_cast<std::uint64_t>(n);
    result.limbs_[size - 2] = static_cast<std::uint32_t>(bits),
                         result.limbs_[size - 1] = static_cast<std::uint32_t>(bits >> 32);
    return result;
  }

  bool negative() const { return limbs_[size - 1] >> 31 != 0; }
  double number() const {
    if (negative()) return -(-*this).number();
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i)
      sum += std::ldexp(static_cast<double>(limbs_[i]), 32 * (static_cast<int>(i) - places));
    return sum;
  }

  fixed_point operator-() const {
    fixed_point result;
    std::uint64_t carry = 1;
    for (std::size_t i = 0; i < size; ++i, carry >>= 32) {
      carry += ~limbs_[i] & 0xffff'ffff;
      result.limbs_[i] = static_cast<std::uint32_t>(carry);
    }
    return result;
  }
  friend fixed_point operator+(fixed_point const& a, fixed_point const& b) {
    fixed_point result;
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < size; ++i, carry >>= 32) {
      carry += std::uint64_t{a.limbs_[i]} + b.limbs_[i];
      result.limbs_[i] = static_cast<std::uint32_t>(carry);
    }
    return result;
  }
  friend fixed_point operator-(fixed_point const& a, fixed_point const& b) { return a + -b; }
  friend fixed_point operator*(fixed_point const& a, fixed_point const& b) {
    if (a.negative()) return -(-a * b);
    if (b.negative()) return -(a * -b);
    std::array<std::uint32_t, 2 * size> product{};
    for (std::size_t i = 0; i < size; ++i) {
      std::uint64_t carry = 0;
      for (std::size_t j = 0; j < size; ++j, carry >>= 32) {
        carry += product[i + j] + std::uint64_t{a.limbs_[i]} * b.limbs_[j];
        product[i + j] = static_cast<std::uint32_t>(carry);
      }
      product[i + size] = static_cast<std::uint32_t>(carry);
    }
    fixed_point result;
    for (std::size_t i = 0; i < size; ++i) result.limbs_[i] = product[i + places];
    return result;
  }
  friend fixed_point operator/(fixed_point const& a, std::uint32_t n) {
    if (a.negative()) return -(-a / n);
    fixed_point result;
    std::uint64_t rest = 0;
    for (auto i = size; i-- > 0;) {
      rest = rest << 32 | a.limbs_[i];
      result.limbs_[i] = static_cast<std::uint32_t>(rest / n), rest %= n;
    }
    return result;
  }

 private:
  static constexpr std::size_t size = 12;
  static constexpr int places = 10;
  fixed_point half() const { return *this / 2; }

  std::array<std::uint32_t, size> limbs_{};  // two's complement, the lowest first
};

inline fixed_point exp(fixed_point const& x) {
  auto const least = x / (1u << 31);
  auto sum = fixed_point::whole(1), term = sum;
  for (std::uint32_t k = 1; k < 20; ++k) term = term * least / k, sum = sum + term;
  for (int i = 0; i < 31; ++i) sum = sum * sum;
  return sum;
}

/// ln x for x in (2^-40, 2^62).
inline fixed_point log(fixed_point const& x) {
  fixed_point y(std::log(x.number()));
  for (int i = 0; i < 5; ++i)
    y = y + x * exp(-y) - fixed_point::whole(1);  // doubles the places that are right
  return y;
}

inline fixed_point quotient(fixed_point const& a, fixed_point const& b) {
  fixed_point y(1 / b.number());
  for (int i = 0; i < 5; ++i) y = y + y * (fixed_point::whole(1) - b * y);
  return a * y;
}

inline fixed_point const& pi_in_fixed_point() {
  static fixed_point const value = [] {
    auto const atan_of_one_over = [](std::uint32_t n) {
      auto term = fixed_point::whole(1) / n, sum = term;
      for (std::uint32_t k = 3; k < 300; k += 2) term = -(term / n / n), sum = sum + term / k;
      return sum;
    };
    return fixed_point::whole(16) * atan_of_one_over(5) -
           fixed_point::whole(4) * atan_of_one_over(239);
  }();
  return value;
}

/// cos and sin of any angle.
inline std::pair<fixed_point, fixed_point> cos_sin(fixed_point x) {
  auto const turn = pi_in_fixed_point() + pi_in_fixed_point();
  for (auto n = std::nearbyint(x.number() / turn.number()); n != 0;
       n = std::nearbyint(x.number() / turn.number()))
    x = x - fixed_point(n) * turn;
  auto cos = fixed_point::whole(1), sin = x, term = x;
  for (std::uint32_t k = 2; k < 100; ++k) {
    term = term * x / k;
    (k % 2 == 0 ? cos : sin) = (k % 2 == 0 ? cos : sin) + (k % 4 < 2 ? term : -term);
  }
  return {cos, sin};
}

}  // namespace oracle
