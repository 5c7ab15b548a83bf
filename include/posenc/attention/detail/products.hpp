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
#include "posenc/core/target.hpp"
#include "posenc/decode/detail/finite_scores.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/simd/multiply_add.hpp"
#include "posenc/simd/tile.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Calls part(first, count) for blocks of up to `most`, each aligned to a multiple of it, that
/// cover [first, last).
void in_parts(std::size_t first, std::size_t last, std::size_t most, auto const& part) {
  for (first -= first % most; first < last; first += most)
    part(first, std::min(most, last - first));
}

/// scores = scale * q k^T where queries see keys, elsewhere unspecified, for any rows of one kv
/// head, with the keys that are in panels. q: [rows][head_dim] dense.
template <std::floating_point T>
void multiply_scores(T* scores, T scale, T const* q, tile_panels<T>& k, block_shape const& b) {
  constexpr auto size = lanes<T>::size;
  auto const dims = k.head().head_dim(), seen = b.seen();
  in_parts(
      std::max(b.keys.first, k.first()), k.last(), tile_columns<T>,
      [&](std::size_t key, std::size_t keys) {
        if (key >= b.keys.last) return;
        in_parts(0, dims, tile_terms, [&](std::size_t dim, std::size_t terms) {
          auto const* const panel = k.of_keys(key, keys, dim, terms);
          in_parts(0, b.rows(), tile_rows, [&](std::size_t row, std::size_t rows) {
            auto const [first, last] =
                b.seen_by(row, rows);  // made whole registers, within the row
            auto const from = std::max({first / size * size, key, b.keys.first}),
                       to = std::min({(last + size - 1) / size * size, key + keys, b.keys.last});
            if (from >= to) return;
            multiply<T>({scores + row * seen + from - b.keys.first, seen,
                         rows_of_tile(q + row * dims + dim, dims, rows), 1, panel + (from - key),
                         terms, scale, dim > 0},
                        rows, to - from);
          });
        });
      });
}

/// outputs[row] *= shares[row], unless null. A row that comes out infinite or NaN is summed again,
/// in double and over the keys that it sees: hidden values may be anything, NaN included, and the
/// sum before its share may overflow T. v: all tokens of the kv heads.
template <std::floating_point T, class Heads>
void finish_outputs(T* outputs, T const* weights, Heads const& v, block_shape const& b,
                    double const* shares) {
  auto const dims = v.head_dim();
  for (std::size_t row = 0; shares != nullptr && row < b.rows(); ++row) {
    for (auto& x : std::span(outputs + row * dims, dims)) x *= static_cast<T>(shares[row]);
  }
  if (all_finite(std::span<T const>(outputs, b.rows() * dims))) return;
  std::vector<double> sums(dims);
  std::vector<T> value(dims);
  for (std::size_t row = 0; row < b.rows(); ++row) {
    std::span<T> const output(outputs + row * dims, dims);
    if (all_finite(std::span<T const>(output))) continue;
    std::ranges::fill(sums, 0);
    auto const [first, last] = b.ranges[row % b.rows_of_head() / b.group];
    for (auto s = first; s < last; ++s) {
      auto const weight = static_cast<double>(weights[row * b.seen() + s - b.keys.first]) *
                          (shares == nullptr ? 1 : shares[row]);
      if (weight == 0) continue;
      v.read(s, row / b.rows_of_head(), value);
      for (std::size_t i = 0; i < dims; ++i) sums[i] += weight * static_cast<double>(value[i]);
    }
    std::ranges::transform(sums, output.begin(), [](double x) { return static_cast<T>(x); });
  }
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
                 multiply<T>(
                     {outputs + row * dims + dim, dims,
                      rows_of_tile(weights + row * seen + from - b.keys.first, seen, rows), 1,
                      panel + (from - key) * tile_columns<T>, to - from, 1, from > first},
                     rows, columns);
               });
             });
           });
}

/// sums += factors^T rows, of one kv head. Factors are 0 where a row does not see a key; the row
/// may be NaN there, and is then left out.
template <std::floating_point T>
void add_transposed_product(heads_view<T> const& sums, T const* factors, T const* rows,
                            block_shape const& b) {
  auto const dims = sums.head_dim(), seen = b.seen();
  if (!all_finite(std::span(rows, b.rows() * dims))) {
    for (std::size_t row = 0; row < b.rows(); ++row) {
      for (std::size_t s = 0; s < seen; ++s) {
        auto const factor = factors[row * seen + s];
        if (factor == 0) continue;
        auto const sum = sums(b.keys.first + s, 0);
        for (std::size_t i = 0; i < dims; ++i)
          sum[i] = multiply_add(factor, rows[row * dims + i], sum[i]);
      }
    }
    return;
  }
  tile_panels<T> panels(heads_view<T const>(rows, {b.rows(), 1, dims}));
  in_parts(0, b.rows(), tile_terms, [&](std::size_t row, std::size_t terms) {
    auto const hull = b.seen_by(row, terms);
    in_parts(0, dims, tile_columns<T>, [&](std::size_t dim, std::size_t columns) {
      auto const* const panel = panels.of_values(row, terms, dim, columns);
      for (auto key = hull.first; key < hull.last; key += tile_rows) {
        auto const keys = std::min(tile_rows, hull.last - key);
        multiply<T>({sums(key, 0).data() + dim, static_cast<std::size_t>(sums.strides().token),
                     rows_of_tile(factors + row * seen + key - b.keys.first, 1, keys), seen, panel,
                     terms, 1, true},
                    keys, columns);
      }
    });
  });
}

}}}  // namespace posenc::detail
