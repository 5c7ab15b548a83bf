// The two products of decoding q8_0 by the CPU's dot products, for dot_products.hpp.
#pragma once

#include "posenc/simd/x86_dot_products.hpp"

#if defined(POSENC_HAS_DOT_PRODUCTS)

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/decode_products.hpp"
#include "posenc/decode/run_reader.hpp"
#include "posenc/decode/whole_lines.hpp"
#include "posenc/simd/codes.hpp"
#include "posenc/simd/lanes.hpp"

POSENC_QUIET_BEGIN

namespace posenc::inline POSENC_TARGET::detail {

/// Where the two groups of 64 dims begin in a head. An odd last group is taken twice.
struct two_groups {
  static constexpr std::size_t bytes = q8_0::group + 2;
  std::size_t first, second;
  two_groups(std::size_t of_64, std::size_t groups) noexcept
      : first(2 * of_64 * bytes), second(std::min(2 * of_64 + 1, groups - 1) * bytes) {}
};

/// The codes of 64 dims of four queries, in the order of words_in_turn; 0 until encode writes them.
struct alignas(64) four_queries {
  std::byte codes[4][4][64];        ///< of each query, what words_in_turn makes of it four times
  std::int32_t begins[4][16] = {};  ///< what sums of unsigned codes of keys begin with
  float scales[4][16];

