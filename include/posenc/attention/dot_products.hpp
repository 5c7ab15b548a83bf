// Decoding by the CPU's own dot products of 8 and of 16 bits, where a caller names them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <vector>

#include "posenc/attention/dense_heads.hpp"
#include "posenc/attention/products.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/dot_groups.hpp"
#include "posenc/decode/dot_kernels.hpp"
#include "posenc/simd/x86_dot_products.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

/// Whether heads are integers of 8 bits that one product is made of, or bfloat16.
template <class S>
inline constexpr bool has_integers =
    std::same_as<S, int8_per_head> || std::same_as<S, int8_static> || std::same_as<S, u8_per_head>;
template <class S>
inline constexpr bool has_groups = std::same_as<S, q8_0>;
template <class S>
inline constexpr bool has_bfloat16 = false;
template <storable S>
inline constexpr bool has_bfloat16<S> = std::same_as<storage_format_t<S>, bfloat16>;
template <storable S>
inline constexpr bool has_bfloat16<numbers_of<S>> = has_bfloat16<S>;

struct found_in_detail {};  // so that attention finds what is below

}  // namespace detail

/// Keys or values, heads_view, heads_view or heads_view, of which decoding may make rounded
/// products:
///
///     attention(q, dot_products(k), dot_products(v), encoding, options)
///
/// Keys of bfloat16: queries are rounded to bfloat16, so that a score is off by at most
///
///     |scale| sum_i 2^-8 |q_i k_i|       by nothing where queries are bfloat16 already
///
/// Keys of int8_per_head, int8_static or u8_per_head: queries are rounded as int8_per_head rounds a
/// head, with one scale s = max(|q|max / 127, 1e-6), and the codes are multiplied as integers:
///
///     |scale| sum_i s / 2 |k_i|
///
/// Keys of q8_0: each 32 dims of a query are rounded so, with an s of their own.
///
/// Values of integers: 64 keys are summed at a time, as integers. A weight times its value's scale
/// is rounded to a multiple of 1/255 of the largest such product among them. In q8_0, of one query
/// alone, it is rounded to a multiple of 1/255 of the largest weight of 64 keys times the largest
/// scale, in the group of 32 dims, of those among 16 keys that have a weight in some head of the kv
/// head. (64 and 16 keys are not neighbours, but some of each of four parts of the cache.) Before
/// softmax divides, an output is off by
///
///     sum_t m / 510 |c_t|                m: that largest; c_t: a code, or one of u8 less 128
///
/// Values of bfloat16 are not rounded: that gained nothing. All this beside the rounding of sums in
/// float; subnormal bfloat16 and their subnormal products count as 0, and so do weights if m is
/// below 2^-118. A query of 8 bits with a NaN or an infinity has outputs of NaN. The same bits for
/// any split and any pages.
///
/// Such products are made by AVX512-VNNI and AVX512-BF16, and where attention reads keys in place:
/// up to 8 rows per kv head (a step of decoding), and no encoding acts on keys. All else, prompts
/// and other CPUs, is computed as without the name. Other formats do not compile.
template <class Heads>
class dot_products : public Heads, detail::found_in_detail {
  static_assert(detail::has_integers<detail::element_of<Heads>> ||
                    detail::has_groups<detail::element_of<Heads>> ||
                    detail::has_bfloat16<detail::element_of<Heads>>,
                "posenc: dot_products must be of bfloat16, int8_per_head, int8_static, "
                "u8_per_head or q8_0");

 public:
  static constexpr bool by_dot_products = true;  ///< how attention knows them

  /// Of the same memory.
  explicit dot_products(Heads const& heads) : Heads(heads) {}
  Heads const& heads_alone() const noexcept { return *this; }  ///< without the name
  /// As Heads has it.
  dot_products slice_tokens(std::size_t first, std::size_t count) const {
    return dot_products(Heads::slice_tokens(first, count));
  }
  /// Likewise.
  dot_products slice_heads(std::size_t first, std::size_t count) const {
    return dot_products(Heads::slice_heads(first, count));
  }
};

namespace detail {

template <class Heads>
auto to_read(char const* function, char const* what, dot_products<Heads> const& x) {
  return posenc::dot_products(to_read(function, what, x.heads_alone()));
}

template <std::floating_point T, class Heads>
void multiply_scores(T* scores, T scale, T const* q, dot_products<Heads> const& k,
                     block_shape const& b) {
  using stored = element_of<Heads>;
  if constexpr (has_groups<stored> && multiplies_bytes) {
    group_scores(scores, scale, q, b.rows_of_head(),
                 k.heads_alone().slice_tokens(b.keys.first, b.seen()));
  } else if constexpr (has_integers<stored> ? multiplies_bytes
                                            : has_bfloat16<stored> && multiplies_bfloat16) {
    auto const keys = k.heads_alone().slice_tokens(b.keys.first, b.seen());
    auto const rows = b.rows_of_head();
    if (rows % 4 == 0) return dot_scores<4, stored>(scores, scale, q, rows, keys);
    dot_scores<1, stored>(scores, scale, q, rows, keys);
  } else {
    multiply_scores<T>(scores, scale, q, k.heads_alone(), b);
  }
}

template <std::floating_point T, class Heads>
void multiply_outputs(T* outputs, T const* weights, dot_products<Heads> const& v,
                      block_shape const& b, double const* shares = nullptr) {
  using stored = element_of<Heads>;
  if constexpr ((has_integers<stored> || has_groups<stored>)&&multiplies_bytes) {
    // In groups, queries that see different keys would share the units of 16 keys.
    if (!has_groups<stored> || b.queries() == 1) {
      std::fill_n(outputs, b.rows() * v.head_dim(), T{0});
      auto const values = v.heads_alone().slice_tokens(b.keys.first, b.seen());
      if constexpr (has_groups<stored>) {
        group_outputs(outputs, weights, b.rows_of_head(), values);
      } else {
        dot_outputs<stored>(outputs, weights, b.rows_of_head(), values);
      }
      return finish_outputs(outputs, weights, v.heads_alone(), b, shares);
    }
  }
  multiply_outputs<T>(outputs, weights, v.heads_alone(), b, shares);
}

}  // namespace detail
}  // namespace posenc
