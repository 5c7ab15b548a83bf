// The inline namespace of the library, named after the target that a file is compiled for.
#pragma once

#if !defined(__cpp_concepts) || __cpp_concepts < 201907L
#error posenc needs C++20
#include <-std=c++20>  // which ends the compilation, before a thousand errors
#endif
#if defined(_MSC_VER) && !defined(__clang__) && _MSVC_TRADITIONAL
#error posenc needs the standard preprocessor: /Zc:preprocessor
#endif
#if defined(POSENC_SINGLE_HEADER)
#error a file includes one single header of posenc, or headers of posenc/
#endif

#if !defined(POSENC_WITHOUT_XSIMD)
#include <xsimd/config/xsimd_config.hpp>  // macros only
#endif

// Code then computes number by number.
#if defined(XSIMD_NO_SUPPORTED_ARCHITECTURE) || \
    (defined(POSENC_WITHOUT_XSIMD) &&           \
     !(defined(__GNUC__) && (defined(__SSE2__) || defined(__AARCH64EL__))))
#define POSENC_NO_REGISTERS
#endif

/// POSENC_TARGET names the target of a file: the instruction set that the compiler was told
/// (-march, -m...), xsimd's version and architecture, -ffast-math, and whether exceptions are off.
/// It is part of every mangled name, as in posenc::x86_64_v3_xsimd8_1::rotate. The namespace is
/// inline: users write posenc::rotate.
///
/// Why: the linker keeps one copy of all inline functions of one name. A program with files for
/// several instruction sets would die of an illegal instruction. With one name per target, files of
/// any targets can be linked together, if:
///
/// - Files of different targets pass each other only pointers and numbers. A struct of your own
///   that contains a posenc value is used in files of one target.
/// - They are compiled with -O2 or more: with less, functions of the standard library, whose names
///   are the same for all targets, are not inlined.
/// - For the same reason, readers of model files, which use nlohmann-json, are compiled for one
///   target only, and the attention of each target, whose vectors grow out of line, is in a shared
///   library that exports only your own functions: version script `{ global: your_*; local: *; };`.
/// - All files of one target have the same XSIMD_DEFAULT_ARCH: a macro cannot tell xsimd::avx2 from
///   xsimd::sse2.
/// - They declare posenc's classes, if ever, in
///   `namespace posenc { inline namespace POSENC_TARGET {`.
#define POSENC_TARGET \
  POSENC_JOIN(POSENC_TARGET_CPU, POSENC_TARGET_XSIMD, POSENC_TARGET_MATH, POSENC_TARGET_ERRORS)

/// Before a function that is inlined wherever it is called. Not in code without optimisation, where
/// what is inlined is not simplified: a program has up to three times the size, and takes twice the
/// time to compile. Nor where POSENC_CALLS is defined, as in posenc's own tests, which then compile
/// in two thirds of the time.
#if defined(__GNUC__) && defined(__OPTIMIZE__) && !defined(POSENC_CALLS)
#define POSENC_ALWAYS_INLINE [[gnu::always_inline]]
#else
#define POSENC_ALWAYS_INLINE
#endif

/// The same after the parameters of a lambda, where C++20 has no attribute.
#if defined(__GNUC__) && defined(__OPTIMIZE__) && !defined(POSENC_CALLS)
#define POSENC_INLINED __attribute__((always_inline))
#else
#define POSENC_INLINED
#endif

// One word of up to 16 parts, which may be nothing.
#define POSENC_JOIN(...) POSENC_JOIN_EXPANDED(__VA_ARGS__, , , , , , , , , , , , , , , , )
#define POSENC_JOIN_EXPANDED(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ...) \
  a##b##c##d##e##f##g##h##i##j##k##l##m##n##o##p

// `name` if the predefined `macro` is 1, else nothing.
#define POSENC_X86(feature, name) POSENC_IF(__##feature##__, name)
#define POSENC_ARM(feature, name) POSENC_IF(__ARM_FEATURE_##feature, name)
#define POSENC_IF(macro, name) POSENC_IF_VALUE(macro, name)
#define POSENC_IF_VALUE(value, name) POSENC_SECOND(POSENC_IS_##value name, , )
#define POSENC_IS_1 ~,
#define POSENC_IS_1000000 ~,  // version 1 of an extension of RISC-V
#define POSENC_SECOND(...) POSENC_SECOND_EXPANDED(__VA_ARGS__)
#define POSENC_SECOND_EXPANDED(first, second, ...) second