  /// Rounds 32 dims of query r as int8_per_head rounds a head. half: which of the two groups.
  void encode(std::size_t r, std::size_t half, float const* q, float scale) noexcept {
    constexpr auto group = q8_0::group;
    std::array<std::byte, group> of_group;
    std::array<std::byte, 4> of_scale;
    int8_per_head().encode({q, group}, of_group.data(), of_scale.data());
    for (std::size_t i = 0; i < group; i += 4) {
      std::int32_t sum = 0;
      for (std::size_t n = i; n < i + 4; ++n) sum += static_cast<std::int8_t>(of_group[n]);
      for (auto n = i / 16 * 4 + half * 8, end = n + 4; n < end; ++n) {
        std::copy_n(of_group.data() + i, 4, codes[r][i / 4 % 4] + n * 4);
        begins[r][n] -= 128 * sum, scales[r][n] = scale * number_at<float>(of_scale.data());
      }
    }
  }
};

/// The scores of four queries and four keys, [queries][keys]. q: `count` of 64 dims.
[[gnu::always_inline]] inline auto group_dots(four_queries const* q, std::size_t count,
                                              head_block<q8_0, 4> const& k,
                                              std::size_t groups) noexcept {
  lanes<float>::number sums[4];
  for (auto& x : sums) x = lanes<float>::number(0.0f);
  for (std::size_t i = 0; i < count; ++i, ++q) {
    two_groups const at(i, groups);
    register_of_bytes x[4], words[4];
    for (std::size_t s = 0; s < 4; ++s) prefetch_into_l1(k.later[s] + k.later_head + at.first);
    for (std::size_t s = 0; s < 4; ++s)
      x[s] = other_sign(load_32_twice(k.heads[s] + at.first + 2, k.heads[s] + at.second + 2));
    words_in_turn(x, words);
    auto const factors = low_halves(
        halves_of(word_of_each(k.heads.data(), at.first), word_of_each(k.heads.data(), at.second)));
    for (std::size_t r = 0; r < 4; ++r) {
      auto sum = integer_sums::load(q->begins[r]);
      for (std::size_t j = 0; j < 4; ++j)
        sum = integer_sums::add(sum, words[j], load_64(q->codes[r][j]));
      sums[r] = lanes<float>::multiply_add(integer_sums::as_floats(sum),
                                           factors * lanes<float>::load(q->scales[r]), sums[r]);
    }
  }
  return sums_of_quarters(sums);
}

/// As few_scores, by dot products.
inline void group_scores(float* scores, float scale, float const* q, std::size_t rows,
                         auto const& k) {
  auto const tokens = k.tokens(), dims = k.head_dim(), heads = k.heads(),
             of_head = rounded_up(rows, 4), columns = heads * of_head,
             registers = rounded_up(dims, 64) / 64;
  std::vector<four_queries> queries(columns / 4 * registers);
  for (std::size_t row = 0; row < heads * rows; ++row) {
    auto const c = padded_row(row, rows, of_head);
    for (std::size_t i = 0; i < dims; i += q8_0::group)
      queries[c / 4 * registers + i / 64].encode(c % 4, i / 32 % 2, q + row * dims + i, scale);
  }
  auto const* const codes = queries.data();
  whole_lines<float> memory(columns * tile_tokens);
  auto* const near = memory.data();
  for_runs(tokens, [&](token_run const& run) {
    run_reader<q8_0, 4, std::remove_cvref_t<decltype(k)>> reader(k, run);
    for (std::size_t from = 0; from < run.count; from += tile_tokens) {
      auto const to = std::min(from + tile_tokens, run.count);
      reader.read(from, to, [=](std::size_t head, std::size_t i, auto const& block) {
        for (auto c = head * of_head; c < (head + 1) * of_head; c += 4)
          lanes<float>::store(
              near + c * tile_tokens + (i - from) * 4,
              group_dots(codes + c / 4 * registers, registers, block, dims / q8_0::group));
      });
      for (std::size_t c = 0; c < columns; ++c) {
        auto* const row = near + c * tile_tokens;
        if (c % 4 == 0) transpose_square(row);
        if (c % of_head >= rows) continue;
        auto* const of_row = scores + (c / of_head * rows + c % of_head) * tokens;
        run.for_neighbours(from, to, [&](std::size_t token, std::size_t place, auto count) {
          std::copy_n(row + place, count, of_row + token);
        });
      }
    }
  });
}

/// Near weights of one row as parts of the largest of them, [turn][stream]. Returns that; NaN
/// unless all are finite and not negative.
inline float parts_of_largest(float* weights, float* to) noexcept {
  auto const most = largest_bits(weights, tile_tokens);
  lanes<float>::number const inverse(most >= 0x0080'0000 ? 1 / std::bit_cast<float>(most) : 0.0f);
  for (std::size_t n = 0; n < tile_tokens; n += 16)
    lanes<float>::store(weights + n, lanes<float>::load(weights + n) * inverse);
  transpose_four(weights, to);
  return std::bit_cast<float>(most < 0x7f80'0000 ? most : 0x7fc0'0000);
}

/// What makes codes of 8 bits of weights times the scales of 16 values, of two groups; and units of
/// these codes.
struct alignas(64) group_factors {
  lanes<float>::number of[2], units[2];

  /// seen: of those with a weight; what others hold, hidden tokens for one, does not count.
  void find(head_block<q8_0, 16> const& v, two_groups const& at, std::uint32_t seen) noexcept {
    auto const a = only(seen, half_of_each(v.heads.data(), at.first)),
               b = only(seen, half_of_each(v.heads.data(), at.second));
    code_units const x(a, b);
    of[0] = a * x.inverse_of_a, of[1] = b * x.inverse_of_b;
    units[0] = x.of_a, units[1] = x.of_b;
  }
};

/// sums += weights v, for 64 dims of `rows` rows, 16 values at a time. A row of sums has `stride`
/// numbers. Weights are parts of the largest[row], [row][tile_tokens].
[[gnu::always_inline]] inline void add_group_dots(float* sums, std::size_t stride,
                                                  float const* weights, float const* largest,
                                                  std::size_t rows, group_factors const& factors,
                                                  head_block<q8_0, 16> const& v,
                                                  two_groups const& at) noexcept {
  register_of_bytes x[4][4];
#pragma GCC unroll 4
  for (std::size_t t = 0; t < 4; ++t) {
    register_of_bytes each[streams];
    for (std::size_t s = 0; s < streams; ++s) {
      auto const n = t * streams + s;
      prefetch_into_l1(v.later[n] + v.later_head + at.first);
      each[s] = load_32_in_turn(v.heads[n] + at.first + 2, v.heads[n] + at.second + 2);
    }
    in_turn(each, x[t]);
  }
  for (std::size_t r = 0; r < rows; ++r, weights += tile_tokens, sums += stride) {
    std::byte codes[2][16];
    auto const weight = lanes<float>::load(weights);
    for (std::size_t n = 0; n < 2; ++n) store_bytes(codes[n], nearest(weight * factors.of[n]).data);
    integer_sums::number sum[4] = {};
#pragma GCC unroll 4
    for (std::size_t t = 0; t < 4; ++t) {
      for (std::size_t j = 0; j < 4; ++j)
        sum[j] = integer_sums::add(sum[j], four_bytes(codes[j / 2] + 4 * t), x[t][j]);
    }
    lanes<float>::number const most(largest[r]);
    for (std::size_t j = 0; j < 4; ++j)
      lanes<float>::store(
          sums + 16 * j,
          lanes<float>::multiply_add(most * factors.units[j / 2], integer_sums::as_floats(sum[j]),
                                     lanes<float>::load(sums + 16 * j)));
  }
}

/// As few_outputs, by dot products of integers.
inline void group_outputs(float* outputs, float const* weights, std::size_t rows, auto const& v) {
  auto const tokens = v.tokens(), dims = v.head_dim(), columns = v.heads() * rows,
             groups = dims / q8_0::group, registers = rounded_up(dims, 64) / 64,
             stride = registers * 64;
  whole_lines<float> near_memory(columns * tile_tokens), sum_memory(columns * stride),
      largest_memory(columns);
  auto *const near = near_memory.data(), *const sums = sum_memory.data(),
              *const largest = largest_memory.data();
  std::vector<group_factors> two_turns(2 * registers);
  auto* const factors = two_turns.data();
  std::vector<std::uint32_t> seen_by_rows(4 * v.heads());
  auto* const seen = seen_by_rows.data();
  for_runs(tokens, [&](token_run const& run) {
    run_reader<q8_0, 16, std::remove_cvref_t<decltype(v)>> reader(v, run);
    std::fill_n(sums, columns * stride, 0.0f);
    for (std::size_t from = 0; from < run.count; from += tile_tokens) {
      auto const to = std::min(from + tile_tokens, run.count);
      std::ranges::fill(seen_by_rows, 0u);
      for (std::size_t c = 0; c < columns; ++c) {
        alignas(64) std::array<float, tile_tokens> x = {};
        run.for_neighbours(from, to, [&](std::size_t token, std::size_t place, auto count) {
          std::copy_n(weights + c * tokens + token, count, x.data() + place);
        });
        largest[c] = parts_of_largest(x.data(), near + c * tile_tokens);
        for (std::size_t n = 0; n < 4; ++n)
          seen[c / rows * 4 + n] |=
              which_are_some(lanes<float>::load(near + c * tile_tokens + 16 * n));
      }
      // Factors are found a block before their codes are read: a CPU waits long for them.
      struct {
        head_block<q8_0, 16> block;
        std::size_t head = 0, place = 0, turn = 0;
      } last;
      auto const add = [=](auto const& x) {
        auto const c = x.head * rows;
        for (std::size_t n = 0; n < registers; ++n)
          add_group_dots(sums + c * stride + n * 64, stride, near + c * tile_tokens + x.place,
                         largest + c, rows, factors[x.turn * registers + n], x.block, {n, groups});
      };
      reader.read(from, to, [=, &last](std::size_t head, std::size_t i, auto const& block) {
        for (std::size_t n = 0; n < registers; ++n)
          factors[(1 - last.turn) * registers + n].find(block, {n, groups},
                                                        seen[head * 4 + (i - from) / 16]);
        if (i > from || head > 0) add(last);
        last = {block, head, i - from, 1 - last.turn};
      });
      add(last);
    }
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t i = 0; i < dims; i += 4) {
        auto const* const of_four =
            sums + c * stride + i / 32 * 32 + i / 4 % 2 * 16 + i % 32 / 8 * 4;
        for (std::size_t n = 0; n < 4; ++n) outputs[c * dims + i + n] += of_four[n];
      }
    }
  });
}

}  // namespace posenc::detail

POSENC_QUIET_END

#endif
