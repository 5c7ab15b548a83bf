// ggml's q5_0: 32 numbers of 5 bits with one scale of 16 bits.
#pragma once

#include <cstddef>
#include <span>

#include "posenc/cache/detail/ggml_blocks.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// q5_0 of ggml, which llama.cpp stores [ggml-quants.c, quantize_row_q5_0_ref]:
///
///     d = m / -16, where m is the number of the largest magnitude of 32, the first of several
///     code = x (1 / d) + 16.5, towards zero, at most 31;   read as (code - 16) half(d)
///
/// 22 bytes for 32 dims: half(d), 4 bytes of the codes' fifth bits, that of code 0 the lowest, then
/// byte j has the other bits of code j, below, and of code j + 16. Ties, rounding, zeros (whose
/// codes are 16), NaN and infinity: as q4_0.
struct q5_0 {
  static constexpr std::size_t group = 32;  ///< dims with one scale

  /// The bytes of a head. Throws unless head_dim is a multiple of 32.
  constexpr std::size_t bytes(std::size_t head_dim) const {
    return detail::bytes_in_blocks("q5_0", head_dim, block::bytes);
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
    return detail::load_block<block, Lanes>(head + i / group * block::bytes, i % group, 16);
  }

 private:
  using block = detail::few_bits<5, false>;
};

}}  // namespace posenc
