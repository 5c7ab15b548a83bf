// A loop over head vectors in registers of 256 bits, which loads its cosines and sines again for
// every head: how engines for CPUs do it by hand.
#pragma once

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define POSENC_BENCH_ROW_LOOP

#include <immintrin.h>

#include <bit>
#include <cstddef>
#include <type_traits>

#include "conversions.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/layout.hpp"

namespace bench {

inline __m256 load_8(float const* from) { return _mm256_loadu_ps(from); }
inline __m256 load_8(posenc::half const* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<__m128i const*>(from)));
}
inline __m256 load_8(posenc::bfloat16 const* from) {
  auto const wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(from)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

inline void store_8(float* to, __m256 x) { _mm256_storeu_ps(to, x); }
inline void store_8(posenc::half* to, __m256 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(x, 0));
}
inline void store_8(posenc::bfloat16* to, __m256 x) {
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
  auto const words = std::bit_cast<__m128i>(_mm256_cvtneps_pbh(x));
#else
  auto const bits = _mm256_castps_si256(x);
  auto const odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  auto const rounded = _mm256_srli_epi32(
      _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  auto const words =
      _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1));
#endif
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), words);
}

/// Rotates what plain_loop does.
template <class Layout, class T>
[[gnu::noinline]] void row_loop(T* heads, posenc::heads_shape const& shape, std::size_t pairs,
                                float const* cos_sin) {
  constexpr bool split = std::is_same_v<Layout, posenc::halves>;
  constexpr std::size_t step = split ? 8 : 4;
  auto const twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
  for (std::size_t t = 0; t < shape.tokens; ++t, cos_sin += 2 * pairs) {
    auto const *cos = cos_sin, *sin = cos_sin + pairs;
    for (std::size_t h = 0; h < shape.heads; ++h, heads += shape.head_dim) {
      std::size_t i = 0;
      for (; i + step <= pairs; i += step) {
        if constexpr (split) {
          auto const x = load_8(heads + i), y = load_8(heads + pairs + i), c = load_8(cos + i),
                     s = load_8(sin + i);
          store_8(heads + i, _mm256_fmsub_ps(x, c, _mm256_mul_ps(y, s)));
          store_8(heads + pairs + i, _mm256_fmadd_ps(y, c, _mm256_mul_ps(x, s)));
        } else {
          auto const each_twice = [&](float const* from) {
            return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)), twice);
          };
          auto const both = load_8(heads + 2 * i), swapped = _mm256_permute_ps(both, 0xb1);
          store_8(heads + 2 * i, _mm256_fmaddsub_ps(both, each_twice(cos + i),
                                                    _mm256_mul_ps(swapped, each_twice(sin + i))));
        }
      }
      for (; i < pairs; ++i) {
        auto& x = split ? heads[i] : heads[2 * i];
        auto& y = split ? heads[i + pairs] : heads[2 * i + 1];
        auto const a = user_load(x), b = user_load(y);
        user_store(x, a * cos[i] - b * sin[i]);
        user_store(y, a * sin[i] + b * cos[i]);
      }
    }
  }
}

}  // namespace bench
#endif
