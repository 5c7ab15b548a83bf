// Which instruction set runs: the last that the CPU and the operating system support.
#pragma once

#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>

#include "posenc/c/detail/handles.hpp"
#include "posenc/c/detail/plans.hpp"
#include "posenc/core/target.hpp"

#if defined(POSENC_KERNELS_V3) || defined(POSENC_KERNELS_V4)
#include <cpuid.h>
#endif
#if defined(POSENC_KERNELS_BF16)
#include <sys/auxv.h>
#endif

namespace posenc_c {

extern instruction_set const set_base, set_v3, set_v4, set_v4_vnni, set_v4_bf16, set_bf16;

}  // namespace posenc_c

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c {

#if defined(POSENC_KERNELS_V3) || defined(POSENC_KERNELS_V4)
// Whether the CPU has an extension, by the compilers' name of it, and the operating system saves
// its registers.
#define POSENC_HAS(extension) (__builtin_cpu_supports(extension) != 0)
// A bit of cpuid: clang 14's __builtin_cpu_supports knows some extensions not.
inline bool has_bit(unsigned leaf, int bit) noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(leaf, &a, &b, &c, &d) != 0 && (c >> bit & 1) != 0;
}
inline bool has_f16c() noexcept { return has_bit(1, 29); }
inline bool has_hidden(instruction_set const& set) noexcept {
  return (!set.lzcnt || has_bit(0x8000'0001, 5)) && (!set.movbe || has_bit(1, 22));
}
// The extensions for which posenc_add_kernels.cmake compiles the sets.
inline bool runs_v3() noexcept {
  return POSENC_HAS("sse3") && POSENC_HAS("ssse3") && POSENC_HAS("sse4.1") &&
         POSENC_HAS("sse4.2") && POSENC_HAS("popcnt") && POSENC_HAS("avx") && POSENC_HAS("avx2") &&
         has_f16c() && POSENC_HAS("fma") && POSENC_HAS("bmi") && POSENC_HAS("bmi2");
}
[[maybe_unused]] inline bool runs_v4() noexcept {
  return runs_v3() && POSENC_HAS("avx512f") && POSENC_HAS("avx512bw") && POSENC_HAS("avx512cd") &&
         POSENC_HAS("avx512dq") && POSENC_HAS("avx512vl");
}
#else
inline bool has_hidden(instruction_set const&) noexcept { return true; }
#endif
#if defined(POSENC_KERNELS_V4_VNNI)
inline bool runs_v4_vnni() noexcept { return runs_v4() && POSENC_HAS("avx512vnni"); }
#endif
#if defined(POSENC_KERNELS_V4_BF16)
inline bool runs_v4_bf16() noexcept { return runs_v4_vnni() && POSENC_HAS("avx512bf16"); }
// Whether products of bfloat16 are slower than products of floats: see simd/x86_bfloat16_products.
inline bool has_amx_bfloat16() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 22 & 1) != 0;
}
#endif

#if defined(POSENC_KERNELS_BF16)
// Linux says what an ARM CPU has; its headers may be too old to name the bits.
inline bool runs_bf16() noexcept {
  auto const has = getauxval(AT_HWCAP), has_too = getauxval(AT_HWCAP2);
  unsigned long const atomics = 1ul << 8, asimdrdm = 1ul << 12, bf16 = 1ul << 14;
  return (has & atomics) != 0 && (has & asimdrdm) != 0 && (has_too & bf16) != 0;
}
#endif

// From the least to the most.
inline constexpr std::pair<instruction_set const*, bool (*)() noexcept> candidates[] = {
    {&set_base, []() noexcept { return true; }},
#if defined(POSENC_KERNELS_V3)
    {&set_v3, runs_v3},
#endif
#if defined(POSENC_KERNELS_V4)
    {&set_v4, runs_v4},
#endif
#if defined(POSENC_KERNELS_V4_VNNI)
    {&set_v4_vnni, runs_v4_vnni},
#endif
#if defined(POSENC_KERNELS_V4_BF16)
    {&set_v4_bf16, runs_v4_bf16},
#endif
#if defined(POSENC_KERNELS_BF16)
    {&set_bf16, runs_bf16},
#endif
};

inline instruction_set const& choose() {
  auto const* const given = std::getenv("POSENC_INSTRUCTION_SET");
  std::string const forced = given == nullptr ? "" : given;
  std::string names;
  instruction_set const* best = nullptr;
  for (auto const& [set, runs] : candidates) {
    names += (names.empty() ? "" : ", ") + std::string(set->name);
    if (!forced.empty() && forced != set->name) continue;
    if (runs() && has_hidden(*set)) {
      best = set;
    } else if (!forced.empty()) {
      throw failure(POSENC1_NO_INSTRUCTION_SET,
                    "posenc: POSENC_INSTRUCTION_SET must be one that this CPU has, got " + forced);
    }
  }
  if (best == nullptr) {
    throw failure(POSENC1_NO_INSTRUCTION_SET,
                  "posenc: POSENC_INSTRUCTION_SET must be one of " + names + ", got " + forced);
  }
  return *best;
}

/// The set in use. Throws a failure if POSENC_INSTRUCTION_SET names none.
inline instruction_set const& chosen_set() {
  static std::atomic<instruction_set const*> chosen = nullptr;
  auto const* set = chosen.load(std::memory_order_relaxed);  // what it points to is constant
  if (set == nullptr) [[unlikely]] {
    set = &choose();
    chosen.store(set, std::memory_order_relaxed);
  }
  return *set;
}

/// Whether attention's set multiplies bfloat16 numbers: it has the kernel, and the set in use the
/// instruction.
inline bool multiplies_bfloat16_in_use() {
#if defined(POSENC_KERNELS_V4_BF16)
  static bool const is_quick = !has_amx_bfloat16();
  return is_quick && &chosen_set() == &posenc_c::set_v4_bf16;
#else
  return false;
#endif
}

}}}  // namespace posenc::detail::c
