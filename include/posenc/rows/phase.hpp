// The cosine and sine of a phase.
#pragma once

#include <cstdint>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/phase_step.hpp"
#include "posenc/simd/multiply_add.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The cosine and the sine of an angle, or a register of each.
template <class Number>
struct cos_sin_numbers {
  Number cos, sin;  ///< of the same angle
};
using cos_sin_values = cos_sin_numbers<double>;  ///< of one angle

namespace detail {

/// One phase and its double; phase_lanes.hpp has a register of them.
struct scalar_phase {
  using bits = phase;
  using number = double;
  static constexpr number signed_number(bits x) noexcept {
    return static_cast<number>(static_cast<std::int64_t>(x));
  }
  static constexpr bits as_bits(number x) noexcept { return detail::bit_cast<bits>(x); }
  static constexpr number as_number(bits x) noexcept { return detail::bit_cast<number>(x); }
  static constexpr bits chosen(bool first, bits a, bits b) noexcept { return first ? a : b; }
  static constexpr number multiply_add(number a, number b, number c) noexcept {
    return detail::multiply_add(a, b, c);
  }
};

/// The cosine and sine of the angle from the nearest axis.
template <class Lanes>
POSENC_ALWAYS_INLINE constexpr cos_sin_numbers<typename Lanes::number> cos_sin_from_axis(
    typename Lanes::bits const& angle) noexcept {
  using number = typename Lanes::number;
  // The two highest bits count quadrants. The other bits are the angle from the nearest axis: at
  // most 1/8 of a turn.
  auto const x = Lanes::signed_number(angle << 2) * number(6.283185307179586 * 0x1p-66), z = x * x;
  // Polynomials in z = x^2 from the Remez algorithm, for |x| <= pi / 4. With these coefficients,
  // the cosine is within 6.6e-17, and the sine within 4.6e-18.
  auto const next = [&z](number& sum, double coefficient) {
    sum = Lanes::multiply_add(sum, z, number(coefficient));
  };
  auto c = number(0x1.1b95fd66845b8p-29), s = number(0x1.5d932ed9fa5e7p-33);
  next(c, -0x1.27df6c024d518p-22), next(s, -0x1.ae5e66d323e48p-26);
  next(c, 0x1.a019f8840eacdp-16), next(s, 0x1.71de357871c0ap-19);
  next(c, -0x1.6c16c1648a8b2p-10), next(s, -0x1.a01a019c12678p-13);
  next(c, 0x1.555555554f951p-5), next(s, 0x1.111111110f880p-7);
  next(c, -0x1.fffffffffffa3p-2), next(s, -0x1.5555555555549p-3), next(c, 1);
  s = Lanes::multiply_add(s * z, x, x);
  return {c, s};
}

/// Takes the cosine and sine of an angle from the nearest axis to those of the angle itself, a
/// fraction of a turn that fills a word.
template <class Lanes>
POSENC_ALWAYS_INLINE constexpr void into_quadrant(typename Lanes::bits const& angle,
                                                  typename Lanes::number& c,
                                                  typename Lanes::number& s) noexcept {
  using bits = typename Lanes::bits;
  constexpr auto turn = [](int part) { return phase{1} << (64 - part); };
  // Quadrants 1 and 3 swap cos and sin; cos is negative in 1 and 2, sin in 2 and 3.
  auto const quadrant = angle + bits(turn(3));  // in its two highest bits
  auto const swaps = (quadrant & bits(turn(2))) == bits(turn(2));
  auto const cosine = Lanes::as_bits(c), sine = Lanes::as_bits(s);
  c = Lanes::as_number(Lanes::chosen(swaps, sine, cosine));
  s = Lanes::as_number(Lanes::chosen(swaps, cosine, sine));
  auto const minus = bits(turn(1));
  c = Lanes::as_number(Lanes::as_bits(c) ^ ((quadrant + bits(turn(2))) & minus));
  s = Lanes::as_number(Lanes::as_bits(s) ^ (quadrant & minus));
}

}  // namespace detail

/// cos and sin of a phase, each within 2.5e-16. Branch-free, so that a loop over it vectorises.
constexpr cos_sin_values cos_sin(phase angle) noexcept {
  auto values = detail::cos_sin_from_axis<detail::scalar_phase>(angle);
  detail::into_quadrant<detail::scalar_phase>(angle, values.cos, values.sin);
  return values;
}

}}  // namespace posenc
