// The two products of attention for few queries, as in decoding: keys and values are read once, in
// place, a few tokens at a time.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/detail/finite_scores.hpp"
#include "posenc/decode/detail/nibble_scores.hpp"
#include "posenc/decode/detail/run_reader.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// How many rows are computed at a time: one, if that is less work than fours filled with zeros.
constexpr std::size_t rows_at_once(std::size_t rows) noexcept {
  return rows % 4 == 0 || (rows > 2 && rows % 4 > 1) ? 4 : 1;
}
/// The rows of a head, with the zeros that fill them up.
constexpr std::size_t padded_rows(std::size_t rows) noexcept {
  return rounded_up(rows, rows_at_once(rows));
}

/// Whether a tile of scores is a square of registers, a block each, which is then transposed in
/// registers.
template <std::floating_point T, std::size_t Rows, std::size_t Keys>
inline constexpr bool transposes = (Keys == streams) && (Rows * Keys == lanes<T>::size) &&
                                   (stream_tokens == lanes<T>::size);

/// Transposes a square of registers in memory.
template <std::floating_point T>
POSENC_ALWAYS_INLINE inline void transpose_square(T* x) noexcept {
  typename lanes<T>::number square[lanes<T>::size];
  for (std::size_t n = 0; n < std::size(square); ++n)
    square[n] = lanes<T>::load(x + n * std::size(square));
  lanes<T>::transpose(square);
  for (std::size_t n = 0; n < std::size(square); ++n)
    lanes<T>::store(x + n * std::size(square), square[n]);
}

/// The scores of Rows queries and Keys keys, [Rows][Keys]. q: [Rows][dims].
template <std::size_t Rows, std::floating_point T, class S, std::size_t Keys>
POSENC_ALWAYS_INLINE inline std::array<T, Rows * Keys> block_scores(T const* q,
                                                                    head_block<S, Keys> const& k,
                                                                    std::size_t dims) noexcept {
  using number = typename lanes<T>::number;
  constexpr auto size = lanes<T>::size;
  number products[Rows * Keys];
  std::array<T, Rows * Keys> sums;
  for (auto& x : products) x = number(T{0});
  constexpr auto line = std::max(size, 64 / sizeof(typename head_block<S, Keys>::element));
  auto const add = [&](std::size_t i, std::size_t j = 0) POSENC_INLINED {
    number x[Keys];
    for (std::size_t s = 0; s < Keys; ++s) x[s] = k.load(s, i, j);
    for (std::size_t r = 0; r < Rows; ++r) {
      auto const query = lanes<T>::load(q + r * dims + i + j);
      for (std::size_t s = 0; s < Keys; ++s)
        products[r * Keys + s] = lanes<T>::multiply_add(query, x[s], products[r * Keys + s]);
    }
  };
  std::size_t i = 0;
  for (; i + line <= dims; i += line) {
    for (std::size_t s = 0; s < Keys; ++s) k.template prefetch<line>(s, i);
#pragma GCC unroll 8
    for (std::size_t j = 0; j < line; j += size) add(i, j);
  }
  for (; i + size <= dims; i += size) add(i);
  if constexpr (Rows * Keys == size) {
    lanes<T>::store(sums.data(), lanes<T>::sums(products));
  } else {
    for (std::size_t n = 0; n < sums.size(); ++n) sums[n] = lanes<T>::sum(products[n]);
  }
  for (; i < dims; ++i) {
    for (std::size_t s = 0; s < Keys; ++s) {
      auto const key = k.load_one(s, i);
      for (std::size_t r = 0; r < Rows; ++r) sums[r * Keys + s] += q[r * dims + i] * key;
    }
  }
  return sums;
}

/// How many heads of a format are decoded at a time, if they are.
inline constexpr std::size_t most_decoded = 16;
/// The place of decoded heads, behind tiles; they are floats, as the tiles then are.
template <class S>
float* decoded_heads([[maybe_unused]] auto* behind_tiles) noexcept {
  if constexpr (head_codes<S>::decodes) return behind_tiles;
  return nullptr;
}

