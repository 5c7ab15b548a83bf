// The rows of one step, which rotate its queries and keys.
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include "posenc/core/heads_view.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace posenc::inline POSENC_TARGET {

/// What rope, m_rope and their kin prepare: one row a token, by which queries and keys are rotated,
/// whole or by ranges of tokens.
///
///     auto const prepared = rope<halves>(f).prepare(positions);    once a step
///     prepared.encode_queries(q);                                  every layer; any storage type
///     prepared.encode_keys(k);                                     the keys of the same tokens
///     prepared.encode_queries(q_of_some, 100);                     tokens 100, 101, ... of them
///
/// Arithmetic is in Real: float, or double to rotate doubles. Rotating allocates nothing and gives
/// the same bits however it is split. Throws std::invalid_argument, before anything is changed,
/// unless every token of the view has a row, and as rotate does.
template <pair_layout Layout, std::floating_point Real>
class prepared_rotation {
 public:
  /// One row a token; `block` says which dims rotate.
  explicit prepared_rotation(cos_sin_rows<Real> rows, rotary_block block = rotary_block::first())
      : rows_(std::move(rows)), block_(block) {}

  cos_sin_rows<Real> const& rows() const noexcept { return rows_; }  ///< [tokens]
  std::size_t tokens() const noexcept { return rows_.tokens(); }     ///< of the step

  /// Site 2, see acts_on_queries_and_keys.
  template <class T>
  void encode_queries(heads_view<T> const& q, std::size_t first_token = 0) const {
    rotate<Layout>(q, of(rows_, first_token, q.tokens()), block_);
  }
  /// The same: keys rotate as queries do.
  template <class T>
  void encode_keys(heads_view<T> const& k, std::size_t first_token = 0) const {
    encode_queries(k, first_token);
  }

  /// Backward: gradients with respect to the encoded vectors -> gradients with respect to the
  /// inputs, by the transpose of the rotation, which has the attention factor once more.
  template <class T>
  void backward_queries(heads_view<T> const& d, std::size_t first_token = 0) const {
    rotate<Layout>(d, of(rows_.transpose(), first_token, d.tokens()), block_);
  }
  /// The same of keys.
  template <class T>
  void backward_keys(heads_view<T> const& d, std::size_t first_token = 0) const {
    backward_queries(d, first_token);
  }

 private:
  static cos_sin_view<Real> of(cos_sin_rows<Real> const& rows, std::size_t first,
                               std::size_t tokens) {
    detail::require(first <= rows.tokens() && tokens <= rows.tokens() - first,
                    "prepare: every token must have a prepared position, got ", rows.tokens(),
                    " positions for ", tokens, " tokens from ", first, " on");
    return rows.slice_tokens(first, tokens);
  }

  cos_sin_rows<Real> rows_;
  rotary_block block_;
};

}  // namespace posenc
