// A register of phases: the angles of neighbouring pairs at one position, their cosines and sines.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/phase_step.hpp"
#include "posenc/rows/phase.hpp"
#include "posenc/simd/lanes.hpp"

POSENC_QUIET_BEGIN

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

struct single_phase : scalar_phase {
  static constexpr std::size_t size = 1;
  static number load(double const* from) noexcept { return *from; }
  static number multiply_subtract(number a, number b, number c) noexcept {
    return multiply_add(a, b, -c);
  }
  static bits load_bits(phase const* from) noexcept { return *from; }
  static bits product_of_lower_halves(bits a, bits b) noexcept {
    return (a & 0xffff'ffff) * (b & 0xffff'ffff);
  }
  static bits product(bits n, bits x, bool) noexcept { return n * x; }
  static void store(double* to, number x) noexcept { *to = x; }
  template <class Real>
  static void store(Real* to, number x, number y) noexcept {
    to[0] = static_cast<Real>(x), to[1] = static_cast<Real>(y);
  }
};

#if defined(POSENC_NO_REGISTERS)

using phase_lanes = single_phase;

#else

/// A register of phases. Results have the bits of scalar_phase.
template <class Real>
struct phase_register {
  using number = typename lanes<Real>::number;
  using bits = vectors::batch<std::enable_if_t<sizeof(Real) == sizeof(phase), phase>>;
  static constexpr std::size_t size = lanes<Real>::size;

  static number load(Real const* from) noexcept { return lanes<Real>::load(from); }
  POSENC_ALWAYS_INLINE static number multiply_add(number const& a, number const& b,
                                                  number const& c) noexcept {
    return lanes<Real>::multiply_add(a, b, c);
  }
  POSENC_ALWAYS_INLINE static number multiply_subtract(number const& a, number const& b,
                                                       number const& c) noexcept {
    return lanes<Real>::multiply_subtract(a, b, c);
  }
  static bits load_bits(phase const* from) noexcept { return bits::load_unaligned(from); }
  static bits as_bits(number const& x) noexcept { return bits_as<phase>(x); }
  static number as_number(bits const& x) noexcept { return bits_as<double>(x); }
  static bits chosen(typename bits::batch_bool_type const& first, bits const& a,
                     bits const& b) noexcept {
    return detail::chosen(first, a, b);
  }

  static bits product_of_lower_halves(bits const& a, bits const& b) noexcept {
    if constexpr (requires { halves_product(a.data, b.data); }) {
      return bits(halves_product(a.data, b.data));
    } else {
      return (a & bits(phase{0xffff'ffff})) * (b & bits(phase{0xffff'ffff}));
    }
  }
  /// n * x modulo 2^64. is_short: n is below 2^32.
  POSENC_ALWAYS_INLINE static bits product(bits const& n, bits const& x,
                                           [[maybe_unused]] bool is_short) noexcept {
    if constexpr (requires { whole_product(x.data, x.data); }) {
      return bits(whole_product(n.data, x.data));
    } else {
      auto crossed = product_of_lower_halves(n, x >> 32);
      if (!is_short) crossed = crossed + product_of_lower_halves(n >> 32, x);
      return product_of_lower_halves(n, x) + (crossed << 32);
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
      return vectors::to_float(bits_as<std::int64_t>(x));
#endif
    }
  }

  static void store(Real* to, number const& x) noexcept { lanes<Real>::store(to, x); }
  /// Stores x, then y. Floats in one store, which is forwarded to a load of the same width.
  static void store(double* to, number const& x, number const& y) noexcept {
    x.store_unaligned(to);
    y.store_unaligned(to + size);
  }
  static void store(float* to, number const& x, number const& y) noexcept {
    if constexpr (requires { to_floats(x.data, y.data); }) {
      lanes<float>::store(to, to_floats(x.data, y.data));
    } else {
      std::array<double, 2 * size> wide;
      store(wide.data(), x, y);
      for (std::size_t i = 0; i < wide.size(); ++i) to[i] = static_cast<float>(wide[i]);
    }
  }
};

using phase_lanes = std::conditional_t<has_registers<double>, phase_register<double>, single_phase>;

#endif

