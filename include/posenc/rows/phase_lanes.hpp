// A register of phases: the angles of neighbouring pairs at one position, their cosines and sines.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "posenc/core/fast_math.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/phase_steps.hpp"
#include "posenc/rows/phase.hpp"
#include "posenc/simd/for_phases.hpp"
#include "posenc/simd/lanes.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push  // g++ 12 warns of its own AVX headers
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

namespace posenc::inline POSENC_TARGET {
namespace detail {

struct single_phase : scalar_phase, one_lane<double> {
  using scalar_phase::multiply_add, scalar_phase::number, one_lane<double>::store;
  static bits load_bits(phase const* from) noexcept { return *from; }
  static void store(float* to, number x) noexcept { *to = static_cast<float>(x); }
  static void store(auto* to, number x, number y) noexcept { store(to, x), store(to + 1, y); }
};

#if defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)

using phase_lanes = single_phase;

#else

/// A register of phases. Results have the bits of scalar_phase.
template <class Real>
struct phase_register : lanes<Real> {
  using typename lanes<Real>::number;
  using lanes<Real>::size;
  using bits = xsimd::batch<std::enable_if_t<sizeof(Real) == sizeof(phase), phase>>;
  static constexpr int width = 64;
  static constexpr phase one = 1;

  static bits load_bits(phase const* from) noexcept { return bits::load_unaligned(from); }
  static bits as_bits(number const& x) noexcept { return bits_as<phase>(x); }
  static number as_number(bits const& x) noexcept { return bits_as<double>(x); }

  static bits product_of_lower_halves(bits const& a, bits const& b) noexcept {
    if constexpr (requires { halves_product(a.data, b.data); }) {
      return bits(halves_product(a.data, b.data));
    } else {
      return (a & bits(phase{0xffff'ffff})) * (b & bits(phase{0xffff'ffff}));
    }
  }
  static bits product(std::unsigned_integral auto n, bits const& x) noexcept {
    bits const factor(phase{n});
    if constexpr (requires { whole_product(x.data, x.data); }) {
      return bits(whole_product(factor.data, x.data));
    } else {
      auto crossed = product_of_lower_halves(factor, x >> 32);
      if constexpr (sizeof n > 4) crossed = crossed + product_of_lower_halves(factor >> 32, x);
      return product_of_lower_halves(factor, x) + (crossed << 32);
    }
  }

