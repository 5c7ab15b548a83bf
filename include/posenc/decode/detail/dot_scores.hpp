// Scores of few queries and codes of 8 bits, by the CPU's dot products.
#pragma once

#include "posenc/simd/x86_dot_products.hpp"

#if defined(POSENC_HAS_DOT_PRODUCTS)

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "posenc/cache/integer_formats.hpp"
#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/detail/decode_products.hpp"
#include "posenc/decode/detail/dot_blocks.hpp"
#include "posenc/decode/detail/finite_scores.hpp"
#include "posenc/decode/detail/run_reader.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/simd/lanes.hpp"

POSENC_QUIET_BEGIN

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// 64 dims of a query, rounded as int8_per_head rounds a head, or each group. Two groups alternate
/// by eight dims, and so do begins and scales: a a b b.
struct alignas(32) query_codes {
  std::byte codes[64];
  std::int32_t begins[4];  ///< -128 times the sum of the codes; of a head in its first 64 dims
  float scales[4];
};

/// q [rows][dims] as [rows][registers].
template <class F>
std::vector<query_codes> codes_of_queries(float const* q, std::size_t rows, std::size_t dims) {
  auto const registers = rounded_up(dims, 64) / 64, group = has_groups<F> ? std::size_t{32} : dims;
  std::vector<query_codes> all(rows * registers);
  std::vector<std::byte> codes(group);
  for (std::size_t row = 0; row < rows; ++row) {
    auto* const of_row = all.data() + row * registers;
    for (std::size_t first = 0; first < dims; first += group) {
      std::byte scale[4];
      int8_per_head().encode({q + row * dims + first, group}, codes.data(), scale);
      auto const second = first % 64 / 32;  // of two groups
      auto& begin = of_row[first / 64].begins[2 * second];
      for (std::size_t i = first; i < first + group; ++i) {
        auto const code = codes[i - first];
        begin -= 128 * static_cast<std::int8_t>(code);
        of_row[i / 64].codes[has_groups<F> ? i % 32 / 8 * 16 + second * 8 + i % 8 : i % 64] = code;
      }
      std::fill_n(of_row[first / 64].scales + 2 * second, has_groups<F> ? 2 : 4,
                  number_at<float>(scale));
    }
  }
  return all;
}

/// The scores of Rows queries and 16 / Rows keys, [Rows][keys]. Each four keys are transposed by
/// 16 bytes: a register has the same dims of each, and a quarter of a sum is of one key.
template <std::size_t Rows, class F>
[[gnu::always_inline]] inline std::array<float, 16> block_dots(query_codes const* q,
                                                               std::size_t registers,
                                                               head_block<F, 16 / Rows> const& k,
                                                               std::size_t dims) noexcept {
  constexpr std::size_t quads = 4 / Rows;  // of keys
  using floats = lanes<float>;
  floats::number scores[4];
  integer_sums::number sums[4];
  for (std::size_t n = 0; n < 4; ++n) {
    scores[n] = floats::number(0.0f), sums[n] = integer_sums::number{};
    if constexpr (!has_zero_points<F>)
      sums[n] = integer_sums::load(q[n / quads * registers].begins);
  }
  for (std::size_t i = 0; i < registers; ++i) {
    dims_64<F> const at(i, dims);
    for (std::size_t quad = 0; quad < quads; ++quad) {
      auto const* const heads = k.heads.data() + 4 * quad;
      register_of_bytes x[4], parts[4];
      for (std::size_t s = 0; s < 4; ++s) at.prefetch(k, 4 * quad + s);
      for (std::size_t s = 0; s < 4; ++s) {
        x[s] = at.load(heads[s]);
        if constexpr (!has_zero_points<F>) x[s] = other_sign(x[s]);
      }
      transpose_quarters(x, parts);
      floats::number factors;
      if constexpr (has_groups<F>)
        factors =
            low_halves(halves_of(word_of_each(heads, at.first), word_of_each(heads, at.second)));
      for (std::size_t r = 0; r < Rows; ++r) {
        auto const& query = q[r * registers + i];
        auto& sum = sums[r * quads + quad];
        if constexpr (has_groups<F>) sum = integer_sums::load(query.begins);
        for (std::size_t j = 0; j < 4; ++j)
          sum = integer_sums::add(sum, parts[j], sixteen_bytes(query.codes + 16 * j));
        if constexpr (has_groups<F>) {
          auto& score = scores[r * quads + quad];
          score = floats::multiply_add(integer_sums::as_floats(sum),
                                       factors * floats_of(sixteen_bytes(query.scales)), score);
        }
      }
    }
  }
  for (std::size_t n = 0; n < 4 && !has_groups<F>; ++n) {
    auto const& query = q[n / quads * registers];
    auto score = integer_sums::as_floats(sums[n]);
    if constexpr (has_zero_points<F>) {  // (code - zero) scale
      auto const* const heads = k.heads.data() + 4 * (n % quads);
      auto const zeros = floats_of(word_of_each(heads, 4)) * floats::number(1.0f / 128);
      auto const begins = integer_sums::as_floats(integer_sums::load(query.begins));
      score = floats::multiply_add(zeros, begins, score) * floats_of(word_of_each(heads, 0));
    }
    scores[n] = score * floats_of(sixteen_bytes(query.scales));
  }
  return std::bit_cast<std::array<float, 16>>(sums_of_quarters(scores));
}

/// few_scores, by dot products.
template <class F>
void dot_scores(float* scores, float scale, float const* q, std::size_t rows, auto const& k,
                float* tiles) {
  if (k.heads() == 0 || k.tokens() == 0) return;
  auto const dims = k.head_dim(), registers = rounded_up(dims, 64) / 64;
  auto const codes = codes_of_queries<F>(q, k.heads() * padded_rows(rows), dims);
  auto const of_rows = [=, &k, first = codes.data()]<std::size_t Rows>() {
    tiles_of_scores<Rows, float, F>(
        scores, scale, rows, k, tiles, [=](std::size_t c, auto const& keys) POSENC_INLINED {
          return block_dots<Rows>(first + c * registers, registers, keys, dims);
        });
  };
  if (rows_at_once(rows) == 4)
    of_rows.template operator()<4>();
  else if (rows == 2)
    of_rows.template operator()<2>();
  else
    of_rows.template operator()<1>();
  finish_scores<float, F>(scores, scale, q, rows, padded_rows(rows), k);
}

}}}  // namespace posenc::detail

POSENC_QUIET_END

#endif
