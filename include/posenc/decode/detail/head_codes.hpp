// Heads of a cache as decoding loads them.
#pragma once

#include <array>
#include <cstddef>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// How heads of numbers S, or in a format S, are read: in registers, or decoded to memory before.
template <class S>
struct head_codes {
  using element = S;
  static constexpr bool has_factors = false, decodes = false, takes_scales = false;
  POSENC_ALWAYS_INLINE static auto load(S const* head, std::byte const*, std::size_t i,
                                        std::size_t j) noexcept {
    return lanes<S>::load(head + i + j);
  }
  static auto load_one(S const* head, std::byte const*, std::size_t i) noexcept {
    return posenc::load(number_at<S>(reinterpret_cast<std::byte const*>(head + i)));
  }
};
template <class F>
requires loads_registers<F, lanes<float>>
struct head_codes<F> {
  using element = std::byte;
  static constexpr bool decodes = false, has_factors = requires { &F::factor; }
  , takes_scales = loads_with_scales<F, lanes<float>>;
  POSENC_ALWAYS_INLINE static auto load(std::byte const* head, std::byte const* scales,
                                        std::size_t i, std::size_t j) noexcept {
    return load<lanes<float>>(head, scales, i | j);  // i + j: 2^n > j divides i
  }
  static float load_one(std::byte const* head, std::byte const* scales, std::size_t i) noexcept {
    return load<one_lane<float>>(head, scales, i);
  }

 private:
  template <class Lanes>
  POSENC_ALWAYS_INLINE static auto load(std::byte const* head,
                                        [[maybe_unused]] std::byte const* scales,
                                        std::size_t i) noexcept {
    if constexpr (takes_scales) {
      return F::template load<Lanes>(head, scales, i);
    } else {
      return F::template load<Lanes>(head, i);
    }
  }
};
template <cache_format F>
requires has_numbers<F>
struct head_codes<F> : head_codes<typename F::number_type> {
};
template <cache_format F>
struct head_codes<F> : head_codes<float> {
  static constexpr bool decodes = true;
};

/// Count heads, and where the addresses to prefetch are stored: registers would not hold both.
template <class S, std::size_t Count>
struct head_block {
  using codes = head_codes<S>;
  using element = typename codes::element;
  std::array<element const*, Count> heads;
  std::array<std::byte const*, codes::takes_scales ? Count : 0> scales;
  element const* const* later;  ///< head 0 of each later token
  std::ptrdiff_t later_head;    ///< bytes from head 0 to the later head

  /// Numbers i + j ... of head s, where some 2^n > j divides i; and one.
  POSENC_ALWAYS_INLINE auto load(std::size_t s, std::size_t i, std::size_t j) const noexcept {
    return codes::load(heads[s], scales_of(s), i, j);
  }
  POSENC_ALWAYS_INLINE auto load_one(std::size_t s, std::size_t i) const noexcept {
    return codes::load_one(heads[s], scales_of(s), i);
  }
  /// Prefetches Numbers numbers, from number i on, of the later head of token s.
  template <std::size_t Numbers>
  POSENC_ALWAYS_INLINE void prefetch(std::size_t s, std::size_t i) const noexcept {
    constexpr auto of_line = 64 / sizeof(element);
    if (of_line > Numbers && i % of_line != 0) return;
    for (std::size_t n = 0; n < Numbers; n += of_line)
      prefetch_into_l1(reinterpret_cast<std::byte const*>(later[s] + i + n) + later_head);
  }

 private:
  POSENC_ALWAYS_INLINE std::byte const* scales_of([[maybe_unused]] std::size_t s) const noexcept {
    if constexpr (codes::takes_scales) return scales[s];
    return nullptr;
  }
};

}}}  // namespace posenc::detail
