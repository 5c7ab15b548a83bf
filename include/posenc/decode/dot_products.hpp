// A format whose codes of 8 bits decoding may multiply by the CPU's own dot products.
#pragma once

#include "posenc/core/format.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/dot_blocks.hpp"
#include "posenc/decode/dot_outputs.hpp"
#include "posenc/decode/dot_scores.hpp"
#include "posenc/simd/x86_dot_products.hpp"

namespace posenc::inline POSENC_TARGET {

/// A cache's format, of whose keys or values decoding may make rounded products:
///
///     heads_view const k(dot_products(q8_0{}), k_pages, shape, slots), v(...);
///     attention(q, k, v, encoding, options)
///
/// Keys of int8_per_head, int8_static or u8_per_head: queries are rounded as int8_per_head rounds a
/// head, with one scale s = max(|q|max / 127, 1e-6), and the codes are multiplied as integers. A
/// score is off by at most
///
///     |scale| sum_i s / 2 |k_i|
///
/// Keys of q8_0: the same with an s for each 32 dims of a query.
///
/// Values: the step of a weight times its value's scale is 1/255 of the largest such product of the
/// 64 tokens of a tile. q8_0, one query: the step is 1/255 of (the largest weight of the tile) x
/// (the largest scale of this group of dims among the 16 tokens read together, of those with a
/// weight in some row of the kv head); of more queries its outputs are exact. (Tokens of a tile are
/// 16 neighbours in each of four parts of the cache, 16 read together 4 of each.) Before softmax
/// divides, an output is off by
///
///     sum_t m / 510 |c_t|                m: 255 steps; c_t: a code, or one of u8 less 128
///
/// All this beside the rounding of sums in float; weights count as 0 if m is below 2^-118. A query
/// with a NaN or an infinity has outputs of NaN. The same bits for any split and any pages.
///
/// Attention makes such products by AVX512-VNNI in a step of decoding: up to 32 rows per kv head,
/// and no encoding that acts on keys. A prompt, and any step on another CPU, gets the result that
/// it has without dot_products. A format of your own has dot products if it has codes_are
/// (core/format.hpp); others do not compile.
template <class Format>
struct dot_products : Format {
  static_assert(
      requires { Format::codes_are; },
      "posenc: dot_products must be of int8_per_head, int8_static, u8_per_head or q8_0");

  explicit dot_products(Format const& format) : Format(format) {}  ///< reads and writes as `format`
};

namespace detail {

/// Whether decoding multiplies the codes of a format.
template <class F>
inline constexpr bool multiplies_codes = false;
template <class F>
inline constexpr bool multiplies_codes<dot_products<F>> = multiplies_bytes;

}  // namespace detail
}  // namespace posenc
