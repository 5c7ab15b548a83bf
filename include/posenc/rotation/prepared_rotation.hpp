// The prepared form of an encoding that rotates queries and keys by rows.
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The prepared value of an encoding that rotates by rows, one per token: rope, m_rope, or yours,
/// which needs only
///
///     template <class T>
///     auto prepare(positions_view positions) const {
///       return prepared_rotation<halves, T>(cos_sin_rows<T>(f, positions));    or other rows
///     }
///
/// Queries and keys are rotated whole, or by ranges of tokens:
///
///     auto const prepared = rope<halves>(f).prepare(positions);    once per step
///     prepared.encode_queries(q);                                  every layer; any storage type
///     prepared.encode_keys(k);                                     the keys of the same tokens
///     prepared.encode_queries(q_part, 100);                        tokens 100, 101, ...
///
/// Arithmetic is in Real: float, or double to rotate doubles. Rotating allocates nothing and gives
/// the same bits however it is split. Throws std::invalid_argument, before anything is changed,
/// unless every token of the view has a row, and as rotate does.
template <pair_layout Layout, std::floating_point Real>
class prepared_rotation {
 public:
  /// One row per token; `block` says which dims rotate.
  explicit prepared_rotation(cos_sin_rows<Real> rows, rotary_block block = rotary_block::first())
      : rows_(std::move(rows)), block_(block) {}

  cos_sin_rows<Real> const& rows() const& noexcept { return rows_; }  ///< [tokens]
  cos_sin_rows<Real> rows() && noexcept { return std::move(rows_); }  ///< of a temporary
  std::size_t tokens() const noexcept { return rows_.tokens(); }      ///< of the step

  /// Site 2, see acts_on_queries_and_keys.
  template <class T>
  void encode_queries(heads_view<T> const& q, std::size_t first_token = 0) const {
    by(rows_, q, first_token);
  }
  /// Keys rotate as queries do.
  template <class T>
  void encode_keys(heads_view<T> const& k, std::size_t first_token = 0) const {
    by(rows_, k, first_token);
  }
  /// Backward, see pulls_back_queries_and_keys: by the transpose of the rotation, which has the
  /// attention factor once more.
  template <class T>
  void backward_queries(heads_view<T> const& d, std::size_t first_token = 0) const {
    by(rows_.transpose(), d, first_token);
  }
  /// Backward, for keys.
  template <class T>
  void backward_keys(heads_view<T> const& d, std::size_t first_token = 0) const {
    by(rows_.transpose(), d, first_token);
  }

 private:
  template <class T>
  void by(cos_sin_rows<Real> const& rows, heads_view<T> const& x, std::size_t first) const {
    detail::require(first <= rows.tokens() && x.tokens() <= rows.tokens() - first,
                    "prepare: every token must have a prepared position, got ", rows.tokens(),
                    " positions for ", x.tokens(), " tokens from ", first, " on");
    rotate<Layout>(x, rows.slice_tokens(first, x.tokens()), block_);
  }

  cos_sin_rows<Real> rows_;
  rotary_block block_;
};

}}  // namespace posenc
