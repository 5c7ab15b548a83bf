// 64 dims of the heads of a block, as dot products multiply their codes.
#pragma once

#include <algorithm>
#include <cstddef>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/detail/run_reader.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/x86_dot_products.hpp"

POSENC_QUIET_BEGIN

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

template <class F>
inline constexpr bool has_groups = F::codes_are == code_layout::groups_of_32;
template <class F>
inline constexpr bool has_zero_points = F::codes_are == code_layout::scaled_uint8;

#if defined(POSENC_HAS_DOT_PRODUCTS)

/// Where 64 dims of a head are: in groups, the two that begin at these bytes; else the codes from
/// `first` on. An odd last group is taken twice.
template <class F>
struct dims_64 {
  std::size_t first, second = 0;
  loaded_bytes mask = 0;

  dims_64(std::size_t i, std::size_t dims) noexcept {
    if constexpr (has_groups<F>) {
      constexpr std::size_t bytes = 32 + 2;
      first = 2 * i * bytes, second = std::min(2 * i + 1, dims / 32 - 1) * bytes;
    } else {
      first = (has_zero_points<F> ? 8 : 0) + 64 * i, mask = first_bytes(dims - 64 * i);
    }
  }
  /// The codes; two groups alternately by eight.
  [[gnu::always_inline]] register_of_bytes load(std::byte const* head) const noexcept {
    if constexpr (has_groups<F>) {
      return load_alternately(head + first + 2, head + second + 2);
    } else {
      return load_64(head + first, mask);
    }
  }
  [[gnu::always_inline]] void prefetch(auto const& block, std::size_t s) const noexcept {
    prefetch_into_l1(block.later[s] + block.later_head + first);
  }
};

/// 64 dims of 16 values, the bytes of four streams interleaved.
template <class F>
struct values_64 {
  register_of_bytes x[4][4];

  [[gnu::always_inline]] values_64(head_block<F, 16> const& v, dims_64<F> const& at) noexcept {
    for (std::size_t n = 0; n < 16 && !has_groups<F>; ++n) at.prefetch(v, n);
#pragma GCC unroll 4
    for (std::size_t t = 0; t < 4; ++t) {
      register_of_bytes each[streams];
      for (std::size_t s = 0; s < streams; ++s) {
        if constexpr (has_groups<F>) at.prefetch(v, t * streams + s);
        each[s] = at.load(v.heads[t * streams + s]);
        if constexpr (has_zero_points<F>) each[s] = other_sign(each[s]);
      }
      interleave(each, x[t]);
    }
  }
  /// sums += unit code value. Each half of the dims has codes of weights, and a unit.
  [[gnu::always_inline]] void add_to(float* sums, std::byte const* codes, std::byte const* others,
                                     lanes<float>::number const& unit,
                                     lanes<float>::number const& other_unit) const noexcept {
    integer_sums::number sum[4] = {};
#pragma GCC unroll 4
    for (std::size_t t = 0; t < 4; ++t) {
      for (std::size_t j = 0; j < 4; ++j)
        sum[j] = integer_sums::add(sum[j], four_bytes((j < 2 ? codes : others) + 4 * t), x[t][j]);
    }
    for (std::size_t j = 0; j < 4; ++j)
      lanes<float>::store(
          sums + 16 * j,
          lanes<float>::multiply_add(j < 2 ? unit : other_unit, integer_sums::as_floats(sum[j]),
                                     lanes<float>::load(sums + 16 * j)));
  }
  /// Where the sums of dims i to i + 3 are.
  static constexpr std::size_t index_of(std::size_t i) noexcept {
    return has_groups<F> ? i / 32 * 32 + i / 4 % 2 * 16 + i % 32 / 8 * 4
                         : i / 64 * 64 + i / 4 % 4 * 16 + i % 64 / 16 * 4;
  }
};

#endif

}}}  // namespace posenc::detail

POSENC_QUIET_END
