// Functions of registers, by the CPU's own instructions, for x86: an overload for each width.
#pragma once

#include <cstdint>
#include <cstring>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/intrinsics.hpp"

#if defined(__SSE2__) && !defined(POSENC_NO_REGISTERS)

POSENC_QUIET_BEGIN

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

// ---- Registers of float and double ----

// a * b + c with one rounding. xsimd rounds twice on AVX-512 (8.1), and where XSIMD_DEFAULT_ARCH
// names an instruction set without FMA; clang does not fuse the two.
#if defined(__AVX512F__)
inline __m512 fused(__m512 a, __m512 b, __m512 c) noexcept { return _mm512_fmadd_ps(a, b, c); }
inline __m512d fused(__m512d a, __m512d b, __m512d c) noexcept { return _mm512_fmadd_pd(a, b, c); }
#endif
#if defined(__FMA__)
inline __m256 fused(__m256 a, __m256 b, __m256 c) noexcept { return _mm256_fmadd_ps(a, b, c); }
inline __m256d fused(__m256d a, __m256d b, __m256d c) noexcept { return _mm256_fmadd_pd(a, b, c); }
inline __m128 fused(__m128 a, __m128 b, __m128 c) noexcept { return _mm_fmadd_ps(a, b, c); }
inline __m128d fused(__m128d a, __m128d b, __m128d c) noexcept { return _mm_fmadd_pd(a, b, c); }
#endif

// Square roots, rounded once.
#if defined(__AVX512F__)
inline __m512 root(__m512 x) noexcept { return _mm512_sqrt_ps(x); }
inline __m512d root(__m512d x) noexcept { return _mm512_sqrt_pd(x); }
#endif
#if defined(__AVX__)
inline __m256 root(__m256 x) noexcept { return _mm256_sqrt_ps(x); }
inline __m256d root(__m256d x) noexcept { return _mm256_sqrt_pd(x); }
#endif
inline __m128 root(__m128 x) noexcept { return _mm_sqrt_ps(x); }
inline __m128d root(__m128d x) noexcept { return _mm_sqrt_pd(x); }

// The sum of the lanes of a register; and of as many registers as one has lanes, in their order.
// Which lanes are added first is the same for every compiler and every version of xsimd.
inline float total(__m128 x) noexcept {
  auto const two = x + _mm_movehl_ps(x, x);
  return _mm_cvtss_f32(two + _mm_shuffle_ps(two, two, 1));
}
inline double total(__m128d x) noexcept { return _mm_cvtsd_f64(x + _mm_unpackhi_pd(x, x)); }
inline __m128 totals(__m128 const* x) noexcept {
  auto const first = _mm_unpacklo_ps(x[0], x[1]) + _mm_unpackhi_ps(x[0], x[1]),
             last = _mm_unpacklo_ps(x[2], x[3]) + _mm_unpackhi_ps(x[2], x[3]);
  return _mm_movelh_ps(first, last) + _mm_movehl_ps(last, first);
}
inline __m128d totals(__m128d const* x) noexcept {
  return _mm_unpacklo_pd(x[0], x[1]) + _mm_unpackhi_pd(x[0], x[1]);
}
#if defined(__AVX__)
inline float total(__m256 x) noexcept {
  auto const four = _mm256_castps256_ps128(x) + _mm256_extractf128_ps(x, 1);
  auto const two = _mm_hadd_ps(four, four);
  return _mm_cvtss_f32(_mm_hadd_ps(two, two));
}
inline double total(__m256d x) noexcept {
  return total(_mm256_castpd256_pd128(x) + _mm256_extractf128_pd(x, 1));
}
inline __m256 totals(__m256 const* x) noexcept {
  auto const first = _mm256_hadd_ps(_mm256_hadd_ps(x[0], x[1]), _mm256_hadd_ps(x[2], x[3])),
             last = _mm256_hadd_ps(_mm256_hadd_ps(x[4], x[5]), _mm256_hadd_ps(x[6], x[7]));
  return _mm256_blend_ps(first, last, 0xf0) + _mm256_permute2f128_ps(first, last, 0x21);
}
inline __m256d totals(__m256d const* x) noexcept {
  auto const first = _mm256_hadd_pd(x[0], x[1]), last = _mm256_hadd_pd(x[2], x[3]);
  return _mm256_blend_pd(first, last, 0xc) + _mm256_permute2f128_pd(first, last, 0x21);
}
#endif
#if defined(__AVX512F__)
inline float total(__m512 x) noexcept {
  auto const upper =
      _mm512_castpd_ps(_mm512_castpd256_pd512(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1)));
  return total(_mm512_castps512_ps256(x) + _mm512_castps512_ps256(upper));
}
inline double total(__m512d x) noexcept {
  return total(_mm512_castpd512_pd256(x) + _mm512_extractf64x4_pd(x, 1));
}
inline __m512 totals(__m512 const* x) noexcept {
  __m512 fours[4];  // each quarter: partial sums of four registers
  for (int i = 0; i < 4; ++i) {
    auto const two = [](__m512 a, __m512 b) {
      return _mm512_castps_pd(_mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b));
    };
    auto const first = two(x[4 * i], x[4 * i + 1]), second = two(x[4 * i + 2], x[4 * i + 3]);
    fours[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(first, second)) +
               _mm512_castpd_ps(_mm512_unpackhi_pd(first, second));
  }
  auto const quarters = [](__m512 a, __m512 b) {
    return _mm512_shuffle_f32x4(a, b, 0x88) + _mm512_shuffle_f32x4(a, b, 0xdd);
  };
  return quarters(quarters(fours[0], fours[1]), quarters(fours[2], fours[3]));
}
inline __m512d totals(__m512d const* x) noexcept {
  auto const halves = [](__m512d a, __m512d b) {
    return _mm512_shuffle_f64x2(a, b, 0x44) + _mm512_shuffle_f64x2(a, b, 0xee);
  };
  auto const quarters = [](__m512d a, __m512d b) {
    return _mm512_shuffle_f64x2(a, b, 0x88) + _mm512_shuffle_f64x2(a, b, 0xdd);
  };
  auto const even = quarters(halves(x[0], x[2]), halves(x[4], x[6])),
             odd = quarters(halves(x[1], x[3]), halves(x[5], x[7]));
  return _mm512_unpacklo_pd(even, odd) + _mm512_unpackhi_pd(even, odd);
}
#endif