  /// x as a signed integer to double, rounded once.
  static number signed_number(bits const& x) noexcept {
    if constexpr (requires { to_doubles(x.data); }) {
      return number(to_doubles(x.data));
    } else {
#if defined(__x86_64__) || defined(__i386__)
      // Assembled from bits: 2^84 + 2^63 + 2^32 * upper half and 2^52 + lower half. Only their sum
      // is rounded.
      auto upper = as_number((x >> 32) ^ bits(phase{0x4530'0000'8000'0000})) -
                   number(0x1p84 + 0x1p63 + 0x1p52);
      as_written(upper);  // in another order, the sum would be rounded twice
      return upper + as_number((x & bits(phase{0xffff'ffff})) | bits(phase{0x4330'0000} << 32));
#else
      return xsimd::to_float(bits_as<std::int64_t>(x));
#endif
    }
  }

  static void swap_in_odd(bits const& quadrant, number& c, number& s) noexcept {
    if constexpr (requires { swap_by(quadrant.data, c.data, s.data); }) {
      swap_by(quadrant.data, c.data, s.data);
    } else {
      swap_by_bits<phase_register>(quadrant, c, s);
    }
  }

  using lanes<Real>::store;
  static void store(float* to, number const& x) noexcept {
    if constexpr (requires { store_floats(to, x.data); }) {
      store_floats(to, x.data);
    } else {
      std::array<double, size> wide;
      x.store_unaligned(wide.data());
      for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<float>(wide[i]);
    }
  }
  /// Stores x, then y. Floats: one full-width store, so that a full-width load soon after is
  /// forwarded.
  static void store(double* to, number const& x, number const& y) noexcept {
    store(to, x), store(to + size, y);
  }
  static void store(float* to, number const& x, number const& y) noexcept {
    if constexpr (requires { to_floats(x.data, y.data); }) {
      lanes<float>::store(to, to_floats(x.data, y.data));
    } else {
      store(to, x), store(to + size, y);
    }
  }
};

using phase_lanes = std::conditional_t<has_registers<double>, phase_register<double>, single_phase>;

#endif

[[gnu::always_inline]] inline cos_sin_numbers<phase_lanes::number> cos_sin_lanes(
    phase_lanes::bits const& angles) noexcept {
  return cos_sin_of<phase_lanes>(angles);
}

#if defined(__AVX2__) && !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
/// The upper halves of two registers of phases, for two registers of cosines and sines as floats:
/// half as many registers are to be swapped and negated.
struct upper_phases : register_bits {
  static constexpr int width = 32;
  static constexpr std::uint32_t one = 1;
  static void swap_in_odd(auto const& quadrant, auto& c, auto& s) noexcept {
    swap_by(quadrant.data, c.data, s.data);
  }
};
// clang-format off
template <class Bits>
concept has_upper_halves = requires(Bits const& x) { upper_halves(x.data, x.data); };
// clang-format on
template <has_upper_halves Bits>
[[gnu::always_inline]] inline void store_in_quadrant(float* cos, float* sin, Bits const& x,
                                                     Bits const& y, auto const& a,
                                                     auto const& b) noexcept {
  upper_phases::number c(to_floats(a.cos.data, b.cos.data)), s(to_floats(a.sin.data, b.sin.data));
  into_quadrant<upper_phases>(upper_phases::bits(upper_halves(x.data, y.data)), c, s);
  lanes<float>::store(cos, c), lanes<float>::store(sin, s);
}
#endif
/// Stores cosines and sines of two registers of phases, x before y. a, b: those from the nearest
/// axis.
[[gnu::always_inline]] inline void store_in_quadrant(auto* cos, auto* sin, auto const& x,
                                                     auto const& y, auto a, auto b) noexcept {
  into_quadrant<phase_lanes>(x, a.cos, a.sin), into_quadrant<phase_lanes>(y, b.cos, b.sin);
  phase_lanes::store(cos, a.cos, b.cos), phase_lanes::store(sin, a.sin, b.sin);
}

/// A factor of 1, which costs no multiplication.
struct unit_factor {};

/// Stores factor * cos and factor * sin of two registers of phases, x before y. factor: a double or
/// unit_factor. They differ by type because g++ 12 -O3 vectorises worse with `if (factor != 1)`.
template <class Real, class Factor>
[[gnu::always_inline]] inline void store_cos_sin(Real* cos, Real* sin, phase_lanes::bits const& x,
                                                 phase_lanes::bits const& y,
                                                 Factor factor) noexcept {
  auto a = cos_sin_from_axis<phase_lanes>(x), b = cos_sin_from_axis<phase_lanes>(y);
  if constexpr (!std::same_as<Factor, unit_factor>) {
    phase_lanes::number const gain(factor);
    a = {a.cos * gain, a.sin * gain}, b = {b.cos * gain, b.sin * gain};
  }
  store_in_quadrant(cos, sin, x, y, a, b);
}

/// Stores the first `count` numbers of x, all of them if count is larger.
template <class Real>
[[gnu::always_inline]] inline void store_first(Real* to, phase_lanes::number const& x,
                                               std::size_t count) noexcept {
  if (count >= phase_lanes::size) return phase_lanes::store(to, x);
  std::array<Real, phase_lanes::size> all;
  phase_lanes::store(all.data(), x);
  std::copy_n(all.begin(), count, to);
}

static_assert(phase_lanes::size <= phase_steps::padding + 1);

// Functions from a pair to the phases of a register of pairs from there on; 0 after the last pair.
// g++ would call a lambda, and keep the constants of cos_sin_lanes on the stack meanwhile.
struct whole_phases {
  phase const *high, *low;
  std::int64_t position;

  [[gnu::always_inline]] phase_lanes::bits operator()(std::size_t pair) const noexcept {
    return phase_at<phase_lanes>(phase_lanes::load_bits(high + pair),
                                 phase_lanes::load_bits(low + pair), position);
  }
};
struct near_phases {
  phase const *high, *low;
  std::uint32_t position;

  [[gnu::always_inline]] phase_lanes::bits operator()(std::size_t pair) const noexcept {
    auto const below = phase_lanes::product_of_lower_halves(phase_lanes::bits(phase{position}),
                                                            phase_lanes::load_bits(low + pair));
    return phase_lanes::product(position, phase_lanes::load_bits(high + pair)) + (below >> 32);
  }
};
struct fractional_phases {
  whole_phases whole;
  double const* turns;
  double fraction;

  [[gnu::always_inline]] phase_lanes::bits operator()(std::size_t pair) const noexcept {
    std::array<phase, phase_lanes::size> more;
    for (std::size_t i = 0; i < more.size(); ++i)
      more[i] = phase_of_fraction(fraction, turns[pair + i]);
    return whole(pair) + phase_lanes::load_bits(more.data());
  }
};

/// The phases of all pairs at a position. Valid while the steps live.
inline whole_phases phases_at(phase_steps const& steps, std::int64_t position) noexcept {
  return {steps.high(), steps.low(), position};
}
/// Fast path for positions below 2^32: half the multiplications.
inline near_phases phases_at(phase_steps const& steps, std::uint32_t position) noexcept {
  return {steps.high(), steps.low(), position};
}
/// A fractional position, |position| < 2^63.
inline fractional_phases phases_at(phase_steps const& steps, double position) noexcept {
  auto const whole = std::floor(position);
  return {phases_at(steps, static_cast<std::int64_t>(whole)), steps.turns(), position - whole};
}

}  // namespace detail

}  // namespace posenc

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
