// Exact angles: position times frequency modulo 2 pi, in integers.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/multiply_add.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// An angle as a fraction of a turn: 2^64 is 2 pi. Integers wrap as angles do, so that a product
/// with a position is reduced modulo 2 pi at no cost, without error.
using phase = std::uint64_t;

namespace detail {

/// The phase of a fractional position in [0, 1), for a frequency of `turns` = inv_freq / 2 pi.
inline phase phase_of_fraction(double fraction, double turns) noexcept {
  // With plain operators, a compiler may fuse one of the two products and round the other.
  auto const rest = multiply_add(fraction, turns, -std::floor(fraction * turns));
  return static_cast<phase>((rest - std::floor(rest)) * 0x1p63) * 2;
}

}  // namespace detail

/// The angle between neighbouring positions, (inv_freq + rest) / 2 pi turns, to 96 binary places.
/// The phase of position n is within |n| * 2^-96 + 2^-64 turns of n * (inv_freq + rest): 4e-19
/// radians for n = 1 and n = 2^31, 7e-10 for n = 2^63.
class phase_step {
 public:
  /// Precondition, not checked: inv_freq in [0, 2^64], |rest| at most half an ULP of it.
  explicit constexpr phase_step(double inv_freq, double rest = 0) noexcept
      : turns_(inv_freq / two_pi) {
    // inv_freq + rest = (upper + 2^-64 lower) * 2^exponent. The mantissa times 1 / 2 pi is computed
    // in 32-bit limbs; 96 binary places of the product are kept.
    auto const whole = parts_of(inv_freq), added = parts_of(rest);
    auto const shift = added.exponent - whole.exponent + 64;
    // Near 2^-1022 a rest would be shifted by 64: no place is kept there.
    auto const magnitude = rest == 0 || shift <= -64 || shift > 63 ? 0
                           : shift < 0                             ? added.mantissa >> -shift
                                                                   : added.mantissa << shift;
    auto const lower = rest < 0 ? 0 - magnitude : magnitude,
               upper = whole.mantissa - (rest < 0 && magnitude != 0 ? 1 : 0);
    auto const places = 256 - whole.exponent;  // of the product
    limbs<10> product{};
    for (std::size_t i = 0; i < 4; ++i) {
      std::uint64_t carry = 0;
      for (std::size_t j = 0; j < 6; ++j) {
        carry += product[i + j] +
                 ((i < 2 ? lower : upper) >> (32 * (i % 2)) & 0xffff'ffff) * one_over_two_pi[j];
        product[i + j] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
      }
      product[i + 6] = static_cast<std::uint32_t>(carry);
    }
    low_ = limb_from(product, places - 96);
    high_ = limb_from(product, places - 64) | std::uint64_t{limb_from(product, places - 32)} << 32;
  }

  /// The angle at a position, exact modulo one turn.
  constexpr phase at(std::int64_t position) const noexcept {
    auto const n = static_cast<std::uint64_t>(position);
    return n * high_ + (((n & 0xffff'ffff) * low_) >> 32) + (n >> 32) * low_ -
           (position < 0 ? std::uint64_t{low_} << 32 : 0);
  }

  /// A fractional position, |position| < 2^63; of its fraction's angle, within 2^-51, relative.
  phase at(double position) const noexcept {
    auto const whole = std::floor(position);
    return at(static_cast<std::int64_t>(whole)) +
           detail::phase_of_fraction(position - whole, turns_);
  }

 private:
  friend class phase_steps;

  template <std::size_t N>
  using limbs = std::array<std::uint32_t, N>;

  struct parts {
    std::uint64_t mantissa;
    int exponent;
  };
  /// |x| = mantissa * 2^exponent.
  static constexpr parts parts_of(double x) noexcept {
    auto const bits = detail::bit_cast<std::uint64_t>(x);
    auto const field = static_cast<int>(bits >> 52 & 0x7ff);
    return {(bits & 0xf'ffff'ffff'ffff) | (field != 0 ? std::uint64_t{1} << 52 : 0),
            field != 0 ? field - 1075 : -1074};
  }

  static constexpr double two_pi = 6.283185307179586;
  // 1 / 2 pi to 192 binary places, lowest limb first.
  static constexpr limbs<6> one_over_two_pi{0x4f10e410, 0x36d8a566, 0x7d4d3770,
                                            0x7f09d5f4, 0x9391054a, 0x28be60db};

  // 32 bits of `product`, from bit `first` on.
  static constexpr std::uint32_t limb_from(limbs<10> const& product, int first) noexcept {
    auto const limb = [&](int i) {
      return 0 <= i && i < 10 ? product[static_cast<std::size_t>(i)] : std::uint32_t{0};
    };
    auto const index = first >> 5, shift = first & 31;
    return static_cast<std::uint32_t>((limb(index) | std::uint64_t{limb(index + 1)} << 32) >>
                                      shift);
  }

  std::uint64_t high_ = 0;  // places 1 to 64
  std::uint32_t low_ = 0;   // places 65 to 96
  double turns_;
};

/// The phase_step of every pair, in lists that registers load: each list begins a cache line, and
/// `padding` zeros follow the last pair, whatever the instruction set. frequencies::steps()
/// returns it. Immutable. Precondition, not checked: as of phase_step.
class phase_steps {
 public:
  static constexpr std::size_t padding = 15;  ///< for loads of up to 1024 bits from the last pair

  /// rest: as in phase_step, one per pair or none.
  explicit phase_steps(std::span<double const> inv_freq, std::span<double const> rest = {})
      : high_(inv_freq.size() + padding, 0), low_(high_.size(), 0), turns_(high_.size(), 0) {
    for (std::size_t i = 0; i < inv_freq.size(); ++i) {
      phase_step const step(inv_freq[i], rest.empty() ? 0 : rest[i]);
      high_[i] = step.high_, low_[i] = step.low_, turns_[i] = step.turns_;
    }
  }

  std::size_t pairs() const noexcept { return high_.size() - padding; }  ///< without the padding
  phase const* high() const noexcept { return high_.data(); }            ///< places 1 to 64
  phase const* low() const noexcept { return low_.data(); }              ///< places 65 to 96
  double const* turns() const noexcept { return turns_.data(); }         ///< inv_freq / 2 pi

 private:
  detail::line_vector<phase> high_, low_;
  detail::line_vector<double> turns_;
};

}}  // namespace posenc
