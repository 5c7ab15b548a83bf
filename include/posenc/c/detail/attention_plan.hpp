// A posenc1_attention becomes a plan, after what attention_call does not check.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "posenc/c/detail/choice.hpp"
#include "posenc/c/detail/handles.hpp"
#include "posenc/c/detail/views.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c {

/// The memory of cells, which were given; strides of 0 are those of dense rows.
inline memory_range memory_of(heads_name const& what, posenc1_cells const& cells,
                              posenc1_attention const& a, std::size_t query_tokens) {
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

/// Checks the mask and the formats; attention_rules checks all other rules.
inline void check_what_is_seen(char const* function, posenc1_attention const& a) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  auto const ahead = a.ahead == POSENC1_ALL_AHEAD ? 0 : a.ahead;
  require(std::max({a.behind, ahead, a.chunk}) <= most, function,
          ": behind, ahead and chunk must be below 2^63, got ", a.behind, ", ", ahead, " and ",
          a.chunk);
  require(a.dot_products == 0 || bits_of(a.queries.format) != POSENC1_F64, function,
          ": dot_products must not be of doubles");
}

/// Those of kv heads [first, last), with what decides the memory.
inline attention_plan shape_of(char const* function, posenc1_attention const& a, std::size_t first,
                               std::size_t last) {
  auto const value_dim = a.value_dim == 0 ? a.head_dim : a.value_dim;
  require_dim(function, "heads", a.heads);
  require_dim(function, "kv_heads", a.kv_heads);
  require_dim(function, "head_dim", a.head_dim);
  require_dim(function, "value_dim", value_dim);
  require(a.query_tokens > 0, function, ": query_tokens must be positive, got 0");
  require(a.heads % a.kv_heads == 0, function, ": kv_heads must divide heads, got ", a.kv_heads,
          " kv heads for ", a.heads, " heads");
  require(first <= std::min(last, a.kv_heads), function,
          ": first must be at most last and the number of kv_heads, got ", first, " and ", last,
          " of ", a.kv_heads);
  auto const dim = std::max(a.head_dim, value_dim);
  std::size_t numbers = 0;
  for (auto const tokens : {a.query_tokens, a.tokens})
    require(multiply(tokens, a.heads, numbers) && multiply(numbers, dim, numbers) &&
                static_cast<std::uint64_t>(numbers) >> 54 == 0,
            function, ": heads must fit into memory, got ", tokens, " tokens of ", a.heads);
  auto const q = bits_of(a.queries.format), k = bits_of(a.keys.format),
             v = bits_of(a.values.format), o = bits_of(a.outputs.format);
  bool const has_keys = a.tokens != 0;  // of no tokens they are not looked at
  require(is_of_numbers(q) && is_of_numbers(o), function,
          ": formats of queries and outputs must be ones of numbers, got ", q, " and ", o);
  require(!has_keys || std::max(k - 1, v - 1) < formats, function,
          ": formats of keys and values must be ones of the header, got ", k, " and ", v);
  for (auto const format : {has_keys ? k : q, has_keys ? v : q, o})
    require((format == POSENC1_F64) == (q == POSENC1_F64), function,
            ": queries, keys, values and outputs must be doubles alone or not at all, got formats ",
            q, ", ", k, ", ", v, " and ", o);
  attention_plan plan{};
  plan.given = &a;
  plan.outputs.format = o;
  plan.keys.rounds_products = plan.values.rounds_products = a.dot_products != 0;
  plan.query_tokens = a.query_tokens, plan.first_kv_head = first;
  plan.kv_heads = std::min(last, a.kv_heads) - first, plan.group = a.heads / a.kv_heads;
  plan.value_dim = value_dim;
  plan.scale = is_zero(a.scale) ? 1 / std::sqrt(static_cast<double>(a.head_dim)) : a.scale;
  plan.factor = is_zero(a.factor) ? 1 : a.factor;
  return plan;
}

/// Tokens without a slot have no weight; what is looked at for them is one that has, lest unwritten
/// memory makes outputs NaN, which then are summed anew.
inline stored_heads from_head(checked_heads const& heads, std::size_t first) noexcept {
  auto result = heads.stored();
  if (auto const* const slots = result.codes.slots; slots != nullptr) {
    auto const* const there = std::find_if(slots, slots + heads.codes.tokens,
                                           [](std::int64_t slot) { return slot >= 0; });
    if (there != slots + heads.codes.tokens) result.codes.absent = result.scales.absent = *there;
  }
  for (auto* at : {&result.codes, &result.scales})
    if (at->data != nullptr) at->data += static_cast<std::ptrdiff_t>(first) * at->head;
  return result;
}

