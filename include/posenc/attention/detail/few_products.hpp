// The products of few rows, as attention calls them: which rows are few, and their memory.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>

#include "posenc/attention/detail/block_shape.hpp"
#include "posenc/attention/detail/dense_heads.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/detail/decode_products.hpp"
#include "posenc/decode/dot_products.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The format of heads that are read: a number type, or a struct.
template <class Heads>
using element_of = typename Heads::format_type;

/// Up to this many rows per kv head, keys and values are read in place, all kv heads at once; each
/// four rows decode them again, which costs little where the CPU converts halves. Beyond, panels
/// pay.
template <std::floating_point T, class Heads>
std::size_t most_rows_in_place(Heads const& heads) noexcept {
  std::size_t most = 32;
  if constexpr (chooses_format<Heads>) {
    visit_format(heads, [&](auto const& in_format) { most = most_rows_in_place<T>(in_format); });
  } else if constexpr (!std::same_as<element_of<Heads>, T> &&
                       !std::same_as<element_of<Heads>, bfloat16> && !lanes<half>::converts) {
    most = 8;
  }
  return most;
}

/// The memory in which the products of few rows are computed.
template <std::floating_point T>
struct few_memory {
  T *queries = nullptr, *tiles = nullptr, *sums = nullptr;

  few_memory() = default;
  few_memory(scratch& memory, std::size_t kv_heads, std::size_t rows, std::size_t head_dim,
             std::size_t value_dim) {
    auto const padded = kv_heads * padded_rows(rows);
    queries = memory.take<T>(padded, head_dim);
    tiles = memory.take<T>(padded, tile_tokens);
    memory.take<T>(most_decoded, std::max(head_dim, value_dim));  // right behind tiles
    sums = memory.take<T>(padded, value_dim);
  }
};

/// scores = scale * q k^T where queries see keys; elsewhere scores are unspecified. q:
/// [rows][head_dim] dense; k: all tokens of the kv heads, which are read in place.
template <std::floating_point T, class Heads>
void multiply_scores(T* scores, T scale, T const* q, Heads const& k, block_shape const& b,
                     few_memory<T> const& memory) {
  if constexpr (chooses_format<Heads>) {
    visit_format(
        k, [&](auto const& in_format) { multiply_scores(scores, scale, q, in_format, b, memory); });
  } else {
    auto const of_head = b.rows_of_head(), padded = padded_rows(of_head), dims = k.head_dim();
    for (std::size_t head = 0; head < b.kv_heads; ++head) {
      auto* const to = memory.queries + head * padded * dims;
      std::fill(std::copy_n(q + head * of_head * dims, of_head * dims, to), to + padded * dims,
                T{0});
    }
    auto const keys = k.slice_tokens(b.keys.first, b.seen());
    if constexpr (multiplies_codes<element_of<Heads>>) {
      dot_scores<element_of<Heads>>(scores, scale, memory.queries, of_head, keys, memory.tiles);
    } else {
      few_scores<T, element_of<Heads>>(scores, scale, memory.queries, of_head, keys, memory.tiles);
    }
  }
}

/// outputs[row] += the sum over keys s of weights[row][s] v[s], for few rows; finish_outputs
/// follows.
template <std::floating_point T, class Heads>
void multiply_outputs(T* outputs, T const* weights, Heads const& v, block_shape const& b,
                      few_memory<T> const& memory) {
  if constexpr (chooses_format<Heads>) {
    visit_format(v, [&](auto const& in_format) {
      multiply_outputs(outputs, weights, in_format, b, memory);
    });
  } else {
    auto const values = v.slice_tokens(b.keys.first, b.seen());
    using stored = element_of<Heads>;
    if constexpr (multiplies_codes<stored>) {
      // Queries that see different keys would share the unit of 16 keys that are read together.
      if (!has_groups<stored> || b.queries() == 1)
        return dot_outputs<stored>(outputs, weights, b.rows_of_head(), values);
    }
    few_outputs<T, stored>(outputs, weights, b.rows_of_head(), values, memory.sums, memory.tiles);
  }
}

}}}  // namespace posenc::detail
