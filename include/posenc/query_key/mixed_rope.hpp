// RoPE-Mixed: each head has its frequencies, and a pair rotates by several axes at once.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/rotation/detail/heads_of_rows.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/axis_rows.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/mixed_row_maker.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The prepared value of mixed_rope: rows of each head that has frequencies.
template <pair_layout Layout, std::floating_point Real>
class prepared_mixed_rotation {
 public:
  /// heads, kv_heads: of attention.
  prepared_mixed_rotation(cos_sin_rows<Real> rows, std::size_t heads, std::size_t kv_heads,
                          rotary_block block)
      : rows_(std::move(rows)), heads_(heads), kv_heads_(kv_heads), block_(block) {}

  cos_sin_rows<Real> const& rows() const& noexcept { return rows_; }  ///< [heads][tokens]
  cos_sin_rows<Real> rows() && noexcept { return std::move(rows_); }  ///< of a temporary

  /// Site 2, see acts_on_queries_and_keys. first_head: of all heads.
  template <class T>
  void encode_queries(heads_view<T> const& q, std::size_t first_token = 0,
                      std::size_t first_head = 0) const {
    by(rows_, q, first_token, first_head, heads_);
  }
  /// first_head: of all kv heads.
  template <class T>
  void encode_keys(heads_view<T> const& k, std::size_t first_token = 0,
                   std::size_t first_head = 0) const {
    by(rows_, k, first_token, first_head, kv_heads_);
  }
  /// Backward, see pulls_back_queries_and_keys.
  template <class T>
  void backward_queries(heads_view<T> const& d, std::size_t first_token = 0,
                        std::size_t first_head = 0) const {
    by(rows_.transpose(), d, first_token, first_head, heads_);
  }
  /// Backward, for keys.
  template <class T>
  void backward_keys(heads_view<T> const& d, std::size_t first_token = 0,
                     std::size_t first_head = 0) const {
    by(rows_.transpose(), d, first_token, first_head, kv_heads_);
  }

 private:
  // A view may begin and end within the heads that share a row.
  template <class T>
  void by(cos_sin_rows<Real> const& rows, heads_view<T> const& x, std::size_t first_token,
          std::size_t first_head, std::size_t heads) const {
    detail::for_heads_of_rows(
        rows.slice_tokens(first_token, x.tokens()), heads, {0, x.tokens(), first_head, x.heads()},
        [&](auto const& own, detail::part_of_heads const& part) {
          rotate<Layout>(x.slice_heads(part.head - first_head, part.heads), own, block_);
        });
  }

  cos_sin_rows<Real> rows_;
  std::size_t heads_, kv_heads_;
  rotary_block block_;
};

/// RoPE-Mixed [Heo 2024, 2403.13298, 3.2]: pair i of head h of a token rotates by the sum over axes
/// of its position times inv_freq[h][axis][i], which a model has learned. The position that site 2
/// gives is a token's index among the positions: a patch of an image, a point of a board.
///
///     mixed_rope<interleaved> const encoding(maker, axis_positions({x, y}), heads, kv_heads);
///
/// KataGo's learned nets are so, with frequencies for each kv head; AdaRoPE's heads, on one axis.
/// <q_t, k_s> depends on the differences of their positions alone.
template <pair_layout Layout, built_position P = std::int64_t>
class mixed_rope {
 public:
  /// heads, kv_heads: of attention. Throws std::invalid_argument unless both are multiples of the
  /// heads that have frequencies, and positions have the axes of the frequencies.
  mixed_rope(mixed_row_maker maker, axis_positions<P> positions, std::size_t heads,
             std::size_t kv_heads, rotary_block block = rotary_block::first())
      : maker_(std::move(maker)),
        positions_(std::move(positions)),
        heads_(heads),
        kv_heads_(kv_heads),
        block_(block) {
    for (auto const count : {heads, kv_heads})
      detail::require(count > 0 && count % maker_.heads() == 0,
                      "mixed_rope: heads and kv heads must be multiples of the ", maker_.heads(),
                      " heads of frequencies, got ", count);
    detail::require(positions_.axes() == maker_.axes(), "mixed_rope: positions must be on the ",
                    maker_.axes(), " axes of the frequencies, got ", positions_.axes());
  }

  mixed_row_maker const& maker() const& noexcept { return maker_; }  ///< with the frequencies
  mixed_row_maker maker() && noexcept { return std::move(maker_); }  ///< of a temporary
  std::size_t heads() const noexcept { return heads_; }              ///< of queries
  std::size_t kv_heads() const noexcept { return kv_heads_; }        ///< of keys

  /// Site 2: rows of each index, in any order. Throws if one is not below positions.tokens().
  template <std::floating_point Real = float>
  prepared_mixed_rotation<Layout, Real> prepare(token_positions const& indices) const {
    std::vector<P> at;  // [axes][tokens]
    for (std::size_t axis = 0; axis < positions_.axes(); ++axis)
      for (std::size_t token = 0; token < indices.size(); ++token) {
        auto const index = indices[token];
        detail::require(index >= 0 && static_cast<std::uint64_t>(index) < positions_.tokens(),
                        "mixed_rope: an index must be below the ", positions_.tokens(),
                        " tokens, got ", index, " at token ", token);
        at.push_back(positions_.of(axis)[static_cast<std::size_t>(index)]);
      }
    return {cos_sin_rows<Real>(maker_, at), heads_, kv_heads_, block_};
  }

 private:
  mixed_row_maker maker_;
  axis_positions<P> positions_;
  std::size_t heads_, kv_heads_;
  rotary_block block_;
};

static_assert(acts_on_queries_and_keys<mixed_rope<halves>> &&
              pulls_back_queries_and_keys<mixed_rope<halves>>);

}}  // namespace posenc