inline memory_range memory_of(void const* array, std::size_t bytes) noexcept {
  auto const first = reinterpret_cast<std::uintptr_t>(array);
  return {first, array == nullptr ? first : first + bytes};
}

/// The memory of a call.
struct attention_memory {
  checked_heads queries, outputs, keys{}, values{};  ///< of no tokens: nowhere
  std::array<memory_range, 4> written;               ///< beside these
  std::array<memory_range, 14> read;
};

/// used: the memory that is given to the call. all: is set.
inline attention_plan plan_of(char const* function, posenc1_attention const& a, std::size_t first,
                              std::size_t last, memory_range used, attention_memory& all) {
  auto plan = shape_of(function, a, first, last);
  check_what_is_seen(function, a);
  require(a.queries.slots == nullptr && a.outputs.slots == nullptr, function,
          ": queries and outputs must have no slots");
  auto& [queries, outputs, keys, values, written, read] = all;
  check({function, "queries"}, a.queries, {1, plan.query_tokens, a.heads, a.head_dim}, false,
        queries);
  check({function, "outputs"}, a.outputs, {1, plan.query_tokens, a.heads, plan.value_dim}, true,
        outputs);
  if (a.tokens != 0) {
    require_given(function, {{"data of keys", a.keys.data}, {"data of values", a.values.data}});
    check({function, "keys"}, a.keys, {1, a.tokens, a.kv_heads, a.head_dim}, false, keys);
    check({function, "values"}, a.values, {1, a.tokens, a.kv_heads, plan.value_dim}, false, values);
  }
  std::size_t const real = plan.outputs.format == POSENC1_F64 ? 8 : 4;
  std::size_t rows = plan.query_tokens * a.heads, cells = 0;
  require((a.scores == nullptr && a.weights == nullptr) ||
              (multiply(rows, a.tokens, cells) && static_cast<std::uint64_t>(cells) >> 54 == 0),
          function, ": scores must fit into memory, got ", rows, " of ", a.tokens);
  require_aligned(function, "log_sum_exp", a.log_sum_exp, sizeof(double));
  require_aligned(function, "scores", a.scores, real);
  require_aligned(function, "weights", a.weights, real);
  written = {{used, memory_of(a.log_sum_exp, rows * sizeof(double)),
              memory_of(a.scores, cells * real), memory_of(a.weights, cells * real)}};
  memory_range const nowhere{};
  auto const cells_at = [&](char const* name, posenc1_cells const& some) {
    return some.data == nullptr ? nowhere : memory_of({function, name}, some, a, plan.query_tokens);
  };
  auto const numbers = [&](double const* array) {
    return memory_of(array, a.heads * sizeof *array);
  };
  read = {{memory_of(a.profiles.profiles, a.profiles.rank * a.profiles.extent * sizeof(float)),
           memory_of(a.profiles.query_side, rows * a.profiles.rank * sizeof(float)),
           cells_at("mask", a.mask), cells_at("bias", a.bias), numbers(a.sinks), numbers(a.slopes),
           numbers(a.mask.slopes), numbers(a.bias.slopes), numbers(a.temperature.scales),
           numbers(a.temperature.biases), memory_of(keys.codes.at.slots, a.tokens * 8),
           memory_of(values.codes.at.slots, a.tokens * 8), memory_of(a.key_positions, a.tokens * 8),
           memory_of(a.query_positions, plan.query_tokens * 8)}};
  bool overlaps = false;
  for (auto one = written.begin(); one != written.end(); ++one) {
    for (auto other = written.begin(); other != one; ++other)
      overlaps = overlaps || overlap(*one, *other);
    for (auto const& other : read) overlaps = overlaps || overlap(*one, other);
    for (checked_heads const* heads : {&outputs, &queries, &keys, &values})
      overlaps = overlaps || heads->overlaps(*one);
  }
  for (auto const& other : read) overlaps = overlaps || outputs.overlaps(other);
  for (checked_heads const* heads : {&queries, &keys, &values})
    overlaps = overlaps || heads->overlaps(outputs);
  require(!overlaps, function, ": outputs and memory must overlap nothing");
  plan.queries = from_head(queries, plan.first_head());
  plan.outputs = from_head(outputs, plan.first_head());
  plan.keys = from_head(keys, first), plan.values = from_head(values, first);
  plan.keys.rounds_products = plan.values.rounds_products = a.dot_products != 0;
  for (auto* const heads : {&plan.queries, &plan.keys})
    heads->multiplies_bfloat16 = heads->format == POSENC1_BF16 && multiplies_bfloat16_in_use();
  return plan;
}

