// Dot products of integers of 16 bits by the CPU's own instructions (AVX512-VNNI, AVX-VNNI). A
// word is a pair of such integers in the memory of a float, so that what moves floats moves pairs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/intrinsics.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/tile.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Whether there are such instructions for a whole register.
#if defined(POSENC_HAS_WIDE_PAIR_PRODUCTS)
inline constexpr bool multiplies_pairs = lanes<float>::size == 16;
#elif defined(POSENC_HAS_PAIR_PRODUCTS)
inline constexpr bool multiplies_pairs = lanes<float>::size == 8;
#else
inline constexpr bool multiplies_pairs = false;
#endif

/// The largest sum of products that both sides of pair_tile can make: no sum leaves 32 bits if
/// |a| |b| of the vectors is below it (Cauchy and Schwarz).
inline constexpr double most_pair_sum = 0x7fffffff;

#if defined(POSENC_HAS_PAIR_PRODUCTS)

POSENC_QUIET_BEGIN

/// A register of words, and of 32-bit sums. A vector of integers: of __m512i, g++ 12 would copy and
/// spill registers.
struct word_registers {
#if defined(POSENC_HAS_WIDE_PAIR_PRODUCTS)
  using raw = __m512i;
  static constexpr std::size_t size = 16;
#else
  using raw = __m256i;
  static constexpr std::size_t size = 8;
#endif
  using number [[gnu::vector_size(4 * size)]] = std::int32_t;

  POSENC_ALWAYS_INLINE static number load(float const* words) noexcept {
    number x;
    std::memcpy(&x, words, sizeof x);
    return x;
  }
  POSENC_ALWAYS_INLINE static void store(float* words, number x) noexcept {
    std::memcpy(words, &x, sizeof x);
  }
  /// One word in all places.
  POSENC_ALWAYS_INLINE static number every(float const* word) noexcept {
    std::int32_t x;
    std::memcpy(&x, word, sizeof x);
    return x - number{};
  }
  /// sum[i] += the products of the pairs a[i] and b[i].
  POSENC_ALWAYS_INLINE static number add(number sum, number a, number b) noexcept {
    auto const s = reinterpret_cast<raw>(sum), x = reinterpret_cast<raw>(a),
               y = reinterpret_cast<raw>(b);
#if defined(POSENC_HAS_WIDE_PAIR_PRODUCTS)
    return reinterpret_cast<number>(_mm512_dpwssd_epi32(s, x, y));
#elif defined(__AVXVNNI__)
    return reinterpret_cast<number>(_mm256_dpwssd_avx_epi32(s, x, y));
#else
    return reinterpret_cast<number>(_mm256_dpwssd_epi32(s, x, y));
#endif
  }
  POSENC_ALWAYS_INLINE static lanes<float>::number as_floats(number x) noexcept {
#if defined(POSENC_HAS_WIDE_PAIR_PRODUCTS)
    return lanes<float>::number(_mm512_cvtepi32_ps(reinterpret_cast<raw>(x)));
#else
    return lanes<float>::number(_mm256_cvtepi32_ps(reinterpret_cast<raw>(x)));
#endif
  }
  /// To nearest, ties to even.
  POSENC_ALWAYS_INLINE static number rounded(lanes<float>::number const& x) noexcept {
#if defined(POSENC_HAS_WIDE_PAIR_PRODUCTS)
    return reinterpret_cast<number>(_mm512_cvtps_epi32(x.data));
#else
    return reinterpret_cast<number>(_mm256_cvtps_epi32(x.data));
#endif
  }
  /// Pairs of one integer of each register.
  POSENC_ALWAYS_INLINE static number paired(number first, number second) noexcept {
    return (first & 0xffff) | (second << 16);
  }
  /// Stores integers of 16 bits side by side.
  POSENC_ALWAYS_INLINE static void store_halves(void* to, number x) noexcept {
#if defined(POSENC_HAS_WIDE_PAIR_PRODUCTS)
    _mm256_storeu_si256(static_cast<__m256i*>(to), _mm512_cvtepi32_epi16(reinterpret_cast<raw>(x)));
#else
    auto const twice =
        _mm256_packs_epi32(reinterpret_cast<raw>(x), reinterpret_cast<raw>(x));  // in each half
    _mm_storeu_si128(static_cast<__m128i*>(to),
                     _mm256_castsi256_si128(_mm256_permute4x64_epi64(twice, 0x08)));
#endif
  }
  /// The bits of the largest magnitude of a register of floats and another; NaN is larger than any
  /// number.
  POSENC_ALWAYS_INLINE static number larger_magnitude(number most,
                                                      lanes<float>::number const& x) noexcept {
#if defined(POSENC_HAS_WIDE_PAIR_PRODUCTS)
    auto const bits = _mm512_and_si512(_mm512_castps_si512(x.data), _mm512_set1_epi32(0x7fffffff));
    return reinterpret_cast<number>(_mm512_max_epi32(reinterpret_cast<raw>(most), bits));
#else
    auto const bits = _mm256_and_si256(_mm256_castps_si256(x.data), _mm256_set1_epi32(0x7fffffff));
    return reinterpret_cast<number>(_mm256_max_epi32(reinterpret_cast<raw>(most), bits));
#endif
  }
  POSENC_ALWAYS_INLINE static lanes<float>::number bits_as_floats(number bits) noexcept {
#if defined(POSENC_HAS_WIDE_PAIR_PRODUCTS)
    return lanes<float>::number(_mm512_castsi512_ps(reinterpret_cast<raw>(bits)));
#else
    return lanes<float>::number(_mm256_castsi256_ps(reinterpret_cast<raw>(bits)));
#endif
  }
  POSENC_ALWAYS_INLINE static float largest(number bits) noexcept {
#if defined(POSENC_HAS_WIDE_PAIR_PRODUCTS)
    return detail::bit_cast<float>(_mm512_reduce_max_epi32(reinterpret_cast<raw>(bits)));
#else
    std::int32_t most = 0;
    for (std::size_t i = 0; i < size; ++i) most = std::max(most, std::int32_t{bits[i]});
    return detail::bit_cast<float>(most);
#endif
  }
};

