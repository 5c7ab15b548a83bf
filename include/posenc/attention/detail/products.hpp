// The two matrix products of attention for many rows, and those of its gradients: keys and values
// are read from panels.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "posenc/attention/detail/block_shape.hpp"
#include "posenc/attention/detail/tile_panels.hpp"
#include "posenc/attention/token_range.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/detail/finite_scores.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/multiply_add.hpp"
#include "posenc/simd/tile.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Calls part(first, count) for blocks of up to `most`, each aligned to a multiple of it, that
/// cover [first, last).
void in_parts(std::size_t first, std::size_t last, std::size_t most, auto const& part) {
  for (first -= first % most; first < last; first += most)
    part(first, std::min(most, last - first));
}

/// The part of `keys` keys from `key` on that a tile of rows sees, made whole registers, within the
/// block.
template <std::floating_point T>
token_range keys_of_tile(block_shape const& b, std::size_t row, std::size_t rows, std::size_t key,
                         std::size_t keys) noexcept {
  constexpr auto size = lanes<T>::size;
  auto const [first, last] = b.seen_by(row, rows);
  return {std::max({first / size * size, key, b.keys.first}),
          std::min({(last + size - 1) / size * size, key + keys, b.keys.last})};
}

/// scores = scale * q k^T where queries see keys, elsewhere unspecified, for any rows of one kv
/// head, with the keys that are in panels. q: [rows][head_dim] dense. Tile: word_tile of words.
template <class Tile, std::floating_point T>
void multiply_scores(T* scores, T scale, T const* q, tile_panels<T>& k, block_shape const& b) {
  auto const dims = k.head().head_dim(), seen = b.seen();
  in_parts(std::max(b.keys.first, k.first()), k.last(), tile_columns<T>,
           [&](std::size_t key, std::size_t keys) {
             if (key >= b.keys.last) return;
             in_parts(0, dims, tile_terms, [&](std::size_t dim, std::size_t terms) {
               auto const* const panel = k.of_keys(key, keys, dim, terms);
               in_parts(0, b.rows(), tile_rows, [&](std::size_t row, std::size_t rows) {
                 auto const [from, to] = keys_of_tile<T>(b, row, rows, key, keys);
                 if (from >= to) return;
                 multiply(Tile{{scores + row * seen + from - b.keys.first, seen,
                                rows_of_tile(q + row * dims + dim, dims, rows), 1,
                                panel + (from - key), terms, scale, dim > 0}},
                          rows, to - from);
               });
             });
           });
}
template <std::floating_point T>
void multiply_scores(T* scores, T scale, T const* q, tile_panels<T>& k, block_shape const& b) {
  struct of_numbers : tile<T> {};
  multiply_scores<of_numbers>(scores, scale, q, k, b);
}

/// outputs[row] += the sum over keys s of weights[row][s] v[s], for any rows of one kv head, with
/// the values that are in panels. The first values that a row sees overwrite its outputs.
template <std::floating_point T>
void multiply_outputs(T* outputs, T const* weights, tile_panels<T>& v, block_shape const& b) {
  auto const dims = v.head().head_dim(), seen = b.seen();
  for (std::size_t row = 0; row < b.rows(); row += tile_rows) {
    auto const rows = std::min(tile_rows, b.rows() - row);
    auto const [first, last] = b.seen_by(row, rows);
    if (first == last) std::fill_n(outputs + row * dims, rows * dims, T{0});
  }
  in_parts(std::max(b.keys.first, v.first()), v.last(), tile_terms,
           [&](std::size_t key, std::size_t keys) {
             if (key >= b.keys.last) return;
             in_parts(0, dims, tile_columns<T>, [&](std::size_t dim, std::size_t columns) {
               auto const* const panel = v.of_values(key, keys, dim, columns);
               in_parts(0, b.rows(), tile_rows, [&](std::size_t row, std::size_t rows) {
                 auto const [first, last] = b.seen_by(row, rows);
                 auto const from = std::max(first, key), to = std::min(last, key + keys);
                 if (from >= to) return;
                 multiply(
                     tile<T>{outputs + row * dims + dim, dims,
                             rows_of_tile(weights + row * seen + from - b.keys.first, seen, rows),
                             1, panel + (from - key) * tile_columns<T>, to - from, 1, from > first},
                     rows, columns);
               });
             });
           });
}

}}}  // namespace posenc::detail
