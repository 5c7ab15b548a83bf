// What must hold of a posenc1_attention beside what attention_call checks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "posenc/c/detail/handles.hpp"
#include "posenc/c/detail/views.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c {

/// The memory of cells, which were given; strides of 0 are those of dense rows.
inline memory_range checked(heads_name what, posenc1_cells const& cells, posenc1_attention const& a,
                            std::size_t query_tokens) {
  auto const type = bits_of(cells.type);
  what.require(type - 1 < POSENC1_CELL_BF16, "type must be one of the header, got ", type);
  what.require(cells.heads <= 1 || cells.heads == a.heads, "heads must be 0, 1 or ", a.heads,
               ", got ", cells.heads);
  constexpr std::array<std::size_t, 6> sizes{1, 1, 4, 8, 2, 2};
  auto const size = sizes[type - 1];
  bool const bits = type == POSENC1_CELL_BIT;
  require_multiples(what, "a cell", size, cells.data, cells.query_stride, cells.head_stride,
                    cells.key_stride);
  what.require(!bits || cells.key_stride == 0, "key_stride must be 0 for bits, got ",
               cells.key_stride);
  what.require(cells.slopes == nullptr || type >= POSENC1_CELL_F32,
               "slopes must be of numbers, got cells without");

  auto const times = [](std::ptrdiff_t stride, std::size_t n) {
    return static_cast<std::ptrdiff_t>(static_cast<std::uint64_t>(stride) * n);
  };
  auto const rows = cells.one_row != 0 ? 1 : query_tokens;
  auto const keys = bits ? (a.tokens + 7) / 8 : a.tokens;
  auto const key = cells.key_stride == 0 ? static_cast<std::ptrdiff_t>(size) : cells.key_stride,
             query = cells.query_stride == 0 ? times(key, keys) : cells.query_stride,
             head = cells.head_stride == 0 ? times(query, rows) : cells.head_stride;
  auto const data = reinterpret_cast<std::uintptr_t>(cells.data);
  if (keys == 0) return {data, data};
  std::uint64_t reach = 0;
  auto first = data, last = data + size;
  auto const repeat = [&](std::size_t count, std::ptrdiff_t stride) {
    auto const step = static_cast<std::uint64_t>(stride < 0 ? -stride : stride);
    what.require(multiply<std::uint64_t>(count - 1, step, reach) && reach >> 54 == 0,
                 "cells must fit into memory, got strides of ", query, ", ", head, " and ", key,
                 " bytes");
    (stride < 0 ? first : last) += static_cast<std::uintptr_t>(times(stride, count - 1));
  };
  repeat(keys, key), repeat(rows, query), repeat(std::max<std::size_t>(cells.heads, 1), head);
  return {first, last};
}

/// Whether a format has codes that can be multiplied.
inline bool has_codes(std::uint32_t format) noexcept {
  return format == POSENC1_Q8_0 || format == POSENC1_Q8_0_AVX2 || format == POSENC1_U8_PER_HEAD ||
         format == POSENC1_INT8_PER_HEAD || format == POSENC1_INT8_PER_HEAD_TRUNCATED ||
         format == POSENC1_INT8_STATIC;
}

/// What the mask and the formats decide; all other rules are attention_rules'.
inline void check_what_is_seen(char const* function, posenc1_attention const& a) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  auto const ahead = a.ahead == POSENC1_ALL_AHEAD ? 0 : a.ahead;
  require(std::max({a.behind, ahead, a.chunk}) <= most, function,
          ": behind, ahead and chunk must be below 2^63, got ", a.behind, ", ", ahead, " and ",
          a.chunk);
  require(a.dot_products == 0 || has_codes(bits_of(a.keys.format)) ||
              has_codes(bits_of(a.values.format)) || a.tokens == 0,
          function, ": dot_products must be of int8_per_head, int8_static, u8_per_head or q8_0");
}

}}}  // namespace posenc::detail::c
