// ggml's op GGML_OP_ROPE, from its parameters and tensors. Needs no ggml.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "posenc/adapter/ggml_rope_parameters.hpp"
#include "posenc/adapter/row_cache.hpp"
#include "posenc/core/target.hpp"
#include "posenc/core/viewed.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/axis_rows.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Rows of a tensor, that is, heads, in ggml's order: batch, token, head.
struct ggml_row_range {
  std::size_t first, last;  ///< [first, last)
};

/// A range of heads of a range of tokens of a batch.
struct ggml_block {
  std::size_t batch;          ///< its index
  std::size_t token, tokens;  ///< the first, and how many
  std::size_t head, heads;    ///< the first, and how many, of each token
};

/// A view of a tensor of heads: ne = {head_dim, heads, tokens, batches}, nb = the distance in bytes
/// from one to the next of each. Throws std::invalid_argument unless ne[0] is positive, no ne is
/// negative, nb[0] is the size of T and the other nb are multiples of it.
template <storable T>
class ggml_heads {
 public:
  using element_type = T;  ///< const if the heads are only read

  /// From a tensor: anything with data, ne and nb, as ggml_tensor has.
  template <class Tensor>
  requires requires(Tensor const& t) { t.data, t.ne[3], t.nb[3]; }
  explicit ggml_heads(Tensor const& t)
      : ggml_heads(t.data, {t.ne[0], t.ne[1], t.ne[2], t.ne[3]},
                   {t.nb[0], t.nb[1], t.nb[2], t.nb[3]}) {}

  /// From memory at data. Throws as the class says.
  ggml_heads(std::conditional_t<std::is_const_v<T>, void const, void>* data,
             std::array<std::int64_t, 4> const& ne, std::array<std::size_t, 4> const& nb)
      : data_(static_cast<T*>(data)) {
    detail::require(ne[0] > 0, "ggml_heads: ne[0], the head_dim, must be positive, got ", ne[0]);
    for (std::size_t i = 0; i < 4; ++i) {
      detail::require(ne[i] >= 0, "ggml_heads: ne must not be negative, got ", ne[i],
                      " in dimension ", i);
      detail::require(nb[i] % sizeof(T) == 0 && (i > 0 || nb[0] == sizeof(T)),
                      "ggml_heads: nb[0] must be the ", sizeof(T),
                      " bytes of an element and nb a multiple of it, got ", nb[i], " in dimension ",
                      i);
      size_[i] = static_cast<std::size_t>(ne[i]);
      stride_[i] = static_cast<std::ptrdiff_t>(nb[i] / sizeof(T));
    }
  }

  std::size_t head_dim() const noexcept { return size_[0]; }  ///< ne[0]
  std::size_t heads() const noexcept { return size_[1]; }     ///< ne[1], of each token
  std::size_t tokens() const noexcept { return size_[2]; }    ///< ne[2], of each batch
  std::size_t batches() const noexcept { return size_[3]; }   ///< ne[3]
  /// Heads of all tokens and batches.
  std::size_t rows() const noexcept { return heads() * tokens() * batches(); }
  std::array<std::size_t, 4> const& shape() const noexcept { return size_; }  ///< ne

  ggml_row_range all_rows() const noexcept { return {0, rows()}; }  ///< for one thread
  /// The rows of thread `thread` of `threads`, as ggml's ops split them: equal parts, rounded up.
  /// Precondition, not checked: threads > 0.
  ggml_row_range rows_of_thread(std::integral auto thread, std::integral auto threads) const {
    auto const n = static_cast<std::size_t>(threads), each = (rows() + n - 1) / n;
    auto const first = std::min(each * static_cast<std::size_t>(thread), rows());
    return {first, std::min(first + each, rows())};
  }

  /// The heads of a block. Precondition, not checked: it lies within the tensor.
  heads_view<T> block(ggml_block const& b) const {
    auto const steps = [this](std::size_t count, std::size_t dimension) {
      return static_cast<std::ptrdiff_t>(count) * stride_[dimension];
    };
    return {data_ + steps(b.batch, 3) + steps(b.token, 2) + steps(b.head, 1),
            {b.tokens, b.heads, head_dim()},
            {stride_[2], stride_[1]}};
  }

  /// Calls each(block) for as few blocks as hold the rows of a range, in their order.
  void for_blocks(ggml_row_range range, auto const& each) const {
    for (auto row = range.first; row < range.last;) {
      auto const left = range.last - row, head = row % heads(), token = row / heads();
      ggml_block b{token / tokens(), token % tokens(), 1, head, std::min(heads() - head, left)};
      if (head == 0 && left >= heads()) b.tokens = std::min(tokens() - b.token, left / heads());
      each(b);
      row += b.tokens * b.heads;
    }
  }