/// to[r][c] = factors[r] columns[c] sum_n <a[r][n], panel[n][c]>, or that added to it.
struct pair_tile {
  using number = float;
  float* to;
  std::size_t stride;                     ///< from a row of `to` to the next
  std::array<float const*, tile_rows> a;  ///< the first word of each row
  float const* panel;                     ///< [terms][tile_columns], words
  std::size_t terms;
  float const* factors;  ///< [tile_rows]; beyond the rows any numbers that can be read
  float const* columns;
  bool adds;
};

/// Columns of pair_tile that have no factor.
inline constexpr auto no_factors = [] {
  std::array<float, tile_columns<float>> ones;
  ones.fill(1);
  return ones;
}();

template <std::size_t Width>
[[gnu::noinline]] void multiply_whole(pair_tile const& t) noexcept {
  using words = word_registers;
  using registers = lanes<float>;
  words::number sums[tile_rows][Width];
  for (auto& row : sums)
    for (auto& sum : row) sum = words::number{};
  auto const a = t.a;
  auto const* panel = t.panel;
  for (std::size_t n = 0, end = t.terms; n != end; ++n, panel += tile_columns<float>) {
    words::number x[Width];
    for (std::size_t j = 0; j < Width; ++j) x[j] = words::load(panel + j * words::size);
    for (std::size_t r = 0; r < tile_rows; ++r) {
      auto const y = words::every(a[r] + n);
      for (std::size_t j = 0; j < Width; ++j) sums[r][j] = words::add(sums[r][j], y, x[j]);
    }
  }
  auto const finish = [&sums, to = t.to, stride = t.stride, columns = t.columns,
                       factors = t.factors](auto adds) POSENC_INLINED {
    registers::number of_columns[Width];
    for (std::size_t j = 0; j < Width; ++j)
      of_columns[j] = registers::load(columns + j * registers::size);
    unrolled<tile_rows>([&](std::size_t r) POSENC_INLINED {
      registers::number const of_row(factors[r]);
      unrolled<Width>([&](std::size_t j) POSENC_INLINED {
        auto* const at = to + r * stride + j * registers::size;
        auto const x = words::as_floats(sums[r][j]) * of_columns[j];
        if constexpr (adds) {
          registers::store(at, registers::multiply_add(of_row, x, registers::load(at)));
        } else {
          registers::store(at, of_row * x);
        }
      });
    });
  };
  t.adds ? finish(std::true_type()) : finish(std::false_type());
}

POSENC_QUIET_END

#endif

}}}  // namespace posenc::detail
