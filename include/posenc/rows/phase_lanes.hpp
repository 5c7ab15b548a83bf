// A register of phases: the angles of neighbouring pairs at one position, their cosines and sines.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "posenc/core/fast_math.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/phase_steps.hpp"
#include "posenc/rows/phase.hpp"
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

// For each register width: the product of the lower halves of 64-bit integers; 64-bit integers to
// doubles, rounded once; two registers of doubles to floats; a swap where bit 62 is set.
#if defined(__AVX512F__)
inline __m512i halves_product(__m512i a, __m512i b) noexcept { return _mm512_mul_epu32(a, b); }
inline void swap_by_62(__m512i x, __m512d& a, __m512d& b) noexcept {
  auto const swap = _mm512_test_epi64_mask(x, _mm512_set1_epi64(std::int64_t{1} << 62));
  auto const first = a;
  a = _mm512_mask_blend_pd(swap, a, b), b = _mm512_mask_blend_pd(swap, b, first);
}
#endif
#if defined(__AVX512DQ__)
inline __m512d to_doubles(__m512i x) noexcept { return _mm512_cvtepi64_pd(x); }
inline void store_floats(float* to, __m512d x, __m512d y) noexcept {
  _mm512_storeu_ps(
      to, _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(x)), _mm512_cvtpd_ps(y), 1));
}
#endif
#if defined(__AVX2__)
inline __m256i halves_product(__m256i a, __m256i b) noexcept { return _mm256_mul_epu32(a, b); }
inline void swap_by_62(__m256i x, __m256d& a, __m256d& b) noexcept {
  auto const swap = _mm256_castsi256_pd(_mm256_slli_epi64(x, 1));
  auto const first = a;
  a = _mm256_blendv_pd(a, b, swap), b = _mm256_blendv_pd(b, first, swap);
}
#endif
#if defined(__AVX__)
inline void store_floats(float* to, __m256d x, __m256d y) noexcept {
  _mm256_storeu_ps(
      to, _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(x)), _mm256_cvtpd_ps(y), 1));
}
#endif
#if defined(__SSE2__)
inline __m128i halves_product(__m128i a, __m128i b) noexcept { return _mm_mul_epu32(a, b); }
inline void store_floats(float* to, __m128d x) noexcept {
  _mm_storel_pi(reinterpret_cast<__m64*>(to), _mm_cvtpd_ps(x));
}
inline void store_floats(float* to, __m128d x, __m128d y) noexcept {
  _mm_storeu_ps(to, _mm_movelh_ps(_mm_cvtpd_ps(x), _mm_cvtpd_ps(y)));
}
#endif

/// A register of phases. Results have the bits of scalar_phase.
template <class Real>
struct phase_register : lanes<Real> {
  using typename lanes<Real>::number;
  using lanes<Real>::size;
  using bits = xsimd::batch<std::enable_if_t<sizeof(Real) == sizeof(phase), phase>>;

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
  static bits product(phase n, bits const& x) noexcept {
    auto const crossed =
        product_of_lower_halves(bits(n), x >> 32) + product_of_lower_halves(bits(n >> 32), x);
    return product_of_lower_halves(bits(n), x) + (crossed << 32);
  }
  static bits product(std::uint32_t n, bits const& x) noexcept {
    return product_of_lower_halves(bits(phase{n}), x) +
           (product_of_lower_halves(bits(phase{n}), x >> 32) << 32);
  }

  /// x as a signed integer to double, rounded once.
  static number signed_number(bits const& x) noexcept {
    if constexpr (requires { to_doubles(x.data); }) {
      return number(to_doubles(x.data));
    } else {
#if defined(__x86_64__) || defined(__i386__)
      // Assembled from bits: 2^84 + 2^32 * upper half and 2^52 + lower half. Only their sum is
      // rounded.
      auto const biased = x ^ bits(phase{1} << 63);
      auto upper = as_number((biased >> 32) | bits(phase{0x4530'0000} << 32)) -
                   number(0x1p84 + 0x1p63 + 0x1p52);
      as_written(upper);  // in another order, the sum would be rounded twice
      return upper +
             as_number((biased & bits(phase{0xffff'ffff})) | bits(phase{0x4330'0000} << 32));
#else
      return xsimd::to_float(bits_as<std::int64_t>(x));
#endif
    }
  }

  static void swap_in_odd(bits const& quadrant, number& c, number& s) noexcept {
    if constexpr (requires { swap_by_62(quadrant.data, c.data, s.data); }) {
      swap_by_62(quadrant.data, c.data, s.data);
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
    if constexpr (requires { store_floats(to, x.data, y.data); }) {
      store_floats(to, x.data, y.data);
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
