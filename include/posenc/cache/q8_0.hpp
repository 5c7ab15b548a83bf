// ggml's q8_0: 32 numbers with one scale of 16 bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "posenc/cache/detail/ggml_blocks.hpp"
#include "posenc/cache/detail/group_extremes.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/codes.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// How q8_0 rounds: quantize_row_q8_0_ref in ggml's own words, or its code for AVX2.
enum class q8_0_writer { reference, avx2 };

/// q8_0 of ggml, which llama.cpp stores [ggml-quants.c, quantize_row_q8_0_ref]:
///
///     d = |x|max / 127 of 32 numbers;   code = x (1 / d), to the nearest, ties away from zero
///     avx2: x (127 / |x|max), ties to even;   read as code half(d)
///
/// 34 bytes for 32 dims: half(d), codes. The two writers differ by one code at ties, and if the two
/// reciprocals differ in their last bit. A group of zeros has d = 0 and codes 0. If |x|max is above
/// 127 * 65504, half(d) is infinite, as in ggml: codes are read as infinity, 0 as NaN.
struct q8_0 {
  static constexpr auto codes_are = code_layout::groups_of_32;  ///< for dot products
  q8_0_writer writer = q8_0_writer::reference;                  ///< whose bytes
  static constexpr std::size_t group = 32;                      ///< dims with one scale

  /// The bytes of a head. Throws unless head_dim is a multiple of 32.
  constexpr std::size_t bytes(std::size_t head_dim) const {
    return detail::bytes_in_blocks("q8_0", head_dim, group + 2);
  }
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    detail::heads_to_encode heads(head, to);
    encode_some(heads);
  }
  /// Writes some heads.
  void encode_some(detail::heads_to_encode& heads) const noexcept {
    detail::encode_in_blocks(heads, group + 2,
                             [this](auto... blocks) { encode_groups(blocks...); });
  }
  /// Reads a head.
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    for (std::size_t first = 0; first < head.size(); first += group, from += group + 2) {
      auto const d = static_cast<float>(half::from_bits(detail::number_at<std::uint16_t>(from)));
      detail::read_signed(from + 2, head.subspan(first, group), d);
    }
  }
  /// Numbers from dim i on, those of one group.
  template <class Lanes>
  POSENC_ALWAYS_INLINE static typename Lanes::number load(std::byte const* head,
                                                          std::size_t i) noexcept {
    auto const* const of_group = head + i / group * (group + 2);
    return detail::integers<std::int8_t, Lanes>(of_group + 2 + i % group) *
           detail::half_everywhere<Lanes>(of_group);
  }

 private:
  void encode_groups(float const* x, std::size_t count, std::byte* to) const noexcept {
    while (count != 0) {
      auto const some = std::min(count, detail::number_groups::most);
      detail::largest_magnitudes const found({x, group, group, some});
      using numbers = detail::group_numbers;
      auto const d = detail::quotient(found.most, numbers(127));
      detail::stored_groups<half> const scales(d, found.step);
      detail::stored_groups<> const inverses(writer == q8_0_writer::reference
                                                 ? detail::quotient(numbers(1.0f), d)
                                                 : detail::quotient(numbers(127), found.most),
                                             found.step);
      for (std::size_t i = 0; i < some; ++i, x += group, to += group + 2) {
        detail::put(to, scales[i].bits);
        auto const write = [x, to, inverse = inverses[i]](auto const& rounded) POSENC_INLINED {
          detail::write_codes(std::span<float const, group>(x, group), to + 2,
                              [=](auto const& number) POSENC_INLINED {  // at most 127 and a little
                                return rounded(detail::product(number, inverse));
                              });
        };
        if (writer == q8_0_writer::reference) {
          write([](auto const& n) POSENC_INLINED { return detail::nearest_away(n); });
        } else {
          write([](auto const& n) POSENC_INLINED { return detail::nearest(n); });
        }
      }
      count -= some;
    }
  }
};

}}  // namespace posenc
