// Rotary position embeddings: queries and keys are rotated by their positions, so that <q_t, k_s>
// depends on t - s alone.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <utility>

#include "posenc/core/target.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/row_maker.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// What an encoding prepares that rotates by rows, one per token: rope, m_rope, or your own, which
/// needs only
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
  /// check(first, count) throws unless these tokens can be rotated in half.
  using half_check = std::function<void(std::size_t, std::size_t)>;

  /// One row per token; `block` says which dims rotate.
  explicit prepared_rotation(cos_sin_rows<Real> rows, rotary_block block = rotary_block::first(),
                             half_check in_half = {})
      : rows_(std::move(rows)), block_(block), in_half_(std::move(in_half)) {}

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
    if constexpr (std::same_as<storage_format_t<T>, half>) {
      if (in_half_) in_half_(first, x.tokens());
    }
    rotate<Layout>(x, rows.slice_tokens(first, x.tokens()), block_);
  }

  cos_sin_rows<Real> rows_;
  rotary_block block_;
  half_check in_half_;
};

namespace detail {

/// Encodes queries by one prepared encoding and keys by another.
template <class Prepared>
struct prepared_apart {
  static constexpr bool wraps_encodings = true;  ///< it has functions where Prepared has
  Prepared of_queries, of_keys;

  template <class T>
  void encode_queries(heads_view<T> const& q, std::size_t token = 0, std::size_t head = 0) const {
    detail::encode_queries(of_queries, q, token, head);
  }
  template <class T>
  void encode_keys(heads_view<T> const& k, std::size_t token = 0, std::size_t head = 0) const {
    detail::encode_keys(of_keys, k, token, head);
  }
  template <class T>
  void backward_queries(heads_view<T> const& d, std::size_t token = 0, std::size_t head = 0) const
      requires(pulls_back<Prepared, T>) {
    detail::backward_queries(of_queries, d, token, head);
  }
  template <class T>
  void backward_keys(heads_view<T> const& d, std::size_t token = 0, std::size_t head = 0) const
      requires(pulls_back<Prepared, T>) {
    detail::backward_keys(of_keys, d, token, head);
  }
};

}  // namespace detail

/// RoPE with any frequencies: q_t -> R_t q_t, k_s -> R_s k_s, where R_t rotates pair i by t *
/// inv_freq_i. [Su 2021, 3.2]
///
///     rope<halves>(geometric(128, 1e4))                             Llama 2
///     rope<interleaved>(geometric(64, 1e4))                         GPT-J: first 64 of 256 dims
///     rope<halves>(truncated(geometric(512, 1e6), 0.25))            Gemma 4's global layers
///     rope<interleaved>(geometric(64, 1e4), rotary_block::last())   DeepSeek: last 64 dims
template <pair_layout Layout>
class rope {
 public:
  /// `block` says which dims of a head rotate.
  explicit rope(posenc::frequencies f, rotary_block block = rotary_block::first())
      : frequencies_(std::move(f)), maker_(frequencies_), block_(block) {}

  /// As given, in radians per position.
  posenc::frequencies const& frequencies() const& noexcept { return frequencies_; }
  posenc::frequencies frequencies() && { return std::move(frequencies_); }  ///< of a temporary

  /// Site 2: one row a position, of any integers, or fractional. Throws as cos_sin_rows does.
  template <std::floating_point Real = float, position_range Positions = token_positions>
  prepared_rotation<Layout, Real> prepare(Positions const& positions) const {
    return prepared_rotation<Layout, Real>(cos_sin_rows<Real>(maker_, positions), block_);
  }

 private:
  posenc::frequencies frequencies_;
  row_maker maker_;
  rotary_block block_;
};

static_assert(acts_on_queries_and_keys<rope<halves>> && pulls_back_queries_and_keys<rope<halves>>);

/// p-RoPE is RoPE with truncated frequencies: the highest fraction p of them rotates. [Barbero
/// 2024, 6.1] Throws unless head_dim is even and positive, base finite and positive, p in [0, 1].
template <pair_layout Layout>
rope<Layout> p_rope(std::size_t head_dim, double base, double p) {
  return rope<Layout>(truncated(geometric(head_dim, base), p));
}

}}  // namespace posenc