// Floats as integers, towards zero: what has none becomes -2^31. Whether a bit of a register is 1.
#if defined(__AVX512F__)
inline __m512i truncated(__m512 x) noexcept { return _mm512_cvttps_epi32(x); }
inline bool any_bit(__m512i x) noexcept { return _mm512_test_epi64_mask(x, x) != 0; }
#endif
#if defined(__AVX__)
inline __m256i truncated(__m256 x) noexcept { return _mm256_cvttps_epi32(x); }
inline bool any_bit(__m256i x) noexcept { return _mm256_testz_si256(x, x) == 0; }
#endif
inline __m128i truncated(__m128 x) noexcept { return _mm_cvttps_epi32(x); }
inline bool any_bit(__m128i x) noexcept {
  return _mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_setzero_si128())) != 0xffff;
}

// Loads of floats as doubles; stores of doubles as floats, rounded once; x0 x1 x2 x3 ... -> x1 x0
// x3 x2 ..., for which xsimd takes a register more. Doubles have overloads too: clang would take
// them for floats.
#if defined(__AVX512F__)
inline void load_floats(float const* from, __m512d& x) noexcept {
  x = _mm512_cvtps_pd(_mm256_loadu_ps(from));
}
inline void store_floats(float* to, __m512d x) noexcept {
  _mm256_storeu_ps(to, _mm512_cvtpd_ps(x));
}
inline __m512 swapped(__m512 x) noexcept { return _mm512_permute_ps(x, 0xb1); }
inline __m512d swapped(__m512d x) noexcept { return _mm512_permute_pd(x, 0x55); }
#endif
#if defined(__AVX__)
inline void load_floats(float const* from, __m256d& x) noexcept {
  x = _mm256_cvtps_pd(_mm_loadu_ps(from));
}
inline void store_floats(float* to, __m256d x) noexcept { _mm_storeu_ps(to, _mm256_cvtpd_ps(x)); }
inline __m256 swapped(__m256 x) noexcept { return _mm256_permute_ps(x, 0xb1); }
inline __m256d swapped(__m256d x) noexcept { return _mm256_permute_pd(x, 0x5); }
#endif

