// What the CPU's dot products read of queries, keys and values, for dot_kernels.hpp.
#pragma once

#include "posenc/simd/x86_dot_products.hpp"

#if defined(POSENC_HAS_DOT_PRODUCTS)

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/core/compiler.hpp"
#include "posenc/core/format.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/decode_products.hpp"
#include "posenc/decode/run_reader.hpp"
#include "posenc/decode/whole_lines.hpp"
#include "posenc/simd/codes.hpp"

POSENC_QUIET_BEGIN

namespace posenc::inline POSENC_TARGET::detail {

/// How a head stores its numbers: the first byte, bytes per number; whether these are integers,
/// have a sign, and have a scale before them.
template <class S>
struct dot_codes {  // bfloat16
  static constexpr std::size_t first = 0, bytes = 2;
  static constexpr bool are_integers = false, has_scale = false;
  using sums = float_sums;
};
template <>
struct dot_codes<int8_static> {
  static constexpr std::size_t first = 0, bytes = 1;
  static constexpr bool are_integers = true, are_signed = true, has_scale = false;
  using sums = integer_sums;
};
template <>
struct dot_codes<int8_per_head> : dot_codes<int8_static> {};
template <>
struct dot_codes<u8_per_head> : dot_codes<int8_static> {
  static constexpr std::size_t first = 8;
  static constexpr bool are_signed = false, has_scale = true;
};

/// Calls step(byte, mask) for each 64 bytes of a head's numbers. mask: of those within the head.
template <class S>
[[gnu::always_inline]] inline void in_registers(std::size_t dims, auto const& step) noexcept {
  auto const bytes = dims * dot_codes<S>::bytes;
  for (std::size_t i = 0; i < bytes; i += 64) step(i, first_bytes(bytes - i));
}
/// Prefetches 64 bytes, from byte i on, of the heads that are read later.
template <class S, std::size_t Count>
[[gnu::always_inline]] inline void prefetch(head_block<S, Count> const& block,
                                            std::size_t i) noexcept {
  for (std::size_t s = 0; s < Count; ++s)
    block.template prefetch<64 / dot_codes<S>::bytes>(s, i / dot_codes<S>::bytes);
}
/// 64 bytes of numbers, from byte i on; codes as signed bytes, or as unsigned ones.
template <class S, bool Signed>
[[gnu::always_inline]] inline auto load_codes(auto const* head, std::size_t i,
                                              loaded_bytes which) noexcept {
  using codes = dot_codes<S>;
  auto const x = load_64(reinterpret_cast<std::byte const*>(head) + codes::first + i, which);
  if constexpr (codes::are_integers) {
    if constexpr (codes::are_signed != Signed) return other_sign(x);
  }
  return x;
}

/// What unsigned codes of near tokens mean: (code - offset) factor. Both are [heads][tile_tokens].
template <class S>
struct code_meanings {
  std::vector<float> offsets, factors;

  explicit code_meanings(std::size_t heads)
      : offsets(heads * tile_tokens, 128), factors(offsets.size()) {}

