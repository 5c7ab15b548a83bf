// ggml's q4_0: 32 numbers of 4 bits with one scale of 16 bits.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "posenc/cache/detail/ggml_blocks.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"

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
  /// Code c stands for half(d) times numbers_of_codes[c].
  static constexpr std::array<float, 16> numbers_of_codes{-8, -7, -6, -5, -4, -3, -2, -1,
                                                          0,  1,  2,  3,  4,  5,  6,  7};

  /// The bytes of a head. Throws unless head_dim is a multiple of 32.
  constexpr std::size_t bytes(std::size_t head_dim) const {
    return detail::bytes_in_blocks("q4_0", head_dim, block::bytes);
  }
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    detail::heads_to_encode heads(head, to);
    encode_some(heads);
  }
  /// Writes some heads.
  void encode_some(detail::heads_to_encode& heads) const noexcept {
    detail::encode_in_blocks(heads, block::bytes, detail::write_from_extreme<block>);
  }
  /// Reads a head.
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    detail::decode_blocks(head, [from]<class Lanes>(Lanes, std::size_t i)
                                    POSENC_INLINED { return load<Lanes>(from, i); });
  }
  /// Numbers from dim i on, those of half a group.
  template <class Lanes>
  POSENC_ALWAYS_INLINE static typename Lanes::number load(std::byte const* head,
                                                          std::size_t i) noexcept {
    return detail::load_block<block, Lanes>(head + i / group * block::bytes, i % group, 8);
  }

 private:
  using block = detail::few_bits<4, false>;
};

}}  // namespace posenc
