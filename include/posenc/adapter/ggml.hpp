// ggml's op GGML_OP_ROPE, from its parameters and tensors. Needs no ggml.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/adapter/ggml_heads.hpp"
#include "posenc/adapter/ggml_rope_parameters.hpp"
#include "posenc/adapter/row_cache.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/axis_rows.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc::inline POSENC_TARGET {

/// What one call of the op is given besides its tensors of heads.
struct ggml_rope_call {
  ggml_rope_parameters parameters;           ///< as the op has them
  std::int32_t const* positions;             ///< [tokens], or [4][tokens] if parameters.has_axes()
  std::span<float const> freq_factors = {};  ///< none, or one per pair; more are not read
  bool backward = false;                     ///< GGML_OP_ROPE_BACK: the transpose
};

/// What makes the rows of a call: once a model. Throws as ggml_frequencies does.
inline axis_row_maker ggml_row_maker(ggml_rope_call const& call, std::size_t head_dim) {
  return {ggml_frequencies(call.parameters, head_dim, call.freq_factors),
          ggml_pair_axes(call.parameters, head_dim)};
}

namespace detail {

/// The rows of `count` tokens from `first` on, of `tokens` in all. Backward, sines have the other
/// sign: with an attention factor other than 1 that is no inverse, as in ggml.
inline cos_sin_rows<float> ggml_rows(axis_row_maker const& maker, ggml_rope_call const& call,
                                     std::size_t tokens, std::size_t first, std::size_t count) {
  std::vector<std::vector<std::int64_t>> positions(call.parameters.axes());
  for (std::size_t axis = 0; axis < positions.size(); ++axis) {
    auto const* const of_axis = call.positions + axis * tokens + first;
    positions[axis].assign(of_axis, of_axis + count);
  }
  auto rows = axis_rows(maker, axis_positions<std::int64_t>(positions));
  return call.backward ? rows.transpose() : rows;
}

/// The same, kept or made.
inline cos_sin_view<float> cached_ggml_rows(row_cache& cache, ggml_rope_call const& call,
                                            std::size_t head_dim, std::size_t tokens,
                                            std::size_t first, std::size_t count) {
  auto const& p = call.parameters;
  constexpr std::uint64_t tag = 0x676d'676c'726f'7065;  // contents of other makers differ
  std::array<std::uint64_t, 3> const sizes{tag, head_dim, call.freq_factors.size()};
  std::array<std::uint64_t, 2> const of_rows{count, call.backward ? 1u : 0u};
  std::array<std::span<std::byte const>, 8> parts{
      std::as_bytes(std::span(sizes)), std::as_bytes(std::span(&p, 1)),
      std::as_bytes(call.freq_factors), std::as_bytes(std::span(of_rows))};
  for (std::size_t axis = 0; axis < p.axes(); ++axis)
    parts[4 + axis] = std::as_bytes(std::span(call.positions + axis * tokens + first, count));
  return cache.rows(std::span(parts).first(4 + p.axes()), [&] {
    auto const& maker =
        cache.maker(std::span(parts).first(3), [&] { return ggml_row_maker(call, head_dim); });
    return ggml_rows(maker, call, tokens, first, count);
  });
}

/// What the rotation of a range of rows needs.
template <class S, class T>
struct ggml_blocks {
  ggml_heads<S> const& source;
  ggml_heads<T> const& target;
  cos_sin_view<float> const& rows;  // from first_token on
  std::size_t first_token;
  rotary_block block;

  template <class Layout>
  void rotate(ggml_row_range range) const {
    // All blocks are checked before the first is rotated. There is one at most at decode.
    if (!source.is_one_block(range)) {
      source.for_blocks(range, [this](ggml_block const& b) {
        rotation_of<Layout>(source.block(b), target.block(b)).block(block).check(rows_of(b));
      });
    }
    source.for_blocks(range, [this](ggml_block const& b) {
      posenc::rotate<Layout>(source.block(b), target.block(b), rows_of(b), block);
    });
  }

 private:
  cos_sin_view<float> rows_of(ggml_block const& b) const {
    return rows.slice_tokens(b.token - first_token, b.tokens);
  }
};

}  // namespace detail

/// The whole op, of the rows [range.first, range.last) of the tensors, as ggml splits them over its
/// threads. An engine's op is then
///
///     void rope(ggml_compute_params const* params, ggml_tensor* dst, bool forward) {
///       thread_local posenc::row_cache cache;
///       auto const &a = *dst->src[0], &positions = *dst->src[1];
///       posenc::ggml_rope_call call{
///           .parameters = posenc::ggml_rope_parameters::of(dst->op_params),
///           .positions = static_cast<std::int32_t const*>(positions.data),
///           .backward = !forward};
///       if (auto const* f = dst->src[2])
///         call.freq_factors = {static_cast<float const*>(f->data), std::size_t(f->ne[0])};
///       auto const rotate = [&]<class T>() {
///         posenc::ggml_heads<T const> const from(a);
///         posenc::ggml_rope(cache, call, from, posenc::ggml_heads<T>(*dst),
///                           from.rows_of_thread(params->ith, params->nth));
///       };
///       a.type == GGML_TYPE_F32 ? rotate.operator()<float>()
///                               : rotate.operator()<posenc::half>();
///     }
///
/// All modes, in place or from one tensor to another. Dims that are not rotated are left alone in
/// place, and copied otherwise. Cosines and sines are those of exact angles (cos_sin_rows), where
/// ggml multiplies positions in float; else the formulas are ggml's.
/// Throws std::invalid_argument, before anything is changed, if the tensors differ in ne, if the
/// range reaches beyond their rows, or if there are no positions; and whatever ggml_frequencies,
/// ggml_pair_axes and rotate throw. Batches must not overlap each other; this is not checked.
template <storable S, writable T>
void ggml_rope(row_cache& cache, ggml_rope_call const& call, ggml_heads<S> const& source,
               ggml_heads<T> const& target, ggml_row_range range) {
  auto const& p = call.parameters;
  detail::require(source.shape() == target.shape(),
                  "ggml_rope: both tensors must have the same ne");
  detail::require(range.first <= range.last && range.last <= source.rows(),
                  "ggml_rope: the range must lie within the ", source.rows(), " rows, got ",
                  range.first, " to ", range.last);
  if (range.first == range.last) return;
  detail::require(call.positions != nullptr, "ggml_rope: positions must not be null");
  detail::require_ggml_rope(p, source.head_dim());

  // Rows of the tokens that the range has: some of one batch, or all.
  auto const first = range.first / source.heads(), last = (range.last - 1) / source.heads();
  auto const tokens = source.tokens();
  bool const one_batch = first / tokens == last / tokens;
  auto const first_token = one_batch ? first % tokens : 0;
  cos_sin_view<float> const rows = detail::cached_ggml_rows(
      cache, call, source.head_dim(), tokens, first_token, one_batch ? last - first + 1 : tokens);
  detail::ggml_blocks<S, T> const blocks{source, target, rows, first_token,
                                         rotary_block::from(static_cast<std::size_t>(p.n_offs))};
  p.is_interleaved() ? blocks.template rotate<interleaved>(range)
                     : blocks.template rotate<halves>(range);
}

}  // namespace posenc
