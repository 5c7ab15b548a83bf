#pragma once

/// How the CPU treats subnormal floats. A program linked with -ffast-math starts with
/// flush-to-zero.

#include <cfenv>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

/// Restores the modes when it dies; of SSE by itself, as MinGW's fesetenv does not.
class kept_modes {
 public:
  kept_modes() { std::fegetenv(&before_); }
  ~kept_modes() {
    std::fesetenv(&before_);
#if defined(__SSE2__)
    _mm_setcsr(sse_before_);
#endif
  }
  kept_modes(kept_modes const&) = delete;
  kept_modes& operator=(kept_modes const&) = delete;

 private:
  std::fenv_t before_;
#if defined(__SSE2__)
  unsigned sse_before_ = _mm_getcsr();
#endif
};

/// While it lives, arithmetic follows IEEE 754, for the oracle.
class ieee_arithmetic {
 public:
  ieee_arithmetic() {
    std::fesetenv(FE_DFL_ENV);
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() & ~0x8040u);
#endif
  }

 private:
  kept_modes before_;
};

/// While it lives, subnormal floats are zero, as operands and as results, if the CPU supports it.
class flushed_subnormals {
 public:
  flushed_subnormals() {
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() | 0x8040u);
#elif defined(__aarch64__) && defined(__GNUC__)
    unsigned long mode = 0;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    asm volatile("msr fpcr, %0" : : "r"(mode | 1ul << 24));
#endif
  }

 private:
  kept_modes before_;
};
