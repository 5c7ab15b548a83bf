// ggml's q4_0: 32 numbers of 4 bits with one scale of 16 bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "posenc/cache/detail/group_extremes.hpp"
#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/codes.hpp"
#include "posenc/simd/nibbles.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// q4_0 of ggml, which llama.cpp stores [ggml-quants.c, quantize_row_q4_0_ref]:
///
///     d = m / -8, where m is the number of the largest magnitude of 32, the first of several
///     code = x (1 / d) + 8.5, towards zero, at most 15;   read as (code - 8) half(d)
///
/// 18 bytes for 32 dims: half(d), then byte j has code j in its low bits and code j + 16. m has
/// code 0, so that ties go away from m. 1 / d, product and sum are rounded apart, as on x86; a
/// compiler that fuses the two (g++ for ARM) gives a code that may differ by one at ties. A group
/// of zeros has d = -0 and codes 8. A group with NaN or an infinite number becomes NaN as a whole.
/// If |m| is above 8 * 65504, half(d) is infinite, as in ggml: codes are read as infinity, 8 as
/// NaN.
struct q4_0 {
  static constexpr std::size_t group = 32;  ///< dims with one scale

  /// The bytes of a head. Throws unless head_dim is a multiple of 32.
  std::size_t bytes(std::size_t head_dim) const {
    detail::require(head_dim % group == 0, "q4_0: head_dim must be a multiple of 32, got ",
                    head_dim);
    return head_dim / group * of_group;
  }
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    detail::heads_to_encode heads(head, to);
    encode_some(heads);
  }
  /// Writes some heads.
  void encode_some(detail::heads_to_encode& heads) const noexcept {
    auto const groups = heads.head_dim / group;
    if (heads.stride == static_cast<std::ptrdiff_t>(heads.head_dim) &&
        heads.to_stride == static_cast<std::ptrdiff_t>(groups * of_group))
      return encode_groups(heads.numbers, groups * heads.count, heads.to);
    for (; heads.count != 0; heads.next()) encode_groups(heads.numbers, groups, heads.to);
  }
  /// Reads a head.
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    for (std::size_t i = 0; i < head.size(); i += detail::code_lanes::size)
      detail::code_lanes::store(head.data() + i, load<detail::code_lanes>(from, i));
  }
  /// Numbers from dim i on, those of half a group.
  template <class Lanes>
  POSENC_ALWAYS_INLINE static typename Lanes::number load(std::byte const* head,
                                                          std::size_t i) noexcept {
    auto const* const from = head + i / group * of_group;
    return detail::read_nibbles<Lanes>(
        detail::load_codes<std::uint8_t, Lanes>(from + 2 + i % (group / 2)), i % group >= group / 2,
        8, detail::half_everywhere<Lanes>(from));
  }

 private:
  static constexpr std::size_t of_group = 2 + group / 2;

  // The first number of the largest magnitude; +0 of zeros.
  static float extreme_of(float const* x) noexcept {
    auto const magnitude = [](float y) { return detail::bit_cast<std::uint32_t>(y) << 1; };
    float extreme = 0;
    for (std::size_t i = 0; i < group; ++i)
      if (magnitude(extreme) < magnitude(x[i])) extreme = x[i];
    return extreme;
  }
  void encode_groups(float const* x, std::size_t count, std::byte* to) const noexcept {
    using numbers = detail::group_numbers;
    using b = detail::code_bits<numbers>;
    using u32 = b::bits;
    auto const magnitude = [](numbers const& y)
                               POSENC_INLINED { return u32(b::as_bits(y) & u32(0x7fff'ffffu)); };
    while (count != 0) {
      auto const some = std::min(count, detail::number_groups::most);
      detail::group_ranges const range({x, group, group, some});
      auto const extreme =
          b::as_number(detail::where_below(magnitude(range.most), magnitude(range.least),
                                           b::as_bits(range.least), b::as_bits(range.most)));
      auto const quotient = extreme * numbers(-0.125f);
      auto const d = b::as_number(detail::where_below(magnitude(quotient), u32(0x7f80'0000u),
                                                      b::as_bits(quotient), u32(0x7fc0'0000u)));
      auto const inverse = b::as_number(detail::where_below(
          magnitude(d), u32(1u), u32(0u), b::as_bits(detail::quotient(numbers(1.0f), d))));
      detail::stored_groups<> const scales(d, range.step), inverses(inverse, range.step),
          least(range.least, range.step), most(range.most, range.step);
      for (std::size_t i = 0; i < some; ++i, x += group, to += of_group) {
        auto scale = scales[i], factor = inverses[i];
        auto const bits = [](float y) { return detail::bit_cast<std::uint32_t>(y) << 1; };
        if (bits(least[i]) == bits(most[i])) {
          auto const sign = extreme_of(x);
          scale = -std::copysign(scale, sign);
          factor = -std::copysign(factor, sign);
        }
        detail::put(to, half(scale).bits);
        detail::write_nibbles(
            group / 2, to + 2,
            [x]<class Lanes>(Lanes, std::size_t j) POSENC_INLINED {
              return std::pair(Lanes::load(x + j), Lanes::load(x + j + group / 2));
            },
            [factor]<class Number>(Number const& y) POSENC_INLINED {
              auto const code =
                  detail::truncated_to_integer(Number(detail::product(y, factor) + Number(8.5f)));
              using integers = std::remove_cvref_t<decltype(code)>;
              return detail::less(integers(code & integers(0xff)), integers(15));
            });
      }
      count -= some;
    }
  }
};

}}  // namespace posenc