// a0 b0 a1 b1 ..., the first half in a, the second in b.
#if defined(__AVX512F__)
inline void zip(__m512& a, __m512& b) noexcept {
  auto const first = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  auto const second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
  auto const x = _mm512_permutex2var_ps(a, first, b);
  b = _mm512_permutex2var_ps(a, second, b);
  a = x;
}
inline void zip(__m512d& a, __m512d& b) noexcept {
  auto const first = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
  auto const second = _mm512_add_epi64(first, _mm512_set1_epi64(4));
  auto const x = _mm512_permutex2var_pd(a, first, b);
  b = _mm512_permutex2var_pd(a, second, b);
  a = x;
}
#endif
#if defined(__AVX__)
inline void zip(__m256& a, __m256& b) noexcept {
  auto const low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
  a = _mm256_permute2f128_ps(low, high, 0x20);
  b = _mm256_permute2f128_ps(low, high, 0x31);
}
inline void zip(__m256d& a, __m256d& b) noexcept {
  auto const low = _mm256_unpacklo_pd(a, b), high = _mm256_unpackhi_pd(a, b);
  a = _mm256_permute2f128_pd(low, high, 0x20);
  b = _mm256_permute2f128_pd(low, high, 0x31);
}
#endif
inline void zip(__m128& a, __m128& b) noexcept {
  auto const x = _mm_unpacklo_ps(a, b);
  b = _mm_unpackhi_ps(a, b);
  a = x;
}
inline void zip(__m128d& a, __m128d& b) noexcept {
  auto const x = _mm_unpacklo_pd(a, b);
  b = _mm_unpackhi_pd(a, b);
  a = x;
}

// For phases: products of 64-bit integers, of their lower halves and modulo 2^64; 64-bit integers
// to doubles, rounded once; two registers of doubles to floats.
#if defined(__AVX512F__)
inline __m512i halves_product(__m512i a, __m512i b) noexcept { return _mm512_mul_epu32(a, b); }
#endif
#if defined(__AVX512DQ__)
inline __m512i whole_product(__m512i a, __m512i b) noexcept { return _mm512_mullo_epi64(a, b); }
inline __m512d to_doubles(__m512i x) noexcept { return _mm512_cvtepi64_pd(x); }
inline __m512 to_floats(__m512d x, __m512d y) noexcept {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(x)), _mm512_cvtpd_ps(y), 1);
}
#endif
#if defined(__AVX2__)
inline __m256i halves_product(__m256i a, __m256i b) noexcept { return _mm256_mul_epu32(a, b); }
#endif
#if defined(__AVX__)
inline __m256 to_floats(__m256d x, __m256d y) noexcept {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(x)), _mm256_cvtpd_ps(y), 1);
}
#endif
inline __m128i halves_product(__m128i a, __m128i b) noexcept { return _mm_mul_epu32(a, b); }
inline __m128 to_floats(__m128d x, __m128d y) noexcept {
  return _mm_movelh_ps(_mm_cvtpd_ps(x), _mm_cvtpd_ps(y));
}

// ---- half and bfloat16 ----

// Loads and stores of contiguous halves, where the CPU converts them.
#if defined(__AVX512F__)
inline void load_halves(void const* from, __m512& x) noexcept {
  x = _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<__m256i const*>(from)));
}
inline void store_halves(void* to, __m512 x) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(to), _mm512_cvtps_ph(x, 0));
}
#endif
#if defined(__F16C__)
inline void load_halves(void const* from, __m256& x) noexcept {
  x = _mm256_cvtph_ps(_mm_loadu_si128(static_cast<__m128i const*>(from)));
}
inline void load_halves(void const* from, __m128& x) noexcept {
  x = _mm_cvtph_ps(_mm_loadl_epi64(static_cast<__m128i const*>(from)));
}
inline void store_halves(void* to, __m256 x) noexcept {
  auto converted = _mm256_cvtps_ph(x, 0);
#if defined(__clang__)
  asm("" : "+v"(converted));  // Zen 4 takes thrice as long to convert to memory
#endif
  _mm_storeu_si128(static_cast<__m128i*>(to), converted);
}
inline void store_halves(void* to, __m128 x) noexcept {
  _mm_storel_epi64(static_cast<__m128i*>(to), _mm_cvtps_ph(x, 0));
}
#endif

// Loads of contiguous 16-bit integers as 32 bits. g++ would store the halves of a register and load
// them as one, which is not forwarded.
#if defined(__AVX512F__)
inline void load_wider(void const* from, __m512i& x) noexcept {
  x = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<__m256i const*>(from)));
}
#endif
#if defined(__AVX2__)
inline void load_wider(void const* from, __m256i& x) noexcept {
  x = _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<__m128i const*>(from)));
}
inline void load_wider(void const* from, __m128i& x) noexcept {
  x = _mm_cvtepu16_epi32(_mm_loadl_epi64(static_cast<__m128i const*>(from)));
}
#endif

