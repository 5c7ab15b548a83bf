// The C library of posenc in one file. It needs posenc.h beside it and a C++20 compiler: no other
// library. g++ and clang for x86-64 and 64-bit ARM compute in registers, others number by number.
//
//     c++ -std=c++20 -O3 -ffp-contract=off -c posenc_kernels.cpp     one set: what the flags allow
//
// Several sets in one program, which picks the best that its CPU has: compile the file once for
// each set with the set's flags, and once without, for the functions of posenc.h and the set base.
// On x86-64 the sets are v3, v4, v4_vnni and v4_bf16, each beside those before it; on 64-bit ARM
// with Linux, bf16.
//
//     CXX="c++ -std=c++20 -O3 -ffp-contract=off -c posenc_kernels.cpp"
//     $CXX -DPOSENC_SETS=v3,v4 -o posenc.o
//     $CXX -DPOSENC_SET=v3 -march=x86-64-v3 -o v3.o
//     $CXX -DPOSENC_SET=v4 -march=x86-64-v4 -o v4.o
//
// With -ffp-contract=off the bits are those of every compiler. Keep -O2 or -O3, and use no
// link-time optimisation: otherwise sets may share functions of the standard library, and a CPU may
// run instructions that it lacks.

#define POSENC_WITHOUT_XSIMD

// The sets as bits, so that an #if can ask.
#define POSENC_BIT_OF_base 1
#define POSENC_BIT_OF_v3 2
#define POSENC_BIT_OF_v4 4
#define POSENC_BIT_OF_v4_vnni 8
#define POSENC_BIT_OF_v4_bf16 16
#define POSENC_BIT_OF_bf16 32
#define POSENC_BITS_OF(...) POSENC_BITS_EXPANDED(__VA_ARGS__, base, base, base, base, base, )
#define POSENC_BITS_EXPANDED(a, b, c, d, e, ...)                                   \
  (POSENC_BIT_OF_##a | POSENC_BIT_OF_##b | POSENC_BIT_OF_##c | POSENC_BIT_OF_##d | \
   POSENC_BIT_OF_##e)
#define POSENC_ARE_SETS(...) POSENC_ARE_SETS_EXPANDED(__VA_ARGS__, base, base, base, base, base, )
#define POSENC_ARE_SETS_EXPANDED(a, b, c, d, e, ...)                                   \
  (POSENC_BIT_OF_##a && POSENC_BIT_OF_##b && POSENC_BIT_OF_##c && POSENC_BIT_OF_##d && \
   POSENC_BIT_OF_##e)

#if defined(POSENC_SET)
#if !POSENC_ARE_SETS(POSENC_SET)
#error POSENC_SET must be base, v3, v4, v4_vnni, v4_bf16 or bf16
#endif
#define POSENC_KERNELS_SET POSENC_SET
#define POSENC_IS(set) (POSENC_BITS_OF(POSENC_SET) == (POSENC_BIT_OF_##set | POSENC_BIT_OF_base))
#if POSENC_IS(v4_vnni)
#define POSENC_KERNELS_FEWER v4
#define POSENC_KERNELS_ONLY_ATTENTION
#elif POSENC_IS(v4_bf16)
#define POSENC_KERNELS_FEWER v4_vnni
#elif POSENC_IS(bf16)
#define POSENC_KERNELS_FEWER base
#endif
#if POSENC_IS(v3) && !(defined(__AVX2__) && defined(__FMA__) && defined(__F16C__))
#error POSENC_SET=v3 needs -march=x86-64-v3
#endif
#if (POSENC_IS(v4) || POSENC_IS(v4_vnni) || POSENC_IS(v4_bf16)) && \
    !(defined(__AVX512BW__) && defined(__AVX512VL__))
#error POSENC_SET=v4 needs -march=x86-64-v4
#endif
#if (POSENC_IS(v4_vnni) || POSENC_IS(v4_bf16)) && !defined(__AVX512VNNI__)
#error POSENC_SET=v4_vnni needs -march=x86-64-v4 -mavx512vnni
#endif
#if POSENC_IS(v4_bf16) && !defined(__AVX512BF16__)
#error POSENC_SET=v4_bf16 needs -march=x86-64-v4 -mavx512vnni -mavx512bf16
#endif
#if POSENC_IS(v3) && defined(__AVX512F__)
#error POSENC_SET=v3 must have no AVX-512, which CPUs of this set lack: -march=x86-64-v3
#endif
#if POSENC_IS(bf16) && !defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#error POSENC_SET=bf16 needs -march=armv8.2-a+bf16
#endif
#endif

#if defined(POSENC_SETS)
#if defined(POSENC_SET)
#error POSENC_SETS is for the file without POSENC_SET, which chooses among them
#endif
#if !POSENC_ARE_SETS(POSENC_SETS)
#error POSENC_SETS must be among base, v3, v4, v4_vnni, v4_bf16 and bf16
#endif
#define POSENC_HAVE(set) (POSENC_BITS_OF(POSENC_SETS) & POSENC_BIT_OF_##set)
#if POSENC_HAVE(v3)
#define POSENC_KERNELS_V3
#endif
#if POSENC_HAVE(v4)
#define POSENC_KERNELS_V4
#endif
#if POSENC_HAVE(v4_vnni)
#define POSENC_KERNELS_V4_VNNI
#if !POSENC_HAVE(v4)
#error POSENC_SETS must have v4, where it has v4_vnni
#endif
#endif
#if POSENC_HAVE(v4_bf16)
#define POSENC_KERNELS_V4_BF16
#if !POSENC_HAVE(v4_vnni)
#error POSENC_SETS must have v4_vnni, where it has v4_bf16
#endif
#endif
#if POSENC_HAVE(bf16)
#define POSENC_KERNELS_BF16
#endif
#endif

#include "posenc/c/instruction_set.hpp"
#if !defined(POSENC_SET)
#include "posenc/c/library.hpp"
#endif
