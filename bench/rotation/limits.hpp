// The limit of a rotation: its bytes read, multiplied by a number and written. In 16 bits they are
// converted, multiplied and converted, by the CPU's best instructions, without a guard. The factor
// is -1, which keeps magnitudes; the compiler must not know it.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <vector>
#if defined(__F16C__) || defined(__AVX512BF16__)
#include <immintrin.h>
#endif

#include "conversions.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/lanes.hpp"

namespace bench {

/// A way to scale `step` numbers, in place or not. What is left over is scaled by this one.
struct by_loop {
  template <class>
  static constexpr std::size_t step = 1;
  template <class S, class T>
  static void scale(S const* from, T* to, posenc::arithmetic_t<T> factor) {
    user_store(*to, user_load(*from) * factor);
  }
};

/// Four registers at a time.
struct by_registers {
  template <class T>
  using lanes = posenc::detail::lanes<T>;
  template <class T>
  static constexpr std::size_t step = 4 * lanes<T>::size;
  template <class T>
  static void scale(T const* from, T* to, T factor) {
    typename lanes<T>::number const c(factor);
    constexpr auto n = lanes<T>::size;
    auto const x0 = lanes<T>::load(from), x1 = lanes<T>::load(from + n),
               x2 = lanes<T>::load(from + 2 * n), x3 = lanes<T>::load(from + 3 * n);
    lanes<T>::store(to, x0 * c), lanes<T>::store(to + n, x1 * c);
    lanes<T>::store(to + 2 * n, x2 * c), lanes<T>::store(to + 3 * n, x3 * c);
  }
};

#if defined(__F16C__)
struct halves_by_8 {
  template <class>
  static constexpr std::size_t step = 8;
  static void scale(posenc::half const* from, posenc::half* to, float factor) {
    auto const x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<__m128i const*>(from)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(_mm256_mul_ps(x, _mm256_set1_ps(factor)), 0));
  }
};
#endif

#if defined(__AVX512F__)
struct halves_by_16 {
  template <class>
  static constexpr std::size_t step = 16;
  static void scale(posenc::half const* from, posenc::half* to, float factor) {
    auto const x = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<__m256i const*>(from)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtps_ph(_mm512_mul_ps(x, _mm512_set1_ps(factor)), 0));
  }
};
#endif

#if defined(__AVX512BF16__) && defined(__AVX512BW__)
inline void store_32(posenc::bfloat16* to, __m512 first, __m512 second) {
  _mm512_storeu_si512(to, std::bit_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first)));
}

/// Widening loads.
struct bfloat16s_in_order {
  template <class>
  static constexpr std::size_t step = 32;
  static __m512 load(posenc::bfloat16 const* from) {
    auto const words = _mm256_loadu_si256(reinterpret_cast<__m256i const*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16));
  }
  static void scale(posenc::bfloat16 const* from, posenc::bfloat16* to, float factor) {
    auto const c = _mm512_set1_ps(factor);
    store_32(to, _mm512_mul_ps(load(from), c), _mm512_mul_ps(load(from + 16), c));
  }
};

/// The numbers of even index in one register, those of odd index in another.
struct bfloat16s_even_and_odd {
  template <class>
  static constexpr std::size_t step = 32;
  static void scale(posenc::bfloat16 const* from, posenc::bfloat16* to, float factor) {
    auto const c = _mm512_set1_ps(factor);
    auto const both = _mm512_loadu_si512(from);
    auto const even = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16)),
               odd = _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32(-65536)));
    auto const packed =
        std::bit_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_mul_ps(odd, c), _mm512_mul_ps(even, c)));
    _mm512_storeu_si512(to, _mm512_permutexvar_epi16(_mm512_load_si512(order.data()), packed));
  }

 private:
  alignas(64) static constexpr auto order = [] {
    std::array<unsigned short, 32> words{};
    for (unsigned i = 0; i < 32; ++i) words[i] = static_cast<unsigned short>(i / 2 + i % 2 * 16);
    return words;
  }();
};

struct floats_to_bfloat16s {
  template <class>
  static constexpr std::size_t step = 32;
  static void scale(float const* from, posenc::bfloat16* to, float factor) {
    auto const c = _mm512_set1_ps(factor);
    store_32(to, _mm512_mul_ps(_mm512_loadu_ps(from), c),
             _mm512_mul_ps(_mm512_loadu_ps(from + 16), c));
  }
};
#endif

/// Scales blocks of `count` numbers, `stride` apart.
template <class Way, class T>
[[gnu::noinline]] void scale(T* x, std::size_t blocks, std::size_t stride, std::size_t count,
                             posenc::arithmetic_t<T> factor) {
  constexpr auto step = Way::template step<T>;
  for (; blocks > 0; --blocks, x += stride) {
    std::size_t i = 0;
#pragma GCC unroll 4
    for (; i + step <= count; i += step) Way::scale(x + i, x + i, factor);
    for (; i < count; ++i) by_loop::scale(x + i, x + i, factor);
  }
}

/// The same from one place to another, which do not overlap.
template <class Way, class S, class T>
[[gnu::noinline]] void scale_to(S const* __restrict from, T* __restrict to, std::size_t count,
                                float factor) {
  constexpr auto step = Way::template step<S>;
  std::size_t i = 0;
#pragma GCC unroll 4
  for (; i + step <= count; i += step) Way::scale(from + i, to + i, factor);
  for (; i < count; ++i) by_loop::scale(from + i, to + i, factor);
}

template <class T>
using scaling = void (*)(T*, std::size_t, std::size_t, std::size_t, posenc::arithmetic_t<T>);
template <class S, class T>
using scaling_to = void (*)(S const*, T*, std::size_t, float);

/// All ways: the fastest is the limit.
template <class T>
std::vector<scaling<T>> scalings() {
  std::vector<scaling<T>> ways{scale<by_loop, T>};
  if constexpr (std::floating_point<T>) ways.push_back(scale<by_registers, T>);
#if defined(__F16C__)
  if constexpr (std::same_as<T, posenc::half>) ways.push_back(scale<halves_by_8, T>);
#endif
#if defined(__AVX512F__)
  if constexpr (std::same_as<T, posenc::half>) ways.push_back(scale<halves_by_16, T>);
#endif
#if defined(__AVX512BF16__) && defined(__AVX512BW__)
  if constexpr (std::same_as<T, posenc::bfloat16>) {
    ways.push_back(scale<bfloat16s_in_order, T>);
    ways.push_back(scale<bfloat16s_even_and_odd, T>);
  }
#endif
  return ways;
}
template <class S, class T>
std::vector<scaling_to<S, T>> scalings_to() {
  std::vector<scaling_to<S, T>> ways{scale_to<by_loop, S, T>};
  if constexpr (std::same_as<S, T> && std::same_as<S, float>)
    ways.push_back(scale_to<by_registers, S, T>);
#if defined(__AVX512BF16__) && defined(__AVX512BW__)
  if constexpr (std::same_as<T, posenc::bfloat16> && std::same_as<S, float>)
    ways.push_back(scale_to<floats_to_bfloat16s, S, T>);
  if constexpr (std::same_as<T, posenc::bfloat16> && std::same_as<S, T>)
    ways.push_back(scale_to<bfloat16s_in_order, S, T>);
#endif
  return ways;
}

}  // namespace bench