 private:
  T* data_;
  std::array<std::size_t, 4> size_{};
  std::array<std::ptrdiff_t, 4> stride_{};
};

/// The arguments of one call of the op, besides its tensors of heads.
struct ggml_rope_call {
  ggml_rope_parameters parameters;  ///< as the op has them
  std::int32_t const* positions;    ///< [tokens], or [4][tokens] if parameters.has_axes()
  viewed<float> freq_factors = {};  ///< none, or one per pair; more are not read
  bool backward = false;            ///< GGML_OP_ROPE_BACK: the transpose
};

namespace detail {

/// The rows of `count` tokens from `first` on, of `tokens` in all, kept or made. Backward, sines
/// have the other sign: with an attention factor other than 1 that is no inverse, as in ggml.
inline cos_sin_view<float> ggml_rows(row_cache& cache, ggml_rope_call const& call,
                                     std::size_t head_dim, std::size_t tokens, std::size_t first,
                                     std::size_t count) {
  auto const& p = call.parameters;
  constexpr std::uint64_t tag = 0x676d'676c'726f'7065;  // contents of other makers differ
  std::array<std::uint64_t, 3> const sizes{tag, head_dim, call.freq_factors.size()};
  std::array<std::uint64_t, 2> const of_rows{count, call.backward ? 1u : 0u};
  std::array<std::span<std::byte const>, 8> parts{
      std::as_bytes(std::span(sizes)), std::as_bytes(std::span(&p, 1)),
      std::as_bytes(call.freq_factors), std::as_bytes(std::span(of_rows))};
  auto const of_axis = [&](std::size_t axis) {
    return std::span(call.positions + axis * tokens + first, count);
  };
  for (std::size_t axis = 0; axis < p.axes(); ++axis)
    parts[4 + axis] = std::as_bytes(of_axis(axis));
  return cache.rows(std::span(parts).first(4 + p.axes()), [&] {
    auto const& maker = cache.maker(std::span(parts).first(3), [&] {
      return axis_row_maker(ggml_frequencies(p, head_dim, call.freq_factors),
                            ggml_pair_axes(p, head_dim));
    });
    std::vector<std::vector<std::int64_t>> positions(p.axes());
    for (std::size_t axis = 0; axis < p.axes(); ++axis)
      positions[axis].assign(of_axis(axis).begin(), of_axis(axis).end());
    auto rows = axis_rows(maker, axis_positions<std::int64_t>(positions));
    return call.backward ? rows.transpose() : rows;
  });
}

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
/// All modes, in place or to another tensor, to which other dims are copied. Angles are exact
/// (cos_sin_rows), where ggml multiplies positions in float; else the formulas are ggml's.
/// Throws, before anything is changed, if the tensors differ in ne, if the range reaches beyond
/// their rows, or if there are no positions; and as ggml_frequencies, ggml_pair_axes and rotate do.
/// Batches must not overlap each other; this is not checked.
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

  // Rows of the tokens of the range: a part of one batch, or all.
  auto const first = range.first / source.heads(), last = (range.last - 1) / source.heads();
  auto const tokens = source.tokens();
  bool const one_batch = first / tokens == last / tokens;
  auto const first_token = one_batch ? first % tokens : 0;
  auto const rows = detail::ggml_rows(cache, call, source.head_dim(), tokens, first_token,
                                      one_batch ? last - first + 1 : tokens);
  auto const block = rotary_block::from(static_cast<std::size_t>(p.n_offs));
  auto const rotate_blocks = [&]<class Layout>(Layout) {
    auto const rows_of = [&](ggml_block const& b) {
      return rows.slice_tokens(b.token - first_token, b.tokens);
    };
    // All blocks are checked before the first is rotated; one alone is checked as it is rotated.
    source.for_blocks(range, [&](ggml_block const& b) {
      if (b.tokens * b.heads < range.last - range.first)
        rotated<Layout>(source.block(b), target.block(b)).block(block).check(rows_of(b));
    });
    source.for_blocks(range, [&](ggml_block const& b) {
      rotate<Layout>(source.block(b), target.block(b), rows_of(b), block);
    });
  };
  p.is_interleaved() ? rotate_blocks(interleaved()) : rotate_blocks(halves());
}

}}  // namespace posenc