// Stores of 32-bit integers below 2^16 as 16 bits.
#if defined(__AVX512F__)
inline void store_narrower(void* to, __m512i x) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(to), _mm512_cvtepi32_epi16(x));
}
#endif
#if defined(__AVX2__)
inline void store_narrower(void* to, __m256i x) noexcept {
  _mm_storeu_si128(static_cast<__m128i*>(to),
                   _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)));
}
#endif
inline void store_narrower(void* to, __m128i x) noexcept {
  auto const words = _mm_srai_epi32(_mm_slli_epi32(x, 16), 16);  // as signed words
  _mm_storel_epi64(static_cast<__m128i*>(to), _mm_packs_epi32(words, words));
}

// Whether any number is NaN. An instruction by name: under -ffast-math compilers assume none is.
#if defined(__GNUC__) && !defined(__AVX__)
inline bool any_nan(__m128 x, __m128 y) noexcept {
  asm("{cmpunordps %1, %0|cmpunordps %0, %1}" : "+x"(x) : "x"(y));
  return _mm_movemask_ps(x) != 0;
}
#endif
#if defined(__AVX2__) && defined(__GNUC__)
inline bool any_nan(__m256 x, __m256 y) noexcept {
  __m256 unordered;
  asm("{vcmpunordps %2, %1, %0|vcmpunordps %0, %1, %2}" : "=x"(unordered) : "x"(x), "x"(y));
  return _mm256_movemask_ps(unordered) != 0;
}
#endif
#if defined(__AVX512F__) && defined(__GNUC__)
inline bool any_nan(__m512 x, __m512 y) noexcept {
  __mmask16 unordered;
  asm("{vcmpunordps %2, %1, %0|vcmpunordps %0, %1, %2}" : "=k"(unordered) : "v"(x), "v"(y));
  return unordered != 0;
}
#endif

#if defined(__AVX512BF16__)
// Makes clang load here. Else it may do so behind the next branch, and the CPU starts later.
inline void load_here([[maybe_unused]] __m512i& words) noexcept {
#if defined(__clang__)
  asm volatile("" : "+v"(words));
#endif
}
// The CPU rounds to bfloat16 but flushes subnormal results to zero. If a rounded word is zero or
// subnormal, its number is rounded in integers.
inline __mmask32 tiny(__m512i words) noexcept {
  auto const exponent = _mm512_set1_epi16(0x7f80);
#if defined(__clang__)  // which would take two instructions
  __mmask32 result;
  asm("{vptestnmw %2, %1, %0|vptestnmw %0, %1, %2}" : "=k"(result) : "v"(words), "v"(exponent));
  return result;
#else
  return _mm512_testn_epi16_mask(words, exponent);
#endif
}
inline __m512i bfloat16_words(__m512 first, __m512 last) noexcept {
  auto const words = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(last, first));
  auto const subnormal = tiny(words);
  if (subnormal == 0) [[likely]]
    return words;
  auto const round = [](__m512 x) {
    auto const bits = _mm512_castps_si512(x),
               odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    return _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  };
  auto const upper =
      _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                       25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  return _mm512_mask_mov_epi16(words, subnormal,
                               _mm512_permutex2var_epi16(round(first), upper, round(last)));
}
inline void store_bfloat16(void* to, __m512 x) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(to), _mm512_castsi512_si256(bfloat16_words(x, x)));
}
inline void store_bfloat16(void* to, __m512 first, __m512 last) noexcept {
  _mm512_storeu_si512(to, bfloat16_words(first, last));
}
inline void store_bfloat16_pairs(void* to, __m512 x, __m512 y) noexcept {
  auto const alternating =
      _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                       21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  _mm512_storeu_si512(to, _mm512_permutexvar_epi16(alternating, bfloat16_words(x, y)));
}
#endif
#if defined(__AVX512BF16__) && defined(__AVX512VBMI__)
// The first and the last words as floats.
inline void load_bfloat16(void const* from, __m512& first, __m512& last) noexcept {
  constexpr __mmask64 upper = 0xcccc'cccc'cccc'cccc;
  auto const place =
      _mm512_set_epi32(0x1f1e'1f1e, 0x1d1c'1d1c, 0x1b1a'1b1a, 0x1918'1918, 0x1716'1716, 0x1514'1514,
                       0x1312'1312, 0x1110'1110, 0x0f0e'0f0e, 0x0d0c'0d0c, 0x0b0a'0b0a, 0x0908'0908,
                       0x0706'0706, 0x0504'0504, 0x0302'0302, 0x0100'0100);
  auto const later = _mm512_add_epi8(place, _mm512_set1_epi8(32));
  auto words = _mm512_loadu_si512(from);
  load_here(words);
  first = _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi8(upper, place, words));
  last = _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi8(upper, later, words));
}
#endif

