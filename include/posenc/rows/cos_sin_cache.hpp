// Rows from a cache of cosines and sines that an engine already has.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <utility>

#include "posenc/core/lists.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/rows/detail/row_writer.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// How a cache lies in memory.
struct cos_sin_cache_shape {
  std::size_t positions = 0,           ///< 0, 1, ... positions - 1
      rotary_dim = 0;                  ///< dims that it rotates, two a pair
  std::ptrdiff_t position_stride = 0,  ///< from one position to the next, in elements; 0: dense
      pair_stride = 1;                 ///< from one pair to the next, in elements
};

/// A view of a cache that others own: the cosines and sines of positions 0, 1, ..., in any storage
/// type, attention factor included.
///
///     cos_sin_cache const c(cache, {.positions = n, .rotary_dim = d});       vLLM, FlashInfer
///         [n][cos of d / 2 pairs | sin of d / 2 pairs]
///     cos_sin_cache const c(cos, sin, {.positions = n, .rotary_dim = d});    ONNX Runtime
///         two arrays of [n][d / 2]
///     cos_sin_cache const c(cos, sin, {n, d, d});                            Hugging Face
///         two arrays of [n][d], each pair twice: at i and i + d / 2
///     cos_sin_cache const c(z, z + 1, {n, d, d, 2});                         Llama's freqs_cis
///         [n][d / 2] of cos + i sin
///
///     auto const rows = c.write(positions, memory);    once per step; allocates nothing
///     rotate<halves>(q, rows);                         or interleaved: rows know no layout
///
/// The cache stays where it is. Only the rows of the step's positions are copied, once for all
/// heads and layers: 11 ns per token in float at rotary_dim 128. Conversion to Real is exact,
/// except from double to float, which rounds once. Threads may share it. Throws
/// std::invalid_argument unless rotary_dim is even and positive, and if an array is null but has
/// positions.
template <storable T>
class cos_sin_cache {
 public:
  /// Two arrays, or two parts of one.
  cos_sin_cache(T const* cos, T const* sin, cos_sin_cache_shape const& shape)
      : cos_(cos), sin_(sin), shape_(shape), all_pairs_{0, shape.rotary_dim / 2} {
    detail::require(shape.rotary_dim > 0 && shape.rotary_dim % 2 == 0,
                    "cos_sin_cache: rotary_dim must be even and positive, got ", shape.rotary_dim);
    detail::require(shape.positions == 0 || (cos != nullptr && sin != nullptr),
                    "cos_sin_cache: cosines and sines must not be null for ", shape.positions,
                    " positions");
    if (shape.position_stride == 0) shape_.position_stride = static_cast<std::ptrdiff_t>(pairs());
  }
  /// One array, [positions][cos | sin].
  cos_sin_cache(T const* cos_sin, cos_sin_cache_shape shape)
      : cos_sin_cache(cos_sin, cos_sin == nullptr ? nullptr : cos_sin + shape.rotary_dim / 2,
                      shape) {
    if (shape.position_stride == 0) shape_.position_stride *= 2;
  }

  std::size_t positions() const noexcept { return shape_.positions; }    ///< rows of the cache
  std::size_t pairs() const noexcept { return all_pairs_.last; }         ///< of each row
  std::size_t rotary_dim() const noexcept { return shape_.rotary_dim; }  ///< also a row's length

  /// Writes one row per position, in any order, into memory: [tokens][2][pairs]. Returns a view of
  /// it and of this object. Throws std::invalid_argument, before anything is written, at a position
  /// that the cache does not have. Precondition, not checked: the memory has room for all rows.
  template <std::floating_point Real, integer_range Positions>
  cos_sin_view<Real> write(Positions const& positions, Real* memory) const& {
    check(positions);
    for (auto* row = memory; auto const p : positions) {
      write_row(p, row);
      row += 2 * pairs();
    }
    return {memory, static_cast<std::size_t>(std::size(positions)), pairs(), {&all_pairs_, 1}};
  }
  /// Not from a temporary, because the rows view the cache.
  template <std::floating_point Real, integer_range Positions>
  void write(Positions const& positions, Real* memory) const&& {
    write(positions, memory);
  }

  /// The same rows as a value, which has inverse() and transpose().
  template <std::floating_point Real = arithmetic_t<T>, integer_range Positions>
  cos_sin_rows<Real> rows(Positions const& positions) const {
    check(positions);
    detail::row_layout const layout{pairs(), {&all_pairs_, 1}, 1, true};
    return {layout, positions,
            [this](auto position, Real* row) { this->write_row(position, row); }};
  }

 private:
  void check(auto const& positions) const {
    std::size_t token = 0;
    for (auto const p : positions)
      detail::require(std::in_range<std::size_t>(p) && std::cmp_less(p, shape_.positions),
                      "cos_sin_cache: a position must be one of the ", shape_.positions,
                      " of the cache, got ", p, " at token ", token++);
  }

  void write_row(auto position, auto* row) const noexcept {
    auto const first = static_cast<std::ptrdiff_t>(position) * shape_.position_stride;
    convert(cos_ + first, row);
    convert(sin_ + first, row + pairs());
  }
  // The numbers of all pairs at one position.
  template <class Real>
  void convert(T const* from, Real* to) const noexcept {
    std::size_t pair = 0;
    if constexpr (std::same_as<Real, arithmetic_t<T>>) {
      using in = detail::lanes<T>;
      if (shape_.pair_stride == 1) {
        for (; pair + in::size <= pairs(); pair += in::size)
          detail::lanes<Real>::store(to + pair, in::load(from + pair));
      }
    }
    for (; pair < pairs(); ++pair)
      to[pair] =
          static_cast<Real>(load(from[static_cast<std::ptrdiff_t>(pair) * shape_.pair_stride]));
  }

  T const *cos_, *sin_;
  cos_sin_cache_shape shape_;
  pair_range all_pairs_;
};

}}  // namespace posenc
