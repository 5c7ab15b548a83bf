// The two matrix products of attention, and those of its gradients.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "posenc/attention/dense_heads.hpp"
#include "posenc/attention/tile_panels.hpp"
#include "posenc/attention/visible_keys.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/decode_products.hpp"
#include "posenc/decode/dot_products.hpp"
#include "posenc/decode/finite_scores.hpp"
#include "posenc/decode/whole_lines.hpp"
#include "posenc/simd/multiply_add.hpp"
#include "posenc/simd/tile.hpp"
#include "posenc/softmax/softmax.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// The rows of a block, [kv heads][queries][group]. Each spans the hull of the key ranges of all
/// queries of the block.
struct block_shape {
  std::span<token_range const> ranges;  ///< of each query
  token_range keys;                     ///< their hull
  std::size_t kv_heads, group;

  std::size_t queries() const noexcept { return ranges.size(); }
  std::size_t rows_of_head() const noexcept { return queries() * group; }
  std::size_t rows() const noexcept { return kv_heads * rows_of_head(); }
  std::size_t seen() const noexcept { return keys.last - keys.first; }
  /// The hulls of what every `count` rows of one kv head see.
  std::vector<token_range> seen_by_each(std::size_t count) const {
    std::vector<token_range> all;
    for (std::size_t row = 0; row < rows(); row += count) {
      auto const first = row / group, last = (std::min(row + count, rows()) - 1) / group + 1;
      all.push_back(hull(ranges.subspan(first, last - first)));
    }
    return all;
  }
};

/// What heads that are read are stored as: numbers, or a format.
template <class Heads>
using element_of = typename Heads::format_type;

/// Up to this many rows per kv head, keys and values are read in place, all kv heads at once;
/// beyond, panels pay.
inline constexpr std::size_t few_rows = 8;

/// Calls part(first, count) for blocks of up to `most`, each aligned to a multiple of it, that
/// cover [first, last).
void in_parts(std::size_t first, std::size_t last, std::size_t most, auto const& part) {
  for (first -= first % most; first < last; first += most)
    part(first, std::min(most, last - first));
}

/// scores = scale * q k^T where queries see keys; elsewhere scores are unspecified. q:
/// [rows][head_dim] dense; k: all tokens of the kv heads. For few rows.
template <std::floating_point T, class Heads>
void multiply_scores(T* scores, T scale, T const* q, Heads const& k, block_shape const& b) {
  auto const of_head = b.rows_of_head(), padded = padded_rows(of_head), dims = k.head_dim();
  whole_lines<T> queries(b.kv_heads * padded * dims), tiles(b.kv_heads * padded * tile_tokens);
  for (std::size_t head = 0; head < b.kv_heads; ++head)
    std::copy_n(q + head * of_head * dims, of_head * dims, queries.data() + head * padded * dims);
  auto const keys = k.slice_tokens(b.keys.first, b.seen());
  if constexpr (multiplies_codes<element_of<Heads>>) {
    dot_scores<element_of<Heads>>(scores, scale, queries.data(), of_head, keys, tiles.data());
  } else {
    few_scores<T, element_of<Heads>>(scores, scale, queries.data(), of_head, keys, tiles.data());
  }
}

/// The same for any rows of one kv head.
template <std::floating_point T>
void multiply_scores(T* scores, T scale, T const* q, tile_panels<T>& k, block_shape const& b) {
  if (b.rows() <= few_rows) return multiply_scores(scores, scale, q, k.head(), b);
  constexpr auto size = lanes<T>::size;
  auto const dims = k.head().head_dim(), seen = b.seen();
  auto const hulls = b.seen_by_each(tile_rows);
  in_parts(
      b.keys.first, k.head().tokens(), tile_columns<T>, [&](std::size_t key, std::size_t keys) {
        if (key >= b.keys.last) return;
        in_parts(0, dims, tile_terms, [&](std::size_t dim, std::size_t terms) {
          auto const* const panel = k.of_keys(key, keys, dim, terms);
          in_parts(0, b.rows(), tile_rows, [&](std::size_t row, std::size_t rows) {
            auto const [first, last] =
                hulls[row / tile_rows];  // made whole registers, within the row
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
/// sum before its share may overflow T.
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

/// outputs[row] = shares[row] times the sum over keys s of weights[row][s] v[s], for up to few_rows
/// rows. Without shares (null) each is 1.
template <std::floating_point T, class Heads>
void multiply_outputs(T* outputs, T const* weights, Heads const& v, block_shape const& b,
                      double const* shares = nullptr) {
  std::fill_n(outputs, b.rows() * v.head_dim(), T{0});
  auto const values = v.slice_tokens(b.keys.first, b.seen());
  using stored = element_of<Heads>;
  if constexpr (multiplies_codes<stored>) {
    // Queries that see different keys would share the unit of 16 keys that are read together.
    if (!has_groups<stored> || b.queries() == 1) {
      dot_outputs<stored>(outputs, weights, b.rows_of_head(), values);
      return finish_outputs(outputs, weights, v, b, shares);
    }
  }
  auto const padded = b.kv_heads * padded_rows(b.rows_of_head());
  whole_lines<T> sums(padded * v.head_dim()), tiles(padded * tile_tokens);
  few_outputs<T, stored>(outputs, weights, b.rows_of_head(), values, sums.data(), tiles.data());
  finish_outputs(outputs, weights, v, b, shares);
}

/// The same for any rows of one kv head.
template <std::floating_point T>
void multiply_outputs(T* outputs, T const* weights, tile_panels<T>& v, block_shape const& b,
                      double const* shares = nullptr) {
  if (b.rows() <= few_rows) return multiply_outputs(outputs, weights, v.head(), b, shares);
  auto const dims = v.head().head_dim(), seen = b.seen();
  auto const hulls = b.seen_by_each(tile_rows);
  for (std::size_t row = 0; row < b.rows(); ++row) {
    auto const [first, last] = hulls[row / tile_rows];
    if (first == last) std::fill_n(outputs + row * dims, dims, T{0});
  }
  in_parts(b.keys.first, v.head().tokens(), tile_terms, [&](std::size_t key, std::size_t keys) {
    if (key >= b.keys.last) return;
    in_parts(0, dims, tile_columns<T>, [&](std::size_t dim, std::size_t columns) {
      auto const* const panel = v.of_values(key, keys, dim, columns);
      in_parts(0, b.rows(), tile_rows, [&](std::size_t row, std::size_t rows) {
        auto const [first, last] = hulls[row / tile_rows];
        auto const from = std::max(first, key), to = std::min(last, key + keys);
        if (from >= to) return;
        multiply<T>({outputs + row * dims + dim, dims,
                     rows_of_tile(weights + row * seen + from - b.keys.first, seen, rows), 1,
                     panel + (from - key) * tile_columns<T>, to - from, 1, from > first},
                    rows, columns);
      });
    });
  });
  finish_outputs(outputs, weights, v.head(), b, shares);
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
  auto const hulls = b.seen_by_each(tile_terms);
  in_parts(0, b.rows(), tile_terms, [&](std::size_t row, std::size_t terms) {
    auto const hull = hulls[row / tile_terms];
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

}  // namespace posenc::detail
