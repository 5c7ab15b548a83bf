// A format whose products attention may round, so that the CPU's own dot products of integers make
// them.
#pragma once

#include <concepts>

#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/simd/x86_dot_products.hpp"
#include "posenc/simd/x86_pair_products.hpp"

#if defined(POSENC_HAS_DOT_PRODUCTS)
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/cache/integer_formats.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/decode/detail/decode_products.hpp"
#include "posenc/decode/detail/finite_scores.hpp"
#include "posenc/decode/detail/run_reader.hpp"
#include "posenc/simd/codes.hpp"
#include "posenc/simd/lanes.hpp"
#endif

namespace posenc { inline namespace POSENC_TARGET {

/// Whether dot_products changes anything in code for this target: with AVX512-VNNI or AVX-VNNI.
/// Elsewhere products are exact.
inline constexpr bool has_dot_products = detail::multiplies_pairs;

/// A format, of whose keys or values attention may make rounded products, which are faster:
///
///     heads_view const k(dot_products(q8_0{}), k_pages, shape, slots), v(...);
///     heads_view const k(dot_products(numbers_of<bfloat16>{}), numbers, shape), v(...);
///     attention(q, k, v, encoding, options)
///
/// **Many rows**, more than 32 per kv head, as in a prompt, and any format: products of integers of
/// 16 bits. Queries and keys have one scale a head, s = |x|_2 / 32766 (the norm), so that no sum
/// leaves 32 bits. A score is off by at most
///
///     |scale| (s_q / 2 |k|_1 + s_k / 2 |q|_1 + head_dim s_q s_k / 4)
///
/// Values have s = |v|max / 4095, and weights e the step m / 8191: m is the largest e s of a row
/// and its keys among 512, which begin at a multiple of 512. Before softmax divides, an output is
/// off by at most
///
///     sum_t (e_t s_t / 2 + m_t / 16382 |c_t|)            c_t: the value's integer, up to 4095
///
/// For random numbers, the rms error is 3e-4 of the outputs' rms. Products are made of floats for
/// heads whose norm (for values: largest number) is beyond [2^-50, 2^50], and for NaN and
/// infinities.
///
/// **Few rows**, as in a step of decoding, where no encoding acts on keys, need a format of 8 bits
/// and AVX512-VNNI; products in others are exact. Keys of int8_per_head, int8_static or
/// u8_per_head: queries are rounded as int8_per_head rounds a head, with one scale s = max(|q|max /
/// 127, 1e-6), and the codes are multiplied as integers. A score is off by at most
///
///     |scale| sum_i s / 2 |k_i|
///
/// Keys of q8_0: the same with an s for each 32 dims of a query.
///
/// Values: the step of a weight times its value's scale is 1/255 of the largest such product of the
/// 64 tokens of a tile. q8_0, one query: the step is 1/255 of (the largest weight of the tile) x
/// (the largest scale of this group of dims among the 16 tokens read together, of those with a
/// weight in some row of the kv head); of more queries its outputs are exact. (Tokens of a tile are
/// 16 neighbours in each of four parts of the cache, 16 read together 4 of each.) Before softmax
/// divides, an output is off by
///
///     sum_t m / 510 |c_t|                m: 255 steps; c_t: a code, or one of u8 less 128
///
/// All this beside the rounding of sums in float; weights count as 0 if m is below 2^-118. A query
/// with a NaN or an infinity has outputs of NaN. The same bits for any split and any pages.
///
/// A format of your own has products of few rows too if it has codes_are (heads/format.hpp).
template <class Format>
struct dot_products : Format {
  static_assert(cache_format<Format>,
                "posenc: dot_products must be of a format, as q8_0{} or numbers_of<bfloat16>{}");

  explicit dot_products(Format const& format) : Format(format) {}  ///< reads and writes as `format`
};

namespace detail {

/// Whether decoding multiplies the codes of a format.
template <class F>
inline constexpr bool multiplies_codes = false;
template <class F>
requires requires { F::codes_are; }
inline constexpr bool multiplies_codes<dot_products<F>> = multiplies_bytes;

/// Whether heads are dot_products, or of a format that may say so as the program runs.
template <class F>
inline constexpr bool is_dot_products = false;
template <class F>
inline constexpr bool is_dot_products<dot_products<F>> = true;
template <class Heads>
concept may_round_products = is_dot_products<typename Heads::format_type> ||
    requires(Heads const& heads) {
  { heads.format().rounds_products() } -> std::same_as<bool>;
};
template <class Heads>
bool rounds_products(Heads const& heads) noexcept {
  if constexpr (is_dot_products<typename Heads::format_type>) {
    return true;
  } else if constexpr (may_round_products<Heads>) {
    return heads.format().rounds_products();
  } else {
    return false;
  }
}

template <class F>
inline constexpr bool has_groups = F::codes_are == code_layout::groups_of_32;
template <class F>
inline constexpr bool has_zero_points = F::codes_are == code_layout::scaled_uint8;

#if defined(POSENC_HAS_DOT_PRODUCTS)
POSENC_QUIET_BEGIN

/// The place of 64 dims of a head: the two groups that begin at these bytes, or the codes from
/// `first` on if there are no groups. An odd last group is taken twice.
template <class F>
struct dims_64 {
  std::size_t first, second = 0;
  loaded_bytes mask = 0;