/// scores = scale times the sums of of_block, [heads][rows][keys]. of_block(c, keys): [Rows][keys],
/// rows c to c + Rows of [heads][padded_rows] and a block of keys. tiles:
/// [heads][padded_rows][tile_tokens].
template <std::size_t Rows, std::floating_point T, class S>
void tiles_of_scores(T* scores, T scale, std::size_t rows, auto const& k, T* tiles,
                     auto const& of_block) noexcept {
  constexpr std::size_t at_once = std::max<std::size_t>(lanes<T>::size / Rows, 1);
  auto const keys = k.tokens(), padded = rounded_up(rows, Rows), columns = k.heads() * padded;
  for_runs(keys, [&](token_run const& run) {
    run_reader<S, at_once, std::remove_cvref_t<decltype(k)>> reader(
        k, run, decoded_heads<S>(tiles + columns * tile_tokens));
    for (std::size_t from = 0; from < run.count; from += tile_tokens) {
      auto const to = std::min(from + tile_tokens, run.count);
      reader.read(from, to, [=](std::size_t head, std::size_t i, auto const& block) {
        for (auto c = head * padded; c < (head + 1) * padded; c += Rows) {
          auto const sums = of_block(c, block);
          auto* const tile = tiles + c * tile_tokens;
          if constexpr (transposes<T, Rows, at_once>) {
            lanes<T>::store(tile + (i - from) * Rows, lanes<T>::load(sums.data()));
          } else {
            auto* const first = tile + tile_index(i - from);
            for (std::size_t r = 0; r < Rows; ++r) {
              for (std::size_t s = 0; s < at_once; ++s)
                first[r * tile_tokens + tile_index(s)] = sums[r * at_once + s];
            }
          }
        }
      });
      if constexpr (transposes<T, Rows, at_once>) {
        for (auto* x = tiles; x < tiles + columns * tile_tokens; x += Rows * tile_tokens)
          transpose_square(x);
      }
      scale_tile(reader, run, from, to, k.heads(), rows, scale,
                 [=](std::size_t head, std::size_t row, std::size_t token, std::size_t index)
                     POSENC_INLINED {
                       auto* const place = scores + (head * rows + row) * keys + token;
                       prefetch_into_l1(place + stream_tokens);
                       return std::pair(place, tiles + (head * padded + row) * tile_tokens + index);
                     });
    }
  });
}

/// scores = scale * q k^T, [heads][rows][keys] and q [heads][padded_rows][head_dim] dense, for the
/// same few rows of every head. As many keys are read at once as make a register of scores with
/// four rows, or else with one. Memory: tiles [heads][padded_rows][tile_tokens], and
/// behind them, of a format that is decoded, most_decoded heads.
template <std::floating_point T, class S>
void few_scores(T* scores, T scale, T const* q, std::size_t rows, auto const& k,
                T* tiles) noexcept {
  if (k.heads() == 0 || k.tokens() == 0) return;
  auto const of_rows = [=, &k, dims = k.head_dim()]<std::size_t Rows>() {
    tiles_of_scores<Rows, T, S>(scores, scale, rows, k, tiles,
                                [=](std::size_t c, auto const& keys) POSENC_INLINED {
                                  return block_scores<Rows>(q + c * dims, keys, dims);
                                });
  };
  if (rows_at_once(rows) != 4) {
    of_rows.template operator()<1>();
  } else if constexpr (has_nibble_scores<T, S>) {
    nibble_scores<4, S>(scores, scale, q, rows, k);
  } else {
    of_rows.template operator()<4>();
  }
  if constexpr (head_codes<S>::has_factors || has_nibble_scores<T, S>)
    finish_scores<T, S>(scores, scale, q, rows, padded_rows(rows), k);
}

/// sums[r] += sum_s weights[r][s] values[s] of Rows queries, for Width registers of each value.
/// sums: a row is `dims` long; weights: [Rows][tile_tokens], from the index of the first value on.
template <std::size_t Width, std::size_t Rows, std::floating_point T, class S, std::size_t Count>
POSENC_ALWAYS_INLINE inline void add_columns(T* sums, std::size_t dims, T const* weights,
                                             head_block<S, Count> const& v, std::size_t first,
                                             std::size_t offset = 0) noexcept {
  using number = typename lanes<T>::number;
  constexpr std::size_t size = lanes<T>::size;
  auto const column = first + offset;
  number of_rows[Rows][Width], value[Width];
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t j = 0; j < Width; ++j)
      of_rows[r][j] = lanes<T>::load(sums + r * dims + column + j * size);
  }
  for (std::size_t s = 0; s < Count; ++s) v.template prefetch<Width * size>(s, column);