// ---- Integers of 8 bits, E4M3 ----

// Bytes as integers of 32 bits: zero-extended, or with their sign.
#if defined(__AVX512F__)
inline void load_bytes(std::uint8_t const* from, __m512i& x) noexcept {
  x = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(from)));
}
inline void load_bytes(std::int8_t const* from, __m512i& x) noexcept {
  x = _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(from)));
}
#endif
#if defined(__AVX2__)
inline void load_bytes(std::uint8_t const* from, __m256i& x) noexcept {
  x = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<__m128i const*>(from)));
}
inline void load_bytes(std::int8_t const* from, __m256i& x) noexcept {
  x = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<__m128i const*>(from)));
}
#endif
// Each byte four times.
inline __m128i each_four_times(void const* from) noexcept {
  int four;
  std::memcpy(&four, from, 4);
  auto const bytes = _mm_cvtsi32_si128(four), words = _mm_unpacklo_epi8(bytes, bytes);
  return _mm_unpacklo_epi16(words, words);
}
inline void load_bytes(std::uint8_t const* from, __m128i& x) noexcept {
  x = _mm_srli_epi32(each_four_times(from), 24);
}
inline void load_bytes(std::int8_t const* from, __m128i& x) noexcept {
  x = _mm_srai_epi32(each_four_times(from), 24);
}

// Each byte in two neighbours of 32 bits, whose low 4 bits are its low and its high ones.
#if defined(__AVX512F__)
inline void load_byte_pairs(void const* from, __m512i& x) noexcept {
  auto const bytes = _mm512_cvtepu8_epi64(_mm_loadl_epi64(static_cast<__m128i const*>(from)));
  x = _mm512_or_si512(bytes, _mm512_slli_epi64(bytes, 28));
}
#endif
#if defined(__AVX2__)
inline void load_byte_pairs(void const* from, __m256i& x) noexcept {
  int four;
  std::memcpy(&four, from, 4);
  auto const bytes = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
  x = _mm256_or_si256(bytes, _mm256_slli_epi64(bytes, 28));
}
#endif
inline void load_byte_pairs(void const* from, __m128i& x) noexcept {
  std::uint16_t two;
  std::memcpy(&two, from, 2);
  auto const bytes = _mm_set_epi32(0, two >> 8, 0, two & 0xff);
  x = _mm_or_si128(bytes, _mm_slli_epi64(bytes, 28));
}

// Codes of 4 bits to codes of 5: lane i gets bit i of `fifths`.
#if defined(__AVX512F__)
inline __m512i with_fifths(__m512i low, std::uint32_t fifths) noexcept {
  return _mm512_mask_or_epi32(low, static_cast<__mmask16>(fifths), low, _mm512_set1_epi32(16));
}
#endif
#if defined(__AVX2__)
inline __m256i with_fifths(__m256i low, std::uint32_t fifths) noexcept {
  auto const moved = _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(fifths << 4)),
                                       _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  return _mm256_or_si256(low, _mm256_and_si256(moved, _mm256_set1_epi32(16)));
}
#endif

// The numbers of a table of 16, which may be in two registers, at the low 4 bits of each index.
#if defined(__AVX512F__)
inline __m512 look_up(__m512i index, __m512 table) noexcept {
  return _mm512_permutexvar_ps(index, table);
}
#endif
#if defined(__AVX2__)
inline __m256 look_up(__m256i index, __m256 first, __m256 second) noexcept {
  return _mm256_blendv_ps(_mm256_permutevar8x32_ps(first, index),
                          _mm256_permutevar8x32_ps(second, index),
                          _mm256_castsi256_ps(_mm256_slli_epi32(index, 28)));
}
#endif

