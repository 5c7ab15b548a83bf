// Outputs of few queries and codes of 8 bits, by the CPU's dot products.
#pragma once

#include "posenc/simd/x86_dot_products.hpp"

#if defined(POSENC_HAS_DOT_PRODUCTS)

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/core/compiler.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/detail/dot_blocks.hpp"
#include "posenc/decode/detail/run_reader.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/simd/codes.hpp"
#include "posenc/simd/lanes.hpp"

POSENC_QUIET_BEGIN

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The weights of a tile times the scales of their values, as codes of 8 bits, [rows][tile_tokens]:
/// those of one token of each stream are neighbours.
template <class F>
struct scaled_weights {
  using number = lanes<float>::number;
  line_vector<std::byte> codes;
  std::vector<float> units, plain;   ///< of each row; what each of its outputs lacks
  std::vector<float> scales, zeros;  ///< of has_zero_points, [heads][tile_tokens]

  scaled_weights(std::size_t heads, std::size_t rows)
      : codes(heads * rows * tile_tokens),
        units(heads * rows),
        plain(heads * rows),
        scales(has_zero_points<F> ? heads * tile_tokens : 0),
        zeros(scales.size()) {}

  /// tiles: [heads][rows][tile_tokens], the weights of tokens [from, to) of a run.
  void encode(float* tiles, std::size_t rows, auto const& reader, std::size_t from,
              std::size_t to) noexcept {
    if constexpr (has_zero_points<F>) {
      std::ranges::fill(scales, 1.0f), std::ranges::fill(zeros, 0.0f);
      for (auto i = from; i < to; ++i) {  // in the order of memory
        for (std::size_t first = 0; first < scales.size(); first += tile_tokens) {
          auto const* const head = reader.head_of(i, first / tile_tokens);
          auto const at = first + tile_index(i - from);
          scales[at] = number_at<float>(head), zeros[at] = number_at<float>(head + 4);
        }
      }
    }
    for (std::size_t c = 0; c < units.size(); ++c) {
      auto* const row = tiles + c * tile_tokens;
      if constexpr (has_zero_points<F>) {  // whose values are read as signed codes, less 128
        number sum(0.0f);
        for (std::size_t n = 0, at = c / rows * tile_tokens; n < tile_tokens; n += 16, at += 16) {
          auto const x = lanes<float>::load(row + n) * lanes<float>::load(&scales[at]);
          lanes<float>::store(row + n, x);
          sum = lanes<float>::multiply_add(x, number(128.0f) - lanes<float>::load(&zeros[at]), sum);
        }
        plain[c] += lanes<float>::sum(sum);
      }
      largest_float const most(row);
      units[c] = most.number / 255;
      number const inverse(255 * most.inverse);
      code_bits<number>::bits all(0u);
      for (std::size_t s = 0; s < streams; ++s) {
        auto const code = nearest(lanes<float>::load(row + s * stream_tokens) * inverse);
        all |= (code & decltype(code)(0xffu)) << static_cast<int>(8 * s);
      }
      all.store_unaligned(reinterpret_cast<std::uint32_t*>(codes.data() + c * tile_tokens));
    }
  }
};

/// Where values have groups: the weights of a tile as parts of the largest of each row,
/// [rows][16][streams]. Codes are made of these and the scales of 16 values.
struct unscaled_weights {
  using number = lanes<float>::number;
  struct alignas(64) group_factors {
    number of[2], units[2];  ///< of 16 weights each, what makes codes of 8 bits of them; of these
  };
  std::vector<float> largest, plain;   ///< of each row; 0, for that of scaled_weights
  std::vector<std::uint32_t> seen;     ///< [heads][4]: of 16 tokens those with a weight in any row
  std::vector<group_factors> factors;  ///< of two blocks alternately

  unscaled_weights(std::size_t heads, std::size_t rows)
      : largest(heads * rows), plain(heads * rows), seen(4 * heads) {}

  /// As scaled_weights.
  void encode(float* tiles, std::size_t rows, auto const&, std::size_t, std::size_t) noexcept {
    std::ranges::fill(seen, 0u);
    for (std::size_t c = 0; c < largest.size(); ++c) {
      auto* const row = tiles + c * tile_tokens;
      largest_float const most(row);
      for (std::size_t n = 0; n < tile_tokens; n += 16)
        lanes<float>::store(row + n, lanes<float>::load(row + n) * number(most.inverse));
      transpose_four(row);
      largest[c] = most.number;
      for (std::size_t n = 0; n < 4; ++n)
        seen[c / rows * 4 + n] |= which_are_some(lanes<float>::load(row + 16 * n));
    }
  }
  /// Of the scales of two groups. Values without a weight, hidden tokens among them, do not count.
  template <class F>
  static void find(group_factors& to, head_block<F, 16> const& v, dims_64<F> const& at,
                   std::uint32_t with_weight) noexcept {
    for (std::size_t half = 0; half < 2; ++half) {
      auto const x =
          only(with_weight, half_of_each(v.heads.data(), half == 0 ? at.first : at.second));
      largest_float const most(x);
      to.of[half] = x * number(255 * most.inverse), to.units[half] = number(most.number / 255);
    }
  }
};

