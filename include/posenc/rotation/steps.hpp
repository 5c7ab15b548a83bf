// Into which steps a rotation is split: how many tokens and heads go through the kernel at once.
#pragma once

#include <algorithm>
#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/rotation/in_order.hpp"
#include "posenc/rotation/kernel.hpp"
#include "posenc/rotation/token_heads.hpp"
#include "posenc/simd/registers.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// What is rotated of some heads.
struct rotated_part {
  std::size_t tokens, heads;  ///< at least 1
  std::size_t pairs;          ///< of each head
  bool in_one_pass;           ///< the pairs are neighbours, and no other dim is copied
};

/// How many tokens and heads at once, at most.
struct steps {
  std::size_t tokens, heads;
  detail::pace pace;
};

/// If one column holds the pairs, or if in_order is faster, all at once: memory is read once, in
/// order. Else as many tokens as stay in L1 from column to column; beyond L2 few heads at a time,
/// so that memory is read almost in order. With 16 registers, and of 16 bits on Zen 4, reloading
/// cosines and sines for every head costs more than jumps in memory, but for short heads beyond L3.
/// There are many columns then: of a token larger than L1, as many heads at a time as stay in it.
/// One head goes register by register; columns are faster beyond L2 alone, if one holds the pairs
/// or heads are prefetched.
/// x and y apart, fewer columns for more shuffles: beyond L1, or with 16 registers beyond L2.
/// zen: what is_zen_3_or_4() says.
template <class From, class To, class S, class T>
constexpr steps steps_of(rotated_part const& part, bool zen) noexcept {
  constexpr auto some_of_L1 = std::size_t{1} << 14, beyond_L1 = 2 * some_of_L1,
                 beyond_L2 = std::size_t{1} << 20;
  constexpr bool reloads_cost = !has_32_registers || (splits_512_bits && sizeof(S) == 2);
  auto const of_token = part.heads * (2 * part.pairs * sizeof(S) + 1),
             bytes = of_token * part.tokens;
  bool const beyond = bytes >= beyond_L2, beyond_L3 = bytes >= most_of_L3;
  auto const of_head = 2 * part.pairs * sizeof(S);
  bool const alone = zen && !has_32_registers && sizeof(S) > 2 && beyond_L3 && of_head < 1024;
  detail::pace pace{.ahead = beyond && !zen,
                    .apart = zen && bytes >= (has_32_registers ? beyond_L1 : beyond_L2)};
  if (part.in_one_pass) {
    if (is_one_column<From, To, S, T>(part.pairs, pace)) {
      pace.head_by_head = part.heads == 1 && !beyond;
      return {part.tokens, part.heads, pace};
    }
    if constexpr (lanes<S>::size > 1)
      pace.in_order = beyond && zen && !(alone && of_head <= 512) &&
                      in_order_is_faster<From, To, S, T>(part.pairs, bytes);
    if (pace.in_order) {
      pace.row_ahead = beyond_L3;
      return {part.tokens, part.heads, pace};
    }
  }
  std::size_t const few_heads = reloads_cost && !alone ? 4 : 1;
  bool const wide = zen && !has_32_registers && of_token > beyond_L1 + some_of_L1;
  auto const in_L1 =
      wide ? std::max<std::size_t>(1, some_of_L1 * part.heads / of_token) : part.heads;
  auto const heads = beyond ? std::min(few_heads, part.heads) : in_L1;
  pace.head_by_head = heads == 1 && (!beyond || zen);
  return {beyond || wide ? 1 : some_of_L1 / of_token + 1, heads, pace};
}

}  // namespace posenc::detail