/// Stores factor * cos and factor * sin of two registers of phases, x before y.
template <class Real>
POSENC_ALWAYS_INLINE inline void store_cos_sin(Real* cos, Real* sin, phase_lanes::bits const& x,
                                               phase_lanes::bits const& y,
                                               phase_lanes::number const& factor) noexcept {
  auto a = cos_sin_from_axis<phase_lanes>(x), b = cos_sin_from_axis<phase_lanes>(y);
  into_quadrant<phase_lanes>(x, a.cos, a.sin), into_quadrant<phase_lanes>(y, b.cos, b.sin);
  phase_lanes::store(cos, a.cos * factor, b.cos * factor);
  phase_lanes::store(sin, a.sin * factor, b.sin * factor);
}

/// The common part of phases_at and phases_on_axes: functions from a pair to the phases of a
/// register of pairs from there on; 0 after the last. Valid while the steps live. (Classes, since
/// g++ would call a lambda, and keep the constants of cosines on the stack meanwhile.)
struct phases_of_steps {
  explicit phases_of_steps(phase_steps const& steps) noexcept
      : high(steps.high()), low(steps.low()), turns(steps.turns()) {}

  /// At whole positions n, one per pair: n * (high * 2^-64 + low * 2^-96) turns; low is below 2^32.
  /// are_short: they are below 2^32, and take half the multiplications.
  POSENC_ALWAYS_INLINE phase_lanes::bits at_whole(phase_lanes::bits const& n, std::size_t pair,
                                                  bool are_short) const noexcept {
    using lanes = phase_lanes;
    auto const below = lanes::load_bits(low + pair);
    auto const sum = lanes::product(n, lanes::load_bits(high + pair), are_short) +
                     (lanes::product_of_lower_halves(n, below) >> 32);
    if (are_short) return sum;
    auto const signs = lanes::bits(phase{0}) - (n >> 63);
    return sum + lanes::product_of_lower_halves(n >> 32, below) - ((below << 32) & signs);
  }
  POSENC_ALWAYS_INLINE phase_lanes::bits at_fraction(double fraction,
                                                     std::size_t pair) const noexcept {
    std::array<phase, phase_lanes::size> phases;
    for (std::size_t i = 0; i < phases.size(); ++i)
      phases[i] = phase_of_fraction(fraction, turns[pair + i]);
    return phase_lanes::load_bits(phases.data());
  }

 private:
  phase const *high, *low;
  double const* turns;
};

constexpr std::integral auto whole_part(std::integral auto position) noexcept { return position; }
inline std::int64_t whole_part(double position) noexcept {
  return static_cast<std::int64_t>(std::floor(position));
}

/// At one position for all pairs, |position| < 2^63.
template <class Position>
struct phases_at : phases_of_steps {
  phases_at(phase_steps const& steps, Position at) noexcept
      : phases_of_steps(steps), position(at) {}

  POSENC_ALWAYS_INLINE phase_lanes::bits operator()(std::size_t pair) const noexcept {
    auto const whole = whole_part(position);
    auto phases = at_whole(phase_lanes::bits(static_cast<phase>(whole)), pair, sizeof whole == 4);
    if constexpr (std::floating_point<Position>)
      phases = phases + at_fraction(position - std::floor(position), pair);
    return phases;
  }

 private:
  Position position;
};

/// At position at(axis) of each pair's axis. masks: [axes][stride], all ones where a pair has it.
template <class At>
struct phases_on_axes : phases_of_steps {
  POSENC_ALWAYS_INLINE phase_lanes::bits operator()(std::size_t pair) const noexcept {
    phase_lanes::bits whole(phase{0}), fractions(phase{0});
    for (std::size_t axis = 0; axis < axes; ++axis) {
      auto const mask = phase_lanes::load_bits(masks + axis * stride + pair);
      auto const position = at(axis);
      whole = whole | (phase_lanes::bits(static_cast<phase>(whole_part(position))) & mask);
      if constexpr (std::floating_point<decltype(at(0))>)
        fractions = fractions | (at_fraction(position - std::floor(position), pair) & mask);
    }
    return at_whole(whole, pair, false) + fractions;
  }

  phase const* masks;
  std::size_t axes, stride;
  At at;
};

}}}  // namespace posenc::detail

POSENC_QUIET_END