#if defined(__x86_64__) || defined(_M_X64)
#define POSENC_TARGET_BASE x86_64
#elif defined(__i386__) || defined(_M_IX86)
#define POSENC_TARGET_BASE \
  POSENC_JOIN(x86_32, POSENC_X86(SSE, _sse), POSENC_X86(SSE2, _sse2), POSENC_X86(SSE2_MATH, _math))
#endif

#if defined(POSENC_TARGET_BASE)  // a level of x86-64, and extensions beyond it
#define POSENC_TARGET_V2                                                                      \
  POSENC_JOIN(POSENC_X86(SSE3, _sse3), POSENC_X86(SSSE3, _ssse3), POSENC_X86(SSE4_1, _sse41), \
              POSENC_X86(SSE4_2, _sse42), POSENC_X86(POPCNT, _popcnt))
#define POSENC_TARGET_V3                                                               \
  POSENC_JOIN(POSENC_X86(AVX, _avx), POSENC_X86(AVX2, _avx2), POSENC_X86(FMA, _fma),   \
              POSENC_X86(F16C, _f16c), POSENC_X86(BMI, _bmi), POSENC_X86(BMI2, _bmi2), \
              POSENC_X86(LZCNT, _lzcnt), POSENC_X86(MOVBE, _movbe))
#define POSENC_TARGET_V4                                                                           \
  POSENC_JOIN(POSENC_X86(AVX512F, _avx512f), POSENC_X86(AVX512BW, _bw), POSENC_X86(AVX512CD, _cd), \
              POSENC_X86(AVX512DQ, _dq), POSENC_X86(AVX512VL, _vl))
#if defined(__AVX512IFMA__) && defined(__AVX512VBMI__) && defined(__AVX512VBMI2__) &&       \
    defined(__AVX512VNNI__) && defined(__AVX512BITALG__) && defined(__AVX512VPOPCNTDQ__) && \
    defined(__GFNI__)
#define POSENC_TARGET_EVERY _icelake  // all of these, as its successors and Zen 4 have them
#else
#define POSENC_TARGET_EVERY                                                               \
  POSENC_JOIN(POSENC_X86(AVX512IFMA, _ifma), POSENC_X86(AVX512VBMI, _vbmi),               \
              POSENC_X86(AVX512VBMI2, _vbmi2), POSENC_X86(AVX512VNNI, _vnni),             \
              POSENC_X86(AVX512BITALG, _bitalg), POSENC_X86(AVX512VPOPCNTDQ, _vpopcntdq), \
              POSENC_X86(GFNI, _gfni))
#endif
#define POSENC_TARGET_MORE                                                                         \
  POSENC_JOIN(POSENC_X86(AVX512BF16, _bf16), POSENC_X86(AVX512FP16, _fp16), POSENC_TARGET_EVERY,   \
              POSENC_X86(AVX512ER, _er), POSENC_X86(AVX512PF, _pf), POSENC_X86(AVXVNNI, _avxvnni), \
              POSENC_X86(FMA4, _fma4), POSENC_X86(XOP, _xop), POSENC_X86(TBM, _tbm),               \
              POSENC_X86(APX_F, _apx))
#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__) && defined(__BMI__) && \
    defined(__BMI2__) && defined(__LZCNT__) && defined(__MOVBE__)
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && \
    defined(__AVX512DQ__) && defined(__AVX512VL__)
#define POSENC_TARGET_LEVEL _v4
#else
#define POSENC_TARGET_LEVEL POSENC_JOIN(_v3, POSENC_TARGET_V4)
#endif
#elif defined(__SSE3__) && defined(__SSSE3__) && defined(__SSE4_1__) && defined(__SSE4_2__) && \
    defined(__POPCNT__)
#define POSENC_TARGET_LEVEL POSENC_JOIN(_v2, POSENC_TARGET_V3, POSENC_TARGET_V4)
#else
#define POSENC_TARGET_LEVEL POSENC_JOIN(POSENC_TARGET_V2, POSENC_TARGET_V3, POSENC_TARGET_V4)
#endif
#define POSENC_TARGET_CPU POSENC_JOIN(POSENC_TARGET_BASE, POSENC_TARGET_LEVEL, POSENC_TARGET_MORE)
#elif defined(__aarch64__) || defined(__arm__) || defined(_M_ARM64)
#define POSENC_TARGET_CPU                                                                 \
  POSENC_JOIN(arm, __ARM_ARCH, POSENC_IF(__aarch64__, _64), POSENC_IF(__ARM_NEON, _neon), \
              POSENC_ARM(FMA, _fma), POSENC_ARM(SVE, _sve), POSENC_TARGET_BITS,           \
              POSENC_ARM(SVE2, _2), POSENC_TARGET_MORE)
