#pragma once

/// A number as the sum of two doubles, 106 bits [Dekker 1971; Shewchuk 1997]. Not for -ffast-math.

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <type_traits>

namespace oracle {

class two_doubles {
 public:
  constexpr two_doubles() = default;
  constexpr two_doubles(std::floating_point auto x) : high_(static_cast<double>(x)) {
    if (sizeof(x) > sizeof(double) && high_ - high_ == 0)
      low_ = static_cast<double>(x - static_cast<decltype(x)>(high_));
  }
  constexpr two_doubles(std::integral auto x) {
    // By halves of 32 bits, each of which is a double; the upper one is signed.
    const auto upper =
        sizeof(x) > 4 ? static_cast<double>(static_cast<std::int64_t>(x) >> 32) * 0x1p32 : 0.0;
    const auto lower =
        sizeof(x) > 4 ? static_cast<double>(static_cast<std::uint32_t>(x)) : static_cast<double>(x);
    const auto top = std::unsigned_integral<decltype(x)> && upper < 0 ? 0x1p64 : 0.0;
    *this = sum(upper + top, lower);
  }
  template <class Number>
  requires std::is_arithmetic_v<Number>
  explicit operator Number() const {
    if constexpr (std::floating_point<Number>) {
      return static_cast<Number>(high_) + static_cast<Number>(low_);
    } else {  // towards 0
      const double of_low = std::trunc(high_) != high_ ? 0.0
                            : high_ > 0                ? std::floor(low_)
                                                       : std::ceil(low_);
      return static_cast<Number>(static_cast<Number>(high_) + static_cast<Number>(of_low));
    }
  }

  /// The sum of two doubles of any size; an infinity has no rest.
  static constexpr two_doubles sum(double a, double b) {
    const double s = a + b, of_b = s - a;
    if (!(s - s == 0)) return {s, 0};
    return {s, (a - (s - of_b)) + (b - of_b)};
  }
  static two_doubles product(double a, double b) {
    const double p = a * b;
    if (!(p - p == 0)) return {p, 0};
#if defined(__FP_FAST_FMA) || defined(__FMA__)
    return {p, std::fma(a, b, -p)};
#else  // where the C library would take a hundred times as long
    if (!(std::abs(a) < 0x1p900 && std::abs(b) < 0x1p900)) return {p, std::fma(a, b, -p)};
    const double a_high = upper_half(a), b_high = upper_half(b), a_low = a - a_high,
                 b_low = b - b_high;
    return {p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low};
#endif
  }

  constexpr double high() const { return high_; }
  constexpr double low() const { return low_; }

  constexpr two_doubles operator-() const { return {-high_, -low_}; }
  friend constexpr two_doubles operator+(two_doubles a, two_doubles b) {
    const two_doubles s = sum(a.high_, b.high_), t = sum(a.low_, b.low_);
    const two_doubles first = sum(s.high_, s.low_ + t.high_);
    return sum(first.high_, first.low_ + t.low_);
  }
  friend constexpr two_doubles operator-(two_doubles a, two_doubles b) { return a + -b; }
  friend two_doubles operator*(two_doubles a, two_doubles b) {
    const two_doubles p = product(a.high_, b.high_);
    if (!(p.high_ - p.high_ == 0)) return p;
    return sum(p.high_, p.low_ + (a.high_ * b.low_ + a.low_ * b.high_));
  }
  friend two_doubles operator/(two_doubles a, two_doubles b) {
    const double first = a.high_ / b.high_;
    if (first == 0 || !(first - first == 0)) return {first, 0};
    const two_doubles rest = a - b * two_doubles(first);
    const double second = rest.high_ / b.high_;
    return sum(first, second) + two_doubles((rest - b * two_doubles(second)).high_ / b.high_);
  }
  constexpr two_doubles& operator+=(two_doubles b) { return *this = *this + b; }
  constexpr two_doubles& operator-=(two_doubles b) { return *this = *this - b; }
  two_doubles& operator*=(two_doubles b) { return *this = *this * b; }
  two_doubles& operator/=(two_doubles b) { return *this = *this / b; }
  friend constexpr bool operator==(two_doubles a, two_doubles b) {
    return a.high_ == b.high_ && a.low_ == b.low_;
  }
  friend constexpr auto operator<=>(two_doubles a, two_doubles b) {
    return a.high_ == b.high_ ? a.low_ <=> b.low_ : a.high_ <=> b.high_;
  }

 private:
  constexpr two_doubles(double high, double low) : high_(high), low_(low) {}
  // The upper 26 bits, and the lower 26, signed [Dekker 1971].
  static double upper_half(double x) {
    const double shifted = x * 0x8000001;
    return shifted - (shifted - x);
  }

