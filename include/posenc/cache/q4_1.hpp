// ggml's q4_1: 32 numbers of 4 bits with a scale and a least number of 16 bits.
#pragma once

#include <cstddef>
#include <span>

#include "posenc/cache/detail/ggml_blocks.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// q4_1 of ggml, which llama.cpp stores [ggml-quants.c, quantize_row_q4_1_ref]:
///
///     m = the least of 32, d = (most - m) / 15
///     code = (x - m) (1 / d) + 0.5, towards zero, at most 15;   read as code half(d) + half(m)
///
/// 20 bytes for 32 dims: half(d), half(m), then byte j has code j in its low bits and code j + 16.
/// Ties go up. 1 / d, difference, product and sum are rounded apart, as on x86; a compiler that
/// fuses them (g++ for ARM) gives a code that may differ by one at ties. Equal numbers have d = 0
/// and codes 0. A group with NaN or an infinite number becomes NaN as a whole. If d or |m| is above
/// 65504, its half is infinite, as in ggml, and numbers are read as infinite or NaN.
struct q4_1 {
  static constexpr std::size_t group = 32;  ///< dims with one scale

  /// The bytes of a head. Throws unless head_dim is a multiple of 32.
  constexpr std::size_t bytes(std::size_t head_dim) const {
    return detail::bytes_in_blocks("q4_1", head_dim, block::bytes);
  }
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    detail::heads_to_encode heads(head, to);
    encode_some(heads);
  }
  /// Writes some heads.
  void encode_some(detail::heads_to_encode& heads) const noexcept {
    detail::encode_in_blocks(heads, block::bytes, detail::write_from_least<block>);
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
    auto const* const from = head + i / group * block::bytes;
    return detail::load_block<block, Lanes>(from, i % group, 0) +
           detail::half_everywhere<Lanes>(from + block::least_at);
  }

 private:
  using block = detail::few_bits<4, true>;
};

}}  // namespace posenc
