// The two products of decoding by the CPU's dot products, for dot_products.hpp.
#pragma once

#include "posenc/decode/dot_codes.hpp"

#if defined(POSENC_HAS_DOT_PRODUCTS)

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/decode_products.hpp"
#include "posenc/decode/run_reader.hpp"
#include "posenc/decode/whole_lines.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/x86_dot_products.hpp"

POSENC_QUIET_BEGIN

namespace posenc::inline POSENC_TARGET::detail {

/// The products of Rows queries and 16 / Rows keys, [Rows][keys]; of one query, its keys in the
/// order of tile_index. q: a row has `stride` bytes.
template <std::size_t Rows, class S>
[[gnu::always_inline]] inline auto dots(std::byte const* q, std::size_t stride,
                                        head_block<S, 16 / Rows> const& k,
                                        std::size_t dims) noexcept {
  using lane_sums = typename dot_codes<S>::sums;
  constexpr auto keys = 16 / Rows;
  typename lane_sums::number sums[16];
  for (auto& x : sums) x = typename lane_sums::number{};
  in_registers<S>(dims, [&](std::size_t i, loaded_bytes which) POSENC_INLINED {
    register_of_bytes x[keys];
    prefetch(k, i);
    for (std::size_t s = 0; s < keys; ++s) x[s] = load_codes<S, false>(k.heads[s], i, which);
    for (std::size_t r = 0; r < Rows; ++r) {
      auto const query = load_64(q + r * stride + i);
      for (std::size_t s = 0; s < keys; ++s) {
        auto& sum = sums[r * keys + (Rows > 1 ? s : s % streams * streams + s / streams)];
        sum = lane_sums::add(sum, x[s], query);
      }
    }
  });
  lanes<float>::number floats[16];
  for (std::size_t n = 0; n < 16; ++n) floats[n] = lane_sums::as_floats(sums[n]);
  return lanes<float>::sums(floats);
}

/// As few_scores, by dot products.
template <std::size_t Rows, class S>
void dot_scores(float* scores, float scale, float const* q, std::size_t rows, auto const& k) {
  constexpr auto keys = 16 / Rows;
  constexpr bool are_integers = dot_codes<S>::are_integers;
  auto const tokens = k.tokens(), dims = k.head_dim(), columns = k.heads() * rows;
  dot_queries<S> queries(q, columns, dims);
  auto const* const codes = queries.bytes.data();
  auto const stride = queries.stride;
  whole_lines<float> memory(columns * tile_tokens);
  auto* const near = memory.data();
  code_meanings<S> meanings(k.heads());
  for_runs(tokens, [&](token_run const& run) {
    run_reader<S, keys, std::remove_cvref_t<decltype(k)>> reader(k, run);
    for (std::size_t from = 0; from < run.count; from += tile_tokens) {
      auto const to = std::min(from + tile_tokens, run.count);
      if constexpr (are_integers) meanings.read(reader, from, to);
      reader.read(from, to, [=, &reader, &run](std::size_t head, std::size_t i, auto const& block) {
        code_meanings<S>::template prefetch_next<keys>(reader, head, i, run.count);
        for (auto c = head * rows; c < (head + 1) * rows; c += Rows) {
          auto const x = dots<Rows>(codes + c * stride, stride, block, dims);
          if constexpr (Rows > 1) {
            lanes<float>::store(near + c * tile_tokens + (i - from) * Rows, x);
          } else {
            std::array<float, 16> of_places;
            lanes<float>::store(of_places.data(), x);
            for (std::size_t s = 0; s < streams; ++s)
              std::copy_n(of_places.data() + s * streams, streams,
                          near + c * tile_tokens + tile_index(i - from + s));
          }
        }
      });
      for (std::size_t c = 0; c < columns; ++c) {
        auto* const row = near + c * tile_tokens;
        if (Rows > 1 && c % Rows == 0) transpose_square(row);
        if constexpr (are_integers) meanings.apply(row, c / rows, queries.sums[c]);
        auto const factor = scale * queries.scales[c];
        run.for_neighbours(from, to, [&](std::size_t token, std::size_t place, auto count) {
          auto* const to_row = scores + c * tokens + token;
          for (std::size_t n = 0; n < count; ++n) to_row[n] = factor * row[place + n];
        });
      }
    }
  });
}

/// sums[r] += weights[r] v, for `rows` rows of one head. A row of sums has `stride` numbers, each
/// 64 in the order of in_turn. weights: codes of make_codes, from those of the first token on.
template <class S, std::size_t Count>
[[gnu::always_inline]] inline void add_dots(std::int32_t* sums, std::size_t stride,
                                            std::byte const* weights, std::size_t rows,
                                            head_block<S, Count> const& v,
                                            std::size_t dims) noexcept {
  constexpr std::size_t turns = Count / streams;
  in_registers<S>(dims, [&](std::size_t i, loaded_bytes which) POSENC_INLINED {
    register_of_bytes x[turns][streams];
    prefetch(v, i);
#pragma GCC unroll 8
    for (std::size_t g = 0; g < turns; ++g) {
      register_of_bytes each[streams];
      for (std::size_t s = 0; s < streams; ++s)
        each[s] = load_codes<S, true>(v.heads[g * streams + s], i, which);
      in_turn(each, x[g]);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      auto* const to = sums + r * stride + i;
      integer_sums::number sum[streams];
      for (std::size_t j = 0; j < streams; ++j) sum[j] = integer_sums::load(to + 16 * j);
#pragma GCC unroll 8
      for (std::size_t g = 0; g < turns; ++g) {
        auto const weight = four_bytes(weights + r * tile_tokens + 4 * g);
        for (std::size_t j = 0; j < streams; ++j)
          sum[j] = integer_sums::add(sum[j], weight, x[g][j]);
      }
      for (std::size_t j = 0; j < streams; ++j) integer_sums::store(to + 16 * j, sum[j]);
    }
  });
}

/// sums += unit dots, and dots = 0. stride: of whole registers.
inline void take_dots(float* sums, float unit, std::int32_t* dots, std::size_t stride) noexcept {
  for (std::size_t n = 0; n < stride; n += 16) {
    auto const dot = integer_sums::as_floats(integer_sums::load(dots + n)),
               sum = lanes<float>::load(sums + n);
    lanes<float>::store(sums + n, lanes<float>::multiply_add(lanes<float>::number(unit), dot, sum));
    integer_sums::store(dots + n, integer_sums::number{});
  }
}
/// to[i] += plain + the sum of dim i, where sums are in the order of in_turn.
inline void add_in_order(float* to, float const* sums, float plain, std::size_t dims) noexcept {
  for (std::size_t i = 0; i < dims; i += 4) {
    auto const* const four = sums + i / 64 * 64 + i / 4 % 4 * 16 + i % 64 / 16 * 4;
    for (std::size_t n = 0; n < std::min<std::size_t>(4, dims - i); ++n)
      to[i + n] += four[n] + plain;
  }
}

/// As few_outputs, by dot products of integers.
template <class S>
void dot_outputs(float* outputs, float const* weights, std::size_t rows, auto const& v) {
  constexpr std::size_t at_once = 16;
  auto const tokens = v.tokens(), dims = v.head_dim(), columns = v.heads() * rows,
             stride = rounded_up(dims, 64);
  whole_lines<float> near_memory(columns * tile_tokens), sum_memory(columns * stride);
  whole_lines<std::byte> code_memory(columns * tile_tokens);
  whole_lines<std::int32_t> dot_memory(columns * stride);
  auto *const near = near_memory.data(), *const sums = sum_memory.data();
  auto* const codes = code_memory.data();
  auto* const dots_of_near = dot_memory.data();
  std::vector<float> units(columns), plain(columns);
  code_meanings<S> meanings(v.heads());
  for_runs(tokens, [&](token_run const& run) {
    run_reader<S, at_once, std::remove_cvref_t<decltype(v)>> reader(v, run);
    std::fill_n(sums, columns * stride, 0.0f), std::ranges::fill(plain, 0.0f);
    for (std::size_t from = 0; from < run.count; from += tile_tokens) {
      auto const to = std::min(from + tile_tokens, run.count);
      if (to - from < tile_tokens) std::fill_n(near, columns * tile_tokens, 0.0f);
      meanings.read(reader, from, to);
      for (std::size_t c = 0; c < columns; ++c) {
        auto* const row = near + c * tile_tokens;
        run.for_neighbours(from, to, [&](std::size_t token, std::size_t place, auto count) {
          std::copy_n(weights + c * tokens + token, count, row + place);
        });
        plain[c] += meanings.multiply(row, c / rows);
        units[c] = make_codes(row, codes + c * tile_tokens);
      }
      reader.read(from, to, [=, &reader, &run](std::size_t head, std::size_t i, auto const& block) {
        code_meanings<S>::template prefetch_next<at_once>(reader, head, i, run.count);
        auto const c = head * rows;
        add_dots<S>(dots_of_near + c * stride, stride, codes + c * tile_tokens + (i - from), rows,
                    block, dims);
      });
      for (std::size_t c = 0; c < columns; ++c)
        take_dots(sums + c * stride, units[c], dots_of_near + c * stride, stride);
    }
    for (std::size_t c = 0; c < columns; ++c)
      add_in_order(outputs + c * dims, sums + c * stride, plain[c], dims);
  });
}

}  // namespace posenc::detail

POSENC_QUIET_END

#endif
