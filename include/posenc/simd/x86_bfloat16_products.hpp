// Products of bfloat16 numbers by the CPU's own instruction (AVX512-BF16): exact, and summed in
// float. A word is a pair of such numbers in the memory of a float, so that what moves floats moves
// pairs.
#pragma once

#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/simd/intrinsics.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/tile.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Whether code may ask the CPU for the instruction as it runs, and whether every CPU of the target
/// has it. CPUs with AMX run it at 0.4 of the rate of float products (a Xeon of 2023).
#if defined(POSENC_HAS_WIDE_PAIR_PRODUCTS)
inline constexpr bool may_multiply_bfloat16 = lanes<float>::size == 16;
#else
inline constexpr bool may_multiply_bfloat16 = false;
#endif
#if defined(__AVX512BF16__) && !defined(__AMX_BF16__)
inline constexpr bool multiplies_bfloat16 = may_multiply_bfloat16;
#else
inline constexpr bool multiplies_bfloat16 = false;
#endif

/// A tile of which `a` and the panel are words. Subnormal numbers and products count as 0.
struct word_tile : tile<float> {};

#if defined(POSENC_HAS_WIDE_PAIR_PRODUCTS)

POSENC_QUIET_BEGIN

template <std::size_t Width>
[[gnu::noinline, gnu::target("avx512bf16")]] void multiply_whole(word_tile const& t) noexcept {
  using registers = lanes<float>;
  __m512 sums[tile_rows][Width];
  for (auto& row : sums)
    for (auto& sum : row) sum = _mm512_setzero_ps();
  auto const a = t.a;
  auto const* panel = t.panel;
  for (std::size_t n = 0, end = t.terms; n != end; ++n, panel += tile_columns<float>) {
    __m512 x[Width];
    for (std::size_t j = 0; j < Width; ++j) x[j] = _mm512_loadu_ps(panel + j * registers::size);
    for (std::size_t r = 0; r < tile_rows; ++r) {
      auto const y = _mm512_set1_ps(a[r][n]);
      for (std::size_t j = 0; j < Width; ++j)
        sums[r][j] = _mm512_dpbf16_ps(sums[r][j], reinterpret_cast<__m512bh>(y),
                                      reinterpret_cast<__m512bh>(x[j]));
    }
  }
  auto const factor = _mm512_set1_ps(t.factor);
  for (std::size_t r = 0; r < tile_rows; ++r) {
    for (std::size_t j = 0; j < Width; ++j) {
      auto* const at = t.to + r * t.stride + j * registers::size;
      _mm512_storeu_ps(at, t.adds ? _mm512_fmadd_ps(factor, sums[r][j], _mm512_loadu_ps(at))
                                  : _mm512_mul_ps(factor, sums[r][j]));
    }
  }
}

POSENC_QUIET_END

#endif

}}}  // namespace posenc::detail
