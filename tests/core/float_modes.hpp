#pragma once

/// How the CPU treats subnormal floats. A program linked with -ffast-math starts with
/// flush-to-zero.

#include <cfenv>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

/// While it lives, arithmetic follows IEEE 754, for the oracle.
class ieee_arithmetic {
 public:
  ieee_arithmetic() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~ieee_arithmetic() { std::fesetenv(&before_); }
  ieee_arithmetic(ieee_arithmetic const&) = delete;
  ieee_arithmetic& operator=(ieee_arithmetic const&) = delete;

 private:
  std::fenv_t before_;
};

/// While it lives, subnormal floats are zero, as operands and as results, if the CPU supports it.
class flushed_subnormals {
 public:
  flushed_subnormals() {
    std::fegetenv(&before_);
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() | 0x8040u);
#elif defined(__aarch64__) && defined(__GNUC__)
    unsigned long mode = 0;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    asm volatile("msr fpcr, %0" : : "r"(mode | 1ul << 24));
#endif
  }
  ~flushed_subnormals() { std::fesetenv(&before_); }
  flushed_subnormals(flushed_subnormals const&) = delete;
  flushed_subnormals& operator=(flushed_subnormals const&) = delete;

 private:
  std::fenv_t before_;
};
