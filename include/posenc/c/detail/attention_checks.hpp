// A posenc1_attention, checked but for what posenc's own attention checks.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "posenc/c/detail/handles.hpp"
#include "posenc/c/detail/views.hpp"
#include "posenc/core/target.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/scale_invariant.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/attention_sinks.hpp"
#include "posenc/softmax/critical_temperature.hpp"
#include "posenc/softmax/log_n.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c {

/// What a function says of arrays with a number for each head, which `make` refuses.
inline void check_heads(heads_name what, double const* numbers, std::size_t heads,
                        auto const& is_right, auto const& make) {
  if (numbers == nullptr || std::all_of(numbers, numbers + heads, is_right)) return;
  named(what, [&] { make(std::vector(numbers, numbers + heads)); });
}
inline bool is_number(double x) noexcept { return is_finite(x); }

inline void check_temperature(heads_name what, posenc1_attention const& a) {
  auto const& t = a.temperature;
  auto const rule = bits_of(t.rule);
  bool const logarithm = rule == POSENC1_LOG_N || rule == POSENC1_LOG_N_BY_POSITION,
             position = rule == POSENC1_BY_POSITION, ssmax = rule == POSENC1_SSMAX,
             of_row = rule == POSENC1_HALF_WEIGHT || rule == POSENC1_CRITICAL;
  what.require(rule <= POSENC1_CRITICAL, "rule must be one of the header, got ", rule);
  what.require(logarithm || position || is_zero(t.length), "length must be 0 for this rule, got ",
               t.length);
  what.require(position || of_row || is_zero(t.scale), "scale must be 0 for this rule, got ",
               t.scale);
  what.require(position || is_zero(t.offset), "offset must be 0 for this rule, got ", t.offset);
  what.require(ssmax || (t.scales == nullptr && t.biases == nullptr),
               "scales and biases must be null for this rule");
  what.require(!ssmax || t.scales != nullptr, "scales must not be null for this rule");
  named(what, [&] {
    if (rule == POSENC1_LOG_N) log_n{t.length};
    if (rule == POSENC1_LOG_N_BY_POSITION) log_n_by_position{t.length};
    if (rule == POSENC1_HALF_WEIGHT && !is_zero(t.scale)) half_weight_temperature{t.scale};
    if (rule == POSENC1_CRITICAL && !is_zero(t.scale)) critical_temperature{t.scale};
    if (position) llama4_temperature(t.scale, t.length);
    for (std::size_t head = 0; ssmax && head < a.heads; ++head) {
      auto const s = t.scales[head], b = t.biases == nullptr ? 0 : t.biases[head];
      if (!(is_number(s) && s > 0 && is_number(b) && s * std::log(2.0) + b > 0))
        posenc::ssmax({t.scales, t.scales + a.heads},
                      t.biases == nullptr ? std::vector<double>()
                                          : std::vector<double>(t.biases, t.biases + a.heads));
    }
  });
  what.require(is_number(t.offset), "offset must be finite, got ", t.offset);
}

inline void check_profiles(heads_name what, posenc1_attention const& a) {
  auto const& p = a.profiles;
  std::size_t numbers = 0;
  if (p.profiles == nullptr)
    return what.require(p.rank == 0 && p.extent == 0 && p.query_side == nullptr,
                        "without profiles, all else must be 0 and null");
  what.require(
      p.rank > 0 && p.extent > 0 && multiply(p.rank, p.extent, numbers) &&
          multiply(p.rank * a.heads, a.query_tokens, numbers) && p.rank <= std::size_t{1} << 24,
      "rank and extent must be positive and fit into memory, got ", p.rank, " and ", p.extent);
  what.require(p.query_side != nullptr, "query_side must not be null");
}

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
  check_heads(what, cells.slopes, a.heads, is_number, alibi::with_slopes);

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

/// What no heads decide.
inline void check_rules(char const* function, posenc1_attention const& a) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  auto const ahead = a.ahead == POSENC1_ALL_AHEAD ? 0 : a.ahead;
  require(std::max({a.behind, ahead, a.chunk}) <= most, function,
          ": behind, ahead and chunk must be below 2^63, got ", a.behind, ", ", ahead, " and ",
          a.chunk);
  check_heads({function, "sinks"}, a.sinks, a.heads, is_number,
              [](auto const& logits) { attention_sinks{logits}; });
  check_heads({function, "slopes"}, a.slopes, a.heads, is_number, alibi::with_slopes);
  if (!is_zero(a.cap)) named({function, "cap"}, [&] { soft_cap{a.cap}; });
  if (!is_zero(a.tau)) named({function, "tau"}, [&] { scale_invariant{a.tau}; });
  check_temperature({function, "temperature"}, a);
  if (auto const* const b = a.key_bias; b != nullptr) {
    require(b->heads == a.heads && b->kv_heads == a.kv_heads && b->head_dim == a.head_dim, function,
            ": key_bias must be of ", a.heads, " heads over ", a.kv_heads, " of ", a.head_dim,
            " dims, got ", b->heads, " over ", b->kv_heads, " of ", b->head_dim);
  }
  check_profiles({function, "profiles"}, a);
  require(a.dot_products == 0 || has_codes(bits_of(a.keys.format)) ||
              has_codes(bits_of(a.values.format)) || a.tokens == 0,
          function, ": dot_products must be of int8_per_head, int8_static, u8_per_head or q8_0");
}

}}}  // namespace c