  /// Of the tokens within [from, to) of a run.
  void read(auto const& reader, std::size_t from, std::size_t to) {
    if constexpr (dot_codes<S>::has_scale) {
      std::ranges::fill(factors, 1.0f);
      for (auto i = from; i < to; ++i) {  // in the order of memory
        for (std::size_t first = 0; first < factors.size(); first += tile_tokens) {
          auto const* const scale = reader.head_of(i, first / tile_tokens);
          auto const at = first + tile_index(i - from);
          factors[at] = number_at<float>(scale), offsets[at] = number_at<float>(scale + 4);
        }
      }
    } else {
      std::array<float, tile_tokens> of_head;
      for (std::size_t first = 0; first < factors.size(); first += tile_tokens) {
        reader.find_factors(from, first / tile_tokens, 1.0f, of_head);
        std::ranges::copy(of_head, factors.data() + first);
      }
    }
  }
  /// Prefetches the scales of Count tokens that will be near next, one turn after token i.
  template <std::size_t Count>
  [[gnu::always_inline]] static void prefetch_next(auto const& reader, std::size_t head,
                                                   std::size_t i, std::size_t tokens) noexcept {
    if constexpr (dot_codes<S>::has_scale) {
      for (auto n = i + tile_tokens; n < i + tile_tokens + Count; ++n)
        prefetch_into_l1(reader.head_of(std::min(n, tokens - 1), head));
    }
  }
  /// Products of a query with unsigned codes become products with what these mean. sum: of the
  /// query's codes.
  void apply(float* products, std::size_t head, float sum) const noexcept {
    for (std::size_t n = 0; n < tile_tokens; n += 16) {
      auto const at = head * tile_tokens + n;
      auto const offset = lanes<float>::load(offsets.data() + at) * lanes<float>::number(sum);
      lanes<float>::store(products + n, (lanes<float>::load(products + n) - offset) *
                                            lanes<float>::load(factors.data() + at));
    }
  }
  /// weights *= factors. Returns the sum of weight (128 - offset), which outputs of signed codes
  /// lack.
  float multiply(float* weights, std::size_t head) const noexcept {
    lanes<float>::number sum(0.0f);
    for (std::size_t n = 0; n < tile_tokens; n += 16) {
      auto const at = head * tile_tokens + n;
      auto const x = lanes<float>::load(weights + n) * lanes<float>::load(factors.data() + at);
      lanes<float>::store(weights + n, x);
      sum = lanes<float>::multiply_add(
          x, lanes<float>::number(128.0f) - lanes<float>::load(offsets.data() + at), sum);
    }
    return lanes<float>::sum(sum);
  }
};

/// Queries as dot products take them: bfloat16, or the codes of int8_per_head with their scales.
template <class S>
struct dot_queries {
  std::size_t stride;  ///< bytes, whole registers; 0 beyond a query
  whole_lines<std::byte> bytes;
  std::vector<float> scales, sums;  ///< of each query; of its codes

  dot_queries(float const* q, std::size_t rows, std::size_t dims)
      : stride(rounded_up(dims * dot_codes<S>::bytes, 64)),
        bytes(rows * stride),
        scales(rows, 1),
        sums(rows) {
    for (std::size_t r = 0; r < rows; ++r) {
      std::span const query(q + r * dims, dims);
      auto* const to = bytes.data() + r * stride;
      if constexpr (dot_codes<S>::are_integers) {
        int8_per_head().encode(query, to, reinterpret_cast<std::byte*>(&scales[r]));
        for (std::size_t i = 0; i < dims; ++i) sums[r] += static_cast<std::int8_t>(to[i]);
      } else {
        numbers_of<bfloat16>().encode(query, to);
      }
    }
  }
};

/// Rounds near weights to codes of 8 bits and returns their unit, the largest weight / 255. The
/// codes of one token of each stream are neighbours. NaN unless all weights are finite and not
/// negative.
inline float make_codes(float const* near, std::byte* codes) noexcept {
  // As integers without a sign, negative numbers and NaN are larger than others.
  auto const most = largest_bits(near, tile_tokens);
  auto const unit = std::bit_cast<float>(most) / 255, inverse = unit >= 0x1p-126f ? 1 / unit : 0.0f;
  code_bits<lanes<float>::number>::bits all(0u);
  for (int s = 0; s < static_cast<int>(streams); ++s) {
    auto const weights = lanes<float>::load(near + static_cast<std::size_t>(s) * stream_tokens);
    auto const code = nearest(weights * lanes<float>::number(inverse));
    all |= (code & decltype(code)(0xffu)) << (8 * s);
  }
  all.store_unaligned(reinterpret_cast<std::uint32_t*>(codes));
  return most < 0x7f80'0000u ? unit : std::bit_cast<float>(0x7fc0'0000u);
}

}  // namespace posenc::detail

POSENC_QUIET_END

#endif