inline attention_plan plan_of(char const* function, posenc1_attention const& a, std::size_t first,
                              std::size_t last, memory_range used) {
  attention_memory all;
  return plan_of(function, a, first, last, used, all);
}

/// Checks the gradients of a call. plan and memory: of that call.
inline gradients_plan plan_of(char const* function, posenc1_attention const& a,
                              attention_plan const& plan, posenc1_gradients const& d,
                              attention_memory const& memory) {
  auto const real = bits_of(a.queries.format) == POSENC1_F64 ? POSENC1_F64 : POSENC1_F32;
  for (auto const* heads : {&d.outputs, &d.queries, &d.keys, &d.values})
    require(heads->slots == nullptr, function, ": gradients must have no slots");
  auto const of_outputs = bits_of(d.outputs.format);
  require(is_of_numbers(of_outputs) && (of_outputs == POSENC1_F64) == (real == POSENC1_F64),
          function, ": gradients of outputs must be ",
          real == POSENC1_F64 ? "doubles" : "numbers that are no doubles", ", got format ",
          of_outputs);
  checked_heads outputs, queries, keys{}, values{};
  auto const check_heads = [&](char const* name, posenc1_heads const& heads, std::size_t tokens,
                               std::size_t count, std::size_t dim, bool written,
                               checked_heads& to) {
    heads_name const what{function, name};
    what.require(!written || bits_of(heads.format) == real, "format must be ",
                 static_cast<std::uint32_t>(real), " as numbers are computed, got ",
                 bits_of(heads.format));
    check(what, heads, {1, tokens, count, dim}, written, to);
  };
  check_heads("gradients of outputs", d.outputs, a.query_tokens, a.heads, plan.value_dim, false,
              outputs);
  check_heads("gradients of queries", d.queries, a.query_tokens, a.heads, a.head_dim, true,
              queries);
  if (a.tokens != 0) {
    check_heads("gradients of keys", d.keys, a.tokens, a.kv_heads, a.head_dim, true, keys);
    check_heads("gradients of values", d.values, a.tokens, a.kv_heads, plan.value_dim, true,
                values);
  }
  bool overlaps = outputs.overlaps(memory.written[0]);
  checked_heads const* const written[] = {&queries, &keys, &values};
  for (auto const* one : written) {
    for (auto const* other : written) {
      if (other == one) break;
      overlaps = overlaps || one->overlaps(*other);
    }
    for (auto const* other : std::initializer_list<checked_heads const*>{
             &outputs, &memory.queries, &memory.outputs, &memory.keys, &memory.values})
      overlaps = overlaps || one->overlaps(*other);
    for (auto const& other : memory.written) overlaps = overlaps || one->overlaps(other);
    for (auto const& other : memory.read) overlaps = overlaps || one->overlaps(other);
  }
  require(!overlaps, function,
          ": gradients of queries, keys and values, and memory must overlap nothing");
  return {from_head(outputs, plan.first_head()), from_head(queries, plan.first_head()),
          from_head(keys, plan.first_kv_head), from_head(values, plan.first_kv_head)};
}

/// Calls act(); what posenc's attention throws is said of this function.
inline void in_name_of(char const* function, auto const& act) {
  try {
    act();
  } catch (std::invalid_argument const& error) {
    std::string_view sentence(error.what());
    for (std::string_view const prefix : {"posenc: ", "attention_call: ", "attend: "})
      if (sentence.starts_with(prefix)) sentence.remove_prefix(prefix.size());
    if (sentence.starts_with(function)) throw;
    refuse(function, ": ", sentence);
  }
}

}}}  // namespace c
