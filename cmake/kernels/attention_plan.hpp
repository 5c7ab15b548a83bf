// The C API: a posenc1_attention becomes a plan. (Included by attend.cpp alone.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "checked.hpp"
#include "checked_attention.hpp"
#include "handles.hpp"

namespace posenc_kernels {
namespace {

/// Those of kv heads [first, last), with what decides the memory.
attention_plan shape_of(char const* function, posenc1_attention const& a, std::size_t first,
                        std::size_t last) {
  auto const kv_heads = a.kv_heads == 0 ? a.heads : a.kv_heads;
  auto const value_dim = a.value_dim == 0 ? a.head_dim : a.value_dim;
  auto const queries = std::max<std::size_t>(a.query_tokens, 1);
  require_dim(function, "heads", a.heads);
  require_dim(function, "head_dim", a.head_dim);
  require_dim(function, "value_dim", value_dim);
  require(a.heads % kv_heads == 0, function, ": kv_heads must divide heads, got ", kv_heads,
          " kv heads for ", a.heads, " heads");
  require(first <= std::min(last, kv_heads), function,
          ": first must be at most last and the number of kv_heads, got ", first, " and ", last,
          " of ", kv_heads);
  auto const dim = std::max(a.head_dim, value_dim);
  std::size_t numbers = 0;
  for (auto const tokens : {queries, a.tokens})
    require(multiply(tokens, a.heads, numbers) && multiply(numbers, dim, numbers) &&
                static_cast<std::uint64_t>(numbers) >> 54 == 0,
            function, ": heads must fit into memory, got ", tokens, " tokens of ", a.heads);
  bool const k_cache = a.key_cache.data != nullptr, v_cache = a.value_cache.data != nullptr;
  std::uint32_t const floats = POSENC1_F32;
  auto const q = bits_of(a.queries.type), o = bits_of(a.outputs.type),
             k = k_cache ? floats : bits_of(a.keys.type),
             v = v_cache ? floats : bits_of(a.values.type);
  require(std::max({q, k, v, o}) < types, function,
          ": types of queries, keys, values and outputs must be ones of the header, got ", q, ", ",
          k, ", ", v, " and ", o);
  for (auto const type : {k, v, o})
    require((type == POSENC1_F64) == (q == POSENC1_F64), function,
            ": queries, keys, values and outputs must be doubles alone or not at all, got types ",
            q, ", ", k, ", ", v, " and ", o, "; caches are floats");
  attention_plan plan{};
  plan.given = &a;
  plan.outputs.format = o;
  plan.query_tokens = queries, plan.first_kv_head = first;
  plan.kv_heads = std::min(last, kv_heads) - first, plan.group = a.heads / kv_heads;
  plan.value_dim = value_dim;
  plan.scale = is_zero(a.scale) ? 1 / std::sqrt(static_cast<double>(a.head_dim)) : a.scale;
  return plan;
}

checked_heads source_of(char const* function, char const* name, posenc1_heads const& view,
                        char const* cache_name, posenc1_cache const& cache,
                        heads_shape const& shape) {
  require((view.data != nullptr) != (cache.data != nullptr), function, ": there must be one of ",
          name, " and ", cache_name, ", got ", view.data != nullptr ? "both" : "null for both");
  return cache.data != nullptr ? checked({function, cache_name}, cache, shape, false)
                               : checked({function, name}, view, shape, false);
}

/// Tokens without a slot have no weight; what is looked at for them is one that has, lest unwritten
/// memory makes outputs NaN, which then are summed anew.
stored_heads from_head(checked_heads const& heads, std::size_t first) noexcept {
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

posenc::memory_range memory_of(void const* array, std::size_t bytes) noexcept {
  auto const first = reinterpret_cast<std::uintptr_t>(array);
  return {first, array == nullptr ? first : first + bytes};
}

/// used: the memory of the call.
attention_plan plan_of(char const* function, posenc1_attention const& a, std::size_t first,
                       std::size_t last, posenc::memory_range used) {
  auto plan = shape_of(function, a, first, last);
  check_rules(function, a);
  require(a.queries.slots == nullptr && a.outputs.slots == nullptr, function,
          ": queries and outputs must have no slots");
  auto const queries =
      checked({function, "queries"}, a.queries, {1, plan.query_tokens, a.heads, a.head_dim}, false);
  auto const outputs = checked({function, "outputs"}, a.outputs,
                               {1, plan.query_tokens, a.heads, plan.value_dim}, true);
  checked_heads keys{}, values{};  // of no tokens: nowhere
  if (a.tokens != 0) {
    auto const kv_heads = a.heads / plan.group;
    keys = source_of(function, "keys", a.keys, "key_cache", a.key_cache,
                     {1, a.tokens, kv_heads, a.head_dim});
    values = source_of(function, "values", a.values, "value_cache", a.value_cache,
                       {1, a.tokens, kv_heads, plan.value_dim});
    require(keys.layout == bits_of(a.queries.layout), function,
            ": queries and keys must have one layout, got ", bits_of(a.queries.layout), " and ",
            keys.layout);
  }
  std::size_t const real = plan.outputs.format == POSENC1_F64 ? 8 : 4;
  std::size_t rows = plan.query_tokens * a.heads, cells = 0;
  require((a.scores == nullptr && a.weights == nullptr) ||
              (multiply(rows, a.tokens, cells) && static_cast<std::uint64_t>(cells) >> 54 == 0),
          function, ": scores must fit into memory, got ", rows, " of ", a.tokens);
  require_aligned(function, "log_sum_exp", a.log_sum_exp, sizeof(double));
  require_aligned(function, "scores", a.scores, real);
  require_aligned(function, "weights", a.weights, real);
  posenc::memory_range const written[] = {used, memory_of(a.log_sum_exp, rows * sizeof(double)),
                                          memory_of(a.scores, cells * real),
                                          memory_of(a.weights, cells * real)};
  posenc::memory_range const nowhere{};
  auto const cells_at = [&](char const* name, posenc1_cells const& some) {
    return some.data == nullptr ? nowhere : checked({function, name}, some, a, plan.query_tokens);
  };
  auto const numbers = [&](double const* array) {
    return memory_of(array, a.heads * sizeof *array);
  };
  posenc::memory_range const read[] = {
      memory_of(a.profiles.profiles, a.profiles.rank * a.profiles.extent * sizeof(float)),
      memory_of(a.profiles.query_side, rows * a.profiles.rank * sizeof(float)),
      cells_at("mask", a.mask),
      cells_at("bias", a.bias),
      numbers(a.sinks),
      numbers(a.slopes),
      numbers(a.mask.slopes),
      numbers(a.bias.slopes),
      numbers(a.temperature.scales),
      numbers(a.temperature.biases),
      memory_of(keys.codes.at.slots, a.tokens * 8),
      memory_of(values.codes.at.slots, a.tokens * 8),
      memory_of(a.key_positions, a.tokens * 8),
      memory_of(a.query_positions, plan.query_tokens * 8)};
  bool overlaps = false;
  for (auto const* one = written; one != std::end(written); ++one) {
    for (auto const* other = written; other != one; ++other)
      overlaps = overlaps || overlap(*one, *other);
    for (auto const& other : read) overlaps = overlaps || overlap(*one, other);
    for (checked_heads const* heads :
         {&outputs, &queries, &std::as_const(keys), &std::as_const(values)})
      overlaps = overlaps || heads->overlaps(*one);
  }
  for (auto const& other : read) overlaps = overlaps || outputs.overlaps(other);
  for (checked_heads const* heads : {&queries, &std::as_const(keys), &std::as_const(values)})
    overlaps = overlaps || heads->overlaps(outputs);
  require(!overlaps, function, ": outputs and memory must overlap nothing");
  plan.queries = from_head(queries, plan.first_head());
  plan.outputs = from_head(outputs, plan.first_head());
  plan.keys = from_head(keys, first), plan.values = from_head(values, first);
  for (auto* cache : {&plan.keys, &plan.values})
    cache->multiplies_codes =
        a.dot_products != 0 && has_codes(static_cast<std::uint32_t>(cache->format));
  return plan;
}

/// Calls act(); what posenc's attention throws is said of this function.
void in_name_of(char const* function, auto const& act) {
  try {
    act();
  } catch (std::invalid_argument const& error) {
    std::string_view sentence(error.what());
    for (std::string_view const prefix : {"posenc: ", "attention_call: ", "attend: "})
      if (sentence.starts_with(prefix)) sentence.remove_prefix(prefix.size());
    if (sentence.starts_with(function)) throw;
    posenc::detail::refuse(function, ": ", sentence);
  }
}

}  // namespace
}  // namespace posenc_kernels