  dims_64(std::size_t i, std::size_t dims) noexcept {
    if constexpr (has_groups<F>) {
      constexpr std::size_t bytes = 32 + 2;
      first = 2 * i * bytes;
      second = std::min(2 * i + 1, dims / 32 - 1) * bytes;
    } else {
      first = (has_zero_points<F> ? 8 : 0) + 64 * i;
      mask = first_bytes(dims - 64 * i);
    }
  }
  /// The codes; two groups alternately by eight.
  POSENC_ALWAYS_INLINE register_of_bytes load(std::byte const* head) const noexcept {
    if constexpr (has_groups<F>) {
      return load_alternately(head + first + 2, head + second + 2);
    } else {
      return load_64(head + first, mask);
    }
  }
  POSENC_ALWAYS_INLINE void prefetch(auto const& block, std::size_t s) const noexcept {
    prefetch_into_l1(block.later[s] + block.later_head + first);
  }
};

/// 64 dims of 16 values, the bytes of four streams interleaved.
template <class F>
struct values_64 {
  register_of_bytes x[4][4];

  POSENC_ALWAYS_INLINE values_64(head_block<F, 16> const& v, dims_64<F> const& at) noexcept {
    for (std::size_t n = 0; n < 16 && !has_groups<F>; ++n) at.prefetch(v, n);
#pragma GCC unroll 4
    for (std::size_t t = 0; t < 4; ++t) {
      register_of_bytes each[streams];
      for (std::size_t s = 0; s < streams; ++s) {
        if constexpr (has_groups<F>) at.prefetch(v, t * streams + s);
        each[s] = at.load(v.heads[t * streams + s]);
        if constexpr (has_zero_points<F>) each[s] = other_sign(each[s]);
      }
      interleave(each, x[t]);
    }
  }
  /// sums += unit code value. Each half of the dims has codes of weights, and a unit.
  POSENC_ALWAYS_INLINE void add_to(float* sums, std::byte const* codes, std::byte const* others,
                                   lanes<float>::number const& unit,
                                   lanes<float>::number const& other_unit) const noexcept {
    integer_sums::number sum[4] = {};
#pragma GCC unroll 4
    for (std::size_t t = 0; t < 4; ++t) {
      for (std::size_t j = 0; j < 4; ++j)
        sum[j] = integer_sums::add(sum[j], four_bytes((j < 2 ? codes : others) + 4 * t), x[t][j]);
    }
    for (std::size_t j = 0; j < 4; ++j)
      lanes<float>::store(
          sums + 16 * j,
          lanes<float>::multiply_add(j < 2 ? unit : other_unit, integer_sums::as_floats(sum[j]),
                                     lanes<float>::load(sums + 16 * j)));
  }
  /// The index of the sums of dims i to i + 3.
  static constexpr std::size_t index_of(std::size_t i) noexcept {
    return has_groups<F> ? i / 32 * 32 + i / 4 % 2 * 16 + i % 32 / 8 * 4
                         : i / 64 * 64 + i / 4 % 4 * 16 + i % 64 / 16 * 4;
  }
};

// ---- Scores

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
POSENC_ALWAYS_INLINE inline std::array<float, 16> block_dots(query_codes const* q,
                                                             std::size_t registers,
                                                             head_block<F, 16 / Rows> const& k,
                                                             std::size_t dims) noexcept {
  constexpr std::size_t quads = 4 / Rows;  // of keys
  using floats = lanes<float>;
  floats::number scores[4];
  integer_sums::number sums[4];
  for (std::size_t n = 0; n < 4; ++n) {
    scores[n] = floats::number(0.0f);
    sums[n] = integer_sums::number{};
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

// ---- Outputs

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
          scales[at] = number_at<float>(head);
          zeros[at] = number_at<float>(head + 4);
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
        all = all | (code & decltype(code)(0xffu)) << static_cast<int>(8 * s);
      }
      all.store_unaligned(reinterpret_cast<std::uint32_t*>(codes.data() + c * tile_tokens));
    }
  }
};

/// For values with groups: the weights of a tile as parts of the largest of each row,
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
  /// From the scales of two groups. Values without a weight, hidden tokens among them, do not
  /// count.
  template <class F>
  static void find(group_factors& to, head_block<F, 16> const& v, dims_64<F> const& at,
                   std::uint32_t with_weight) noexcept {
    for (std::size_t half = 0; half < 2; ++half) {
      auto const x =
          only(with_weight, half_of_each(v.heads.data(), half == 0 ? at.first : at.second));
      largest_float const most(x);
      to.of[half] = x * number(255 * most.inverse);
      to.units[half] = number(most.number / 255);
    }
  }
};

/// sums += weights values of a tile, tokens [from, to) of a run. The block captures by value,
/// because g++ would load references anew for each.
template <class F>
POSENC_ALWAYS_INLINE inline void add_tile(float* sums, scaled_weights<F>& weights, float const*,
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
/// If values have groups, their factors are found a block before their codes are read, because a
/// CPU waits long for them.
template <class F>
POSENC_ALWAYS_INLINE inline void add_tile(float* sums, unscaled_weights& weights,
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
                 [=](std::size_t head, std::size_t row, std::size_t token,
                     std::size_t index) POSENC_INLINED {
                   auto const c = head * rows + row;
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

POSENC_QUIET_END
#endif

}  // namespace detail
}}  // namespace posenc