#pragma GCC unroll 8
  for (std::size_t s = 0; s < Count; ++s) {
    for (std::size_t j = 0; j < Width; ++j) value[j] = v.load(s, first, offset + j * size);
    for (std::size_t r = 0; r < Rows; ++r) {
      number const weight(weights[r * tile_tokens + tile_index(s)]);
      for (std::size_t j = 0; j < Width; ++j)
        of_rows[r][j] = lanes<T>::multiply_add(weight, value[j], of_rows[r][j]);
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t j = 0; j < Width; ++j)
      lanes<T>::store(sums + r * dims + column + j * size, of_rows[r][j]);
  }
}

/// The same for whole values.
template <std::size_t Rows, std::floating_point T, class S, std::size_t Count>
POSENC_ALWAYS_INLINE inline void add_values(T* sums, std::size_t dims, T const* weights,
                                            head_block<S, Count> const& v) noexcept {
  constexpr std::size_t size = lanes<T>::size, wide = has_32_registers ? 4 : 2;
  std::size_t i = 0;
  constexpr auto line = std::max<std::size_t>(wide * size, 32);
  for (; i + line <= dims; i += line)
    unrolled<line / (wide * size)>([&](std::size_t n) POSENC_INLINED {
      add_columns<wide, Rows>(sums, dims, weights, v, i, n * wide * size);
    });
  for (; i + size <= dims; i += size) add_columns<1, Rows>(sums, dims, weights, v, i);
  for (; i < dims; ++i) {
    for (std::size_t r = 0; r < Rows; ++r) {
      for (std::size_t s = 0; s < Count; ++s)
        sums[r * dims + i] += weights[r * tile_tokens + tile_index(s)] * v.load_one(s, i);
    }
  }
}

/// The outputs of Rows rows at a time.
template <std::size_t Rows, std::floating_point T, class S>
void few_outputs(T* outputs, T const* weights, std::size_t rows, auto const& v, T* sums,
                 T* tiles) noexcept {
  constexpr std::size_t at_once = 2 * streams;
  auto const keys = v.tokens(), dims = v.head_dim(), padded = rounded_up(rows, Rows),
             columns = v.heads() * padded;
  for_runs(keys, [&](token_run const& run) {
    run_reader<S, at_once, std::remove_cvref_t<decltype(v)>> reader(
        v, run, decoded_heads<S>(tiles + columns * tile_tokens));
    std::fill_n(sums, columns * dims, T{0});
    for (std::size_t from = 0; from < run.count; from += tile_tokens) {
      auto const to = std::min(from + tile_tokens, run.count);
      if (to - from < tile_tokens) std::fill_n(tiles, columns * tile_tokens, T{0});
      scale_tile(reader, run, from, to, v.heads(), rows, T{1},
                 [=](std::size_t head, std::size_t row, std::size_t token, std::size_t index)
                     POSENC_INLINED {
                       return std::pair(tiles + (head * padded + row) * tile_tokens + index,
                                        weights + (head * rows + row) * keys + token);
                     });
      reader.read(from, to, [=](std::size_t head, std::size_t i, auto const& block) {
        for (auto c = head * padded; c < (head + 1) * padded; c += Rows) {
          add_values<Rows>(sums + c * dims, dims, tiles + c * tile_tokens + tile_index(i - from),
                           block);
        }
      });
    }
    for (std::size_t head = 0; head < v.heads(); ++head) {
      for (std::size_t n = 0; n < rows * dims; ++n)
        outputs[head * rows * dims + n] += sums[head * padded * dims + n];
    }
  });
}

/// outputs += weights v, [heads][rows][value_dim] and weights [heads][rows][keys] dense. Values are
/// summed in runs, then the sums of the runs, so that rounding errors do not grow with the cache.
/// Memory: sums [heads][padded_rows][value_dim]; tiles as few_scores has them.
template <std::floating_point T, class S>
void few_outputs(T* outputs, T const* weights, std::size_t rows, auto const& v, T* sums,
                 T* tiles) noexcept {
  if (v.heads() == 0 || v.tokens() == 0) return;
  if (rows_at_once(rows) == 4) return few_outputs<4, T, S>(outputs, weights, rows, v, sums, tiles);
  few_outputs<1, T, S>(outputs, weights, rows, v, sums, tiles);
}

}}}  // namespace posenc::detail