  double high_ = 0, low_ = 0;
};

inline constexpr two_doubles ln2 = two_doubles::sum(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56);

inline two_doubles abs(two_doubles x) { return x < 0 ? -x : x; }
inline two_doubles floor(two_doubles x) {
  const double of_high = std::floor(x.high());
  return two_doubles::sum(of_high, of_high == x.high() ? std::floor(x.low()) : 0.0);
}
inline two_doubles ceil(two_doubles x) { return -floor(-x); }
inline two_doubles round(two_doubles x) { return x < 0 ? ceil(x - 0.5) : floor(x + 0.5); }
inline two_doubles sqrt(two_doubles x) {
  if (!(x > 0)) return std::sqrt(x.high());
  const two_doubles near = std::sqrt(x.high());
  return near + (x - near * near) / (2 * near);
}

/// 1 / k!, for Taylor series.
inline const std::array<two_doubles, 46> over_factorial = [] {
  std::array<two_doubles, 46> result;
  result[0] = 1;
  for (std::size_t k = 1; k < result.size(); ++k) result[k] = result[k - 1] / k;
  return result;
}();

/// 2^n e^r with |r| <= ln 2 / 2, by the Taylor series.
inline two_doubles exp(two_doubles x) {
  if (!(x.high() > -745 && x.high() < 710)) return std::exp(x.high());
  const double n = std::round(x.high() / ln2.high());
  const two_doubles r = x - n * ln2;
  two_doubles series;
  for (std::size_t k = 25; k > 0; --k) series = series * r + over_factorial[k - 1];
  // In two steps: 2^n may be beyond the range of doubles when the result is not.
  const int half = static_cast<int>(n) / 2, rest = static_cast<int>(n) - half;
  return series * std::ldexp(1.0, half) * std::ldexp(1.0, rest);
}
/// One Newton step from std::log.
inline two_doubles log(two_doubles x) {
  if (!(x > 0)) return std::log(x.high());
  const two_doubles near = std::log(x.high());
  return near + (x * exp(-near) - 1);
}
inline two_doubles pow(two_doubles x, two_doubles y) {
  return y == 0 ? two_doubles(1) : x == 0 ? two_doubles(0) : exp(y * log(x));
}
inline two_doubles exp2(two_doubles x) { return exp(x * ln2); }
inline two_doubles cosh(two_doubles x) { return (exp(x) + exp(-x)) / 2; }
inline two_doubles tanh(two_doubles x) {
  if (abs(x) > 40) return x < 0 ? -1 : 1;
  const two_doubles e = exp(2 * x);
  return (e - 1) / (e + 1);
}

/// position * frequency radians modulo 2 pi. Exact but for the last rounding: the product is summed
/// without any.
struct two_doubles_angle {
  two_doubles rounded, lost;
};
inline two_doubles_angle angle_at(two_doubles a, two_doubles b) {
  // A sum of non-overlapping doubles, the smallest first: adding one is exact [Shewchuk 1997,
  // figure 6].
  std::array<double, 64> terms{};
  std::size_t count = 0;
  const auto add = [&](double x) {
    if (x == 0) return;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const two_doubles s = two_doubles::sum(x, terms[i]);
      x = s.high();
      if (s.low() != 0) terms[kept++] = s.low();
    }
    if (x != 0 || kept == 0) terms[kept++] = x;
    count = kept;
  };
  const auto add_product = [&](double x, double y) {
    if (x == 0 || y == 0) return;
    const two_doubles p = two_doubles::product(x, y);
    add(p.low()), add(p.high());
  };
  for (const double x : {a.low(), a.high()}) {
    for (const double y : {b.low(), b.high()}) add_product(x, y);
  }
  // 2 pi in 212 bits.
  constexpr std::array turn{0x1.921fb54442d18p2, 0x1.1a62633145c07p-52, -0x1.f1976b7ed8fbcp-108,
                            0x1.4cf98e804177dp-162};
  for (double turns; count > 0 && (turns = std::nearbyint(terms[count - 1] / turn[0])) != 0;) {
    for (std::size_t i = turn.size(); i-- > 0;) add_product(-turns, turn[i]);
  }
  two_doubles all;
  for (std::size_t i = 0; i < count; ++i) all += terms[i];
  return {.rounded = all, .lost = 0};
}

inline two_doubles cosine(two_doubles angle) {
  if (angle == 0) return 1;
  const two_doubles x = angle_at(angle, 1).rounded, z = -x * x;
  two_doubles series;
  for (std::size_t k = 46; k >= 2; k -= 2) series = series * z + over_factorial[k - 2];
  return series;
}
inline two_doubles sine(two_doubles angle) {
  if (angle == 0) return angle;
  const two_doubles x = angle_at(angle, 1).rounded, z = -x * x;
  two_doubles series;
  for (std::size_t k = 46; k >= 2; k -= 2) series = series * z + over_factorial[k - 1];
  return x * series;
}

}  // namespace oracle