/// sums += weights values of a tile, tokens [from, to) of a run. What a block needs is captured by
/// value: g++ would load it anew for each.
template <class F>
[[gnu::always_inline]] inline void add_tile(float* sums, scaled_weights<F>& weights, float const*,
                                            auto& reader, token_run const& run, std::size_t from,
                                            std::size_t to, std::size_t rows, std::size_t dims) {
  auto const registers = rounded_up(dims, 64) / 64;
  auto const add = [=, &reader, &run, codes = weights.codes.data(), units = weights.units.data()](
                       std::size_t head, std::size_t i, auto const& block) {
    for (auto n = i + tile_tokens; has_zero_points<F> && n < i + tile_tokens + 16; ++n)
      prefetch_into_l1(reader.head_of(std::min(n, run.count - 1), head));
    for (std::size_t n = 0; n < registers; ++n) {
      values_64<F> const values(block, {n, dims});
      for (auto c = head * rows; c < (head + 1) * rows; ++c) {
        auto const* const of_row = codes + c * tile_tokens + (i - from);
        lanes<float>::number const unit(units[c]);
        values.add_to(sums + (c * registers + n) * 64, of_row, of_row, unit, unit);
      }
    }
  };
  reader.read(from, to, add);
}
/// Where values have groups, their factors are found a block before their codes are read: a CPU
/// waits long for them.
template <class F>
[[gnu::always_inline]] inline void add_tile(float* sums, unscaled_weights& weights,
                                            float const* tiles, auto& reader, token_run const&,
                                            std::size_t from, std::size_t to, std::size_t rows,
                                            std::size_t dims) {
  auto const registers = rounded_up(dims, 64) / 64;
  weights.factors.resize(2 * registers);
  auto* const factors = weights.factors.data();
  struct {
    head_block<F, 16> block;
    std::size_t head = 0, index = 0, second = 0;  ///< second: of the two blocks of factors
  } last;
  auto const add = [=, largest = weights.largest.data()](auto const& x) {
    for (std::size_t n = 0; n < registers; ++n) {
      values_64<F> const values(x.block, {n, dims});
      auto const& of = factors[x.second * registers + n];
      for (auto c = x.head * rows; c < (x.head + 1) * rows; ++c) {
        std::byte codes[2][16];
        auto const weight = lanes<float>::load(tiles + c * tile_tokens + x.index);
        for (std::size_t half = 0; half < 2; ++half)
          store_bytes(codes[half], nearest(weight * of.of[half]).data);
        lanes<float>::number const most(largest[c]);
        values.add_to(sums + (c * registers + n) * 64, codes[0], codes[1], most * of.units[0],
                      most * of.units[1]);
      }
    }
  };
  auto const find_and_add = [=, &last, seen = weights.seen.data()](std::size_t head, std::size_t i,
                                                                   auto const& block) {
    for (std::size_t n = 0; n < registers; ++n)
      unscaled_weights::find(factors[(1 - last.second) * registers + n], block, dims_64<F>(n, dims),
                             seen[head * 4 + (i - from) / 16]);
    if (i > from || head > 0) add(last);
    last = {block, head, i - from, 1 - last.second};
  };
  reader.read(from, to, find_and_add);
  add(last);
}

/// few_outputs, by dot products.
template <class F>
void dot_outputs(float* outputs, float const* weights, std::size_t rows, auto const& v) {
  auto const tokens = v.tokens(), dims = v.head_dim(), columns = v.heads() * rows,
             registers = rounded_up(dims, 64) / 64, stride = registers * 64;
  line_vector<float> tile_memory(columns * tile_tokens), sum_memory(columns * stride);
  auto *const tiles = tile_memory.data(), *const sums = sum_memory.data();
  std::conditional_t<has_groups<F>, unscaled_weights, scaled_weights<F>> encoded(v.heads(), rows);
  for_runs(tokens, [&](token_run const& run) {
    run_reader<F, 16, std::remove_cvref_t<decltype(v)>> reader(v, run);
    std::fill_n(sums, columns * stride, 0.0f);
    std::ranges::fill(encoded.plain, 0.0f);
    for (std::size_t from = 0; from < run.count; from += tile_tokens) {
      auto const to = std::min(from + tile_tokens, run.count);
      if (to - from < tile_tokens) std::fill_n(tiles, columns * tile_tokens, 0.0f);
      scale_tile(reader, run, from, to, v.heads(), rows, 1.0f,
                 [&](std::size_t c, std::size_t token, std::size_t index) {
                   return std::pair(tiles + c * tile_tokens + index, weights + c * tokens + token);
                 });
      encoded.encode(tiles, rows, reader, from, to);
      add_tile<F>(sums, encoded, tiles, reader, run, from, to, rows, dims);
    }
    for (std::size_t c = 0; c < columns; ++c) {
      auto const plain = encoded.plain[c];  // else loaded anew behind each store
      for (std::size_t i = 0; i < dims; i += 4) {
        auto const* const four = sums + c * stride + values_64<F>::index_of(i);
        for (std::size_t n = 0; n < std::min<std::size_t>(4, dims - i); ++n)
          outputs[c * dims + i + n] += four[n] + plain;
      }
    }
  });
}

}}}  // namespace posenc::detail

POSENC_QUIET_END

#endif