#define POSENC_TARGET_MORE                                                                   \
  POSENC_JOIN(POSENC_ARM(FP16_VECTOR_ARITHMETIC, _fp16),                                     \
              POSENC_ARM(BF16_VECTOR_ARITHMETIC, _bf16), POSENC_ARM(DOTPROD, _dotprod),      \
              POSENC_ARM(MATMUL_INT8, _i8mm), POSENC_ARM(COMPLEX, _complex),                 \
              POSENC_ARM(FRINT, _frint), POSENC_ARM(SHA3, _sha3), POSENC_ARM(ATOMICS, _lse), \
              POSENC_ARM(QRDMX, _rdm), POSENC_ARM(CSSC, _cssc), POSENC_ARM(MOPS, _mops),     \
              POSENC_ARM(IDIV, _idiv), POSENC_ARM(JCVT, _jcvt))
#elif defined(__powerpc__)
#define POSENC_TARGET_CPU                                                          \
  POSENC_JOIN(ppc, POSENC_IF(__powerpc64__, 64), POSENC_IF(__LITTLE_ENDIAN__, le), \
              POSENC_IF(__ALTIVEC__, _altivec), POSENC_IF(__VSX__, _vsx),          \
              POSENC_IF(_ARCH_PWR8, _8), POSENC_IF(_ARCH_PWR9, _9), POSENC_IF(_ARCH_PWR10, _10))
#elif defined(__s390x__)
#define POSENC_TARGET_CPU POSENC_JOIN(s390x_, __ARCH__, POSENC_IF(__VX__, _vx))
#elif defined(__riscv)
#define POSENC_TARGET_CPU                                                                      \
  POSENC_JOIN(riscv, __riscv_xlen, POSENC_IF(__riscv_zba, _zba), POSENC_IF(__riscv_zbb, _zbb), \
              POSENC_IF(__riscv_zbs, _zbs), POSENC_IF(__riscv_zfh, _zfh),                      \
              POSENC_IF(__riscv_zfa, _zfa), POSENC_IF(__riscv_zicond, _zicond),                \
              POSENC_IF(__riscv_zvfh, _zvfh), POSENC_IF(__riscv_vector, _v), POSENC_TARGET_BITS)
#elif defined(__wasm__)
#define POSENC_TARGET_CPU                                  \
  POSENC_JOIN(wasm, POSENC_IF(__wasm_simd128__, _simd128), \
              POSENC_IF(__wasm_relaxed_simd__, _relaxed))
#else
#define POSENC_TARGET_CPU cpu
#endif
#if defined(__ARM_FEATURE_SVE_BITS)
#define POSENC_TARGET_BITS __ARM_FEATURE_SVE_BITS
#elif defined(__riscv_v_fixed_vlen)
#define POSENC_TARGET_BITS __riscv_v_fixed_vlen
#else
#define POSENC_TARGET_BITS
#endif

#if defined(POSENC_NO_REGISTERS)
#define POSENC_TARGET_XSIMD _scalar
#elif defined(POSENC_WITHOUT_XSIMD)
#define POSENC_TARGET_XSIMD _vectors
#elif defined(XSIMD_DEFAULT_ARCH)
#define POSENC_TARGET_XSIMD \
  POSENC_JOIN(_xsimd, XSIMD_VERSION_MAJOR, _, XSIMD_VERSION_MINOR, _chosen)
#else
#define POSENC_TARGET_XSIMD                                        \
  POSENC_JOIN(_xsimd, XSIMD_VERSION_MAJOR, _, XSIMD_VERSION_MINOR, \
              POSENC_IF(XSIMD_WITH_EMULATED, _emulated))
#endif

#if defined(__FAST_MATH__) || defined(_M_FP_FAST)
#define POSENC_TARGET_MATH _fast
#else
#define POSENC_TARGET_MATH                              \
  POSENC_JOIN(POSENC_IF(__FINITE_MATH_ONLY__, _finite), \
              POSENC_IF(__ASSOCIATIVE_MATH__, _associative))
#endif

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define POSENC_TARGET_ERRORS
#else
#define POSENC_TARGET_ERRORS _no_exceptions
#endif