// The low bytes of integers of 32 bits, of one register, and of four, one after another.
#if defined(__AVX512F__)
inline void store_bytes(void* to, __m512i x) noexcept {
  _mm_storeu_si128(static_cast<__m128i*>(to), _mm512_cvtepi32_epi8(x));
}
#endif
#if defined(__AVX512VBMI__)
inline void store_bytes(void* to, __m512i a, __m512i b, __m512i c, __m512i d) noexcept {
  constexpr __mmask64 upper = 0xffff'ffff'0000'0000;
  auto const place =
      _mm512_set_epi32(0x7c78'7470, 0x6c68'6460, 0x5c58'5450, 0x4c48'4440, 0x3c38'3430, 0x2c28'2420,
                       0x1c18'1410, 0x0c08'0400, 0x7c78'7470, 0x6c68'6460, 0x5c58'5450, 0x4c48'4440,
                       0x3c38'3430, 0x2c28'2420, 0x1c18'1410, 0x0c08'0400);
  auto const first = _mm512_permutex2var_epi8(a, place, b),
             last = _mm512_permutex2var_epi8(c, place, d);
  _mm512_storeu_si512(to, _mm512_mask_mov_epi8(first, upper, last));
}
#endif
#if defined(__AVX2__)
inline void store_bytes(void* to, __m256i x) noexcept {
  auto const bytes = _mm256_and_si256(x, _mm256_set1_epi32(0xff));
  auto const words =
      _mm_packs_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  _mm_storel_epi64(static_cast<__m128i*>(to), _mm_packus_epi16(words, words));
}
inline void store_bytes(void* to, __m256i a, __m256i b, __m256i c, __m256i d) noexcept {
  auto const low = [](__m256i x) { return _mm256_and_si256(x, _mm256_set1_epi32(0xff)); };
  auto const fours =
      _mm256_packus_epi16(_mm256_packs_epi32(low(a), low(b)), _mm256_packs_epi32(low(c), low(d)));
  auto const order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
  _mm256_storeu_si256(static_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(fours, order));
}
#endif
inline __m128i low_bytes(__m128i a, __m128i b, __m128i c, __m128i d) noexcept {
  auto const low = [](__m128i x) { return _mm_and_si128(x, _mm_set1_epi32(0xff)); };
  return _mm_packus_epi16(_mm_packs_epi32(low(a), low(b)), _mm_packs_epi32(low(c), low(d)));
}
inline void store_bytes(void* to, __m128i a, __m128i b, __m128i c, __m128i d) noexcept {
  _mm_storeu_si128(static_cast<__m128i*>(to), low_bytes(a, b, c, d));
}
inline void store_bytes(void* to, __m128i x) noexcept {
  auto const four = _mm_cvtsi128_si32(low_bytes(x, x, x, x));
  std::memcpy(to, &four, 4);
}

// E4M3 as halves of the same sign, exponent and fraction bits: 2^-8 times the number, exactly. Bit
// 14 of a word, its sign again, is cleared; of NaN, whose lower bits are ones, a carry flips it.
#if defined(__AVX512F__) && defined(__AVX2__)
inline void load_e4m3(void const* from, __m512& x) noexcept {
  auto const bytes = _mm_loadu_si128(static_cast<__m128i const*>(from));
  auto const words = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7),
             sum = _mm256_add_epi16(words, _mm256_set1_epi16(0x80)),
             second = _mm256_set1_epi16(0x4000);
#if defined(__AVX512VL__)
  x = _mm512_cvtph_ps(_mm256_ternarylogic_epi64(words, sum, second, 0x78));
#else
  x = _mm512_cvtph_ps(_mm256_xor_si256(words, _mm256_and_si256(sum, second)));
#endif
}
#endif
#if defined(__F16C__) && defined(__AVX2__)
inline void load_e4m3(void const* from, __m256& x) noexcept {
  auto const bytes = _mm_loadl_epi64(static_cast<__m128i const*>(from));
  auto const words = _mm_slli_epi16(_mm_cvtepi8_epi16(bytes), 7),
             sum = _mm_add_epi16(words, _mm_set1_epi16(0x80));
  x = _mm256_cvtph_ps(_mm_xor_si128(words, _mm_and_si128(sum, _mm_set1_epi16(0x4000))));
}

// A half of these bits, as a float, in every lane.
#if defined(__AVX512F__)
inline void broadcast_half(std::uint16_t bits, __m512& x) noexcept {
  x = _mm512_cvtph_ps(_mm256_set1_epi16(static_cast<short>(bits)));
}
#endif
inline void broadcast_half(std::uint16_t bits, __m256& x) noexcept {
  x = _mm256_cvtph_ps(_mm_set1_epi16(static_cast<short>(bits)));
}
#endif

}}}  // namespace posenc::detail

POSENC_QUIET_END

#endif
