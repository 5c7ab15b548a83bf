// ggml's q5_1: 32 numbers of 5 bits with a scale and a least number of 16 bits.
#pragma once

#include <cstddef>
#include <span>

#include "posenc/cache/detail/ggml_blocks.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// q5_1 of ggml, which llama.cpp stores [ggml-quants.c, quantize_row_q5_1_ref]:
///
///     m = the least of 32, d = (most - m) / 31
///     code = (x - m) (1 / d) + 0.5, towards zero;   read as code half(d) + half(m)
///
/// 24 bytes for 32 dims: half(d), half(m), 4 bytes of the codes' fifth bits, that of code 0 the
/// lowest, then byte j has the other bits of code j, below, and of code j + 16. Ties, rounding,
/// equal numbers, NaN and infinity: as q4_1.
struct q5_1 {
  static constexpr std::size_t group = 32;  ///< dims with one scale

  /// The bytes of a head. Throws unless head_dim is a multiple of 32.
  constexpr std::size_t bytes(std::size_t head_dim) const {
    return detail::bytes_in_blocks("q5_1", head_dim, block::bytes);
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
  using block = detail::few_bits<5, true>;
};

}}  // namespace posenc
