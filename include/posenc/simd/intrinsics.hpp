// The CPU's own instructions of x86, in registers that xsimd has.
#pragma once

#include "posenc/core/target.hpp"

#if defined(__SSE2__) && !defined(POSENC_NO_REGISTERS)
#if defined(__AVX__)
#include <immintrin.h>
#else
#include <emmintrin.h>  // immintrin.h takes g++ a third of a second
#endif
#if defined(__AVX512F__)
#define POSENC_HAS_NIBBLE_COLUMNS  // 16 heads side by side
#endif
#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
#define POSENC_HAS_DOT_PRODUCTS        // of bytes
#define POSENC_HAS_PAIR_PRODUCTS       // of integers of 16 bits
#define POSENC_HAS_WIDE_PAIR_PRODUCTS  // in registers of 64 bytes
#elif defined(__AVXVNNI__) && !defined(__AVX512F__)
#define POSENC_HAS_PAIR_PRODUCTS
#endif
#endif
