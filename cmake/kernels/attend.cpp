// The C API: attention. Checks its arguments, in O(tokens), and hands a plan to the set.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "checked.hpp"
#include "handles.hpp"

namespace posenc_kernels {
namespace {

struct attention_shape {
  char const* function;
  std::size_t kv_heads, group, value_dim, first, last;
  bool doubles, encoded, has_slots;
};

attention_shape checked_shape(char const* function, posenc1_attention const& a, std::size_t first,
                              std::size_t last) {
  auto const kv_heads = a.kv_heads == 0 ? a.heads : a.kv_heads;
  auto const value_dim = a.value_dim == 0 ? a.head_dim : a.value_dim;
  require_dim(function, "heads", a.heads);
  require_dim(function, "head_dim", a.head_dim);
  require_dim(function, "value_dim", value_dim);
  require(a.heads % kv_heads == 0, function, ": heads must be a multiple of kv_heads, got ",
          a.heads, " and ", kv_heads);
  require(first <= std::min(last, kv_heads), function,
          ": first must be at most last and the number of kv_heads, got ", first, " and ", last,
          " of ", kv_heads);
  bool const k_cache = a.key_cache.data != nullptr, v_cache = a.value_cache.data != nullptr;
  std::uint32_t const floats = POSENC1_F32;
  auto const q = bits_of(a.queries.type), o = bits_of(a.outputs.type),
             k = k_cache ? floats : bits_of(a.keys.type),
             v = v_cache ? floats : bits_of(a.values.type);
  require(std::max({q, k, v, o}) < types, function,
          ": types of queries, keys, values and outputs must be ones of the header, got ", q, ", ",
          k, ", ", v, " and ", o);
  bool const doubles = q == POSENC1_F64;
  for (auto const type : {k, v, o})
    require((type == POSENC1_F64) == doubles, function,
            ": queries, keys, values and outputs must be doubles alone or not at all, got types ",
            q, ", ", k, ", ", v, " and ", o, "; caches are floats");
  bool const has_slots = (k_cache ? a.key_cache.slots : a.keys.slots) != nullptr ||
                         (v_cache ? a.value_cache.slots : a.values.slots) != nullptr;
  return {
      function, kv_heads,           a.heads / kv_heads, value_dim, first, std::min(last, kv_heads),
      doubles,  k_cache || v_cache, has_slots};
}

/// Where posenc1_attend works, in the memory of the caller.
struct workspace {
  static constexpr std::uintptr_t line = 64;  // each part begins a cache line
  attention_plan::workspace numbers;
  std::int64_t *keys, *values;  ///< the slots of tokens that have both, if there are slots
  std::uintptr_t end;

  workspace(attention_shape const& shape, posenc1_attention const& a, void* memory)
      : end(reinterpret_cast<std::uintptr_t>(memory)) {
    auto const part = [&](std::size_t rows, std::size_t of_row, std::size_t size) {
      auto const first = (end + line - 1) / line * line;
      std::uintptr_t bytes = 0;
      require(multiply<std::uintptr_t>(rows, of_row, bytes) &&
                  multiply<std::uintptr_t>(bytes, size, bytes) &&
                  static_cast<std::uint64_t>(bytes) >> 56 == 0,
              shape.function, ": scores must fit into memory, got ", rows, " of ", of_row);
      end = first + bytes;
      return reinterpret_cast<void*>(first);
    };
    auto const size = shape.doubles ? sizeof(double) : sizeof(float),
               by_fours = (shape.last - shape.first) *
                          ((shape.group + 3) / 4 * 4);  // products may pad a group
    auto const columns = (shape.last - shape.first) * shape.group;
    numbers.queries = part(by_fours, a.head_dim, size);
    numbers.scores = part(columns, a.tokens, size);
    numbers.near = part(by_fours, numbers.near_tokens, size);
    numbers.outputs = part(columns, shape.value_dim, size);
    numbers.sums = part(by_fours, shape.value_dim, size);
    auto const near = shape.encoded ? numbers.near_tokens : 0;
    numbers.few = part(near, shape.group, size);
    numbers.decoded = static_cast<float*>(part(near, std::max(a.head_dim, shape.value_dim), size));
    for (auto* slots : {&keys, &values})
      *slots =
          static_cast<std::int64_t*>(part(shape.has_slots ? a.tokens : 0, 1, sizeof(std::int64_t)));
  }

  static std::size_t bytes(attention_shape const& shape, posenc1_attention const& a) {
    return workspace(shape, a, nullptr).end + line - 1;  // which begins anywhere
  }
};

checked_heads source_of(char const* function, char const* name, posenc1_heads const& view,
                        char const* cache_name, posenc1_cache const& cache,
                        heads_shape const& shape) {
  require((view.data != nullptr) != (cache.data != nullptr), function, ": there must be one of ",
          name, " and ", cache_name);
  return cache.data != nullptr ? checked({function, cache_name}, cache, shape, false)
                               : checked({function, name}, view, shape, false);
}

stored_heads from_head(checked_heads const& heads, std::size_t first) noexcept {
  auto result = heads.stored();
  for (auto* at : {&result.codes, &result.scales})
    if (at->data != nullptr) at->data += static_cast<std::ptrdiff_t>(first) * at->head;
  return result;
}

posenc::memory_range memory_of(auto const* array, std::size_t count) noexcept {
  auto const first = reinterpret_cast<std::uintptr_t>(array);
  return {first, array == nullptr ? first : first + count * sizeof *array};
}

void attend(char const* function, posenc1_attention const& a, std::size_t first, std::size_t last) {
  auto const& set = chosen_set();
  auto const shape = checked_shape(function, a, first, last);
  require(a.queries.slots == nullptr && a.outputs.slots == nullptr, function,
          ": queries and outputs must have no slots");
  require(posenc::is_finite(shape.doubles ? a.scale : double{static_cast<float>(a.scale)}),
          function, ": scale must be finite, got ", a.scale);

  auto const queries =
      checked({function, "queries"}, a.queries, {1, 1, a.heads, a.head_dim}, false);
  auto const outputs =
      checked({function, "outputs"}, a.outputs, {1, 1, a.heads, shape.value_dim}, true);
  checked_heads keys{}, values{};  // of no tokens: nowhere
  if (a.tokens != 0) {
    keys = source_of(function, "keys", a.keys, "key_cache", a.key_cache,
                     {1, a.tokens, shape.kv_heads, a.head_dim});
    values = source_of(function, "values", a.values, "value_cache", a.value_cache,
                       {1, a.tokens, shape.kv_heads, shape.value_dim});
    require(keys.layout == bits_of(a.queries.layout), function,
            ": queries and keys must have one layout, got ", bits_of(a.queries.layout), " and ",
            keys.layout);
  }
  auto const needed = workspace::bytes(shape, a);
  require(a.memory != nullptr && a.memory_bytes >= needed, function, ": memory must have ", needed,
          " bytes, as posenc1_attention_memory says, got ", a.memory_bytes);
  auto const work = reinterpret_cast<std::uintptr_t>(a.memory);
  posenc::memory_range const used{work, work + needed};
  bool overlaps = outputs.overlaps(used);
  for (checked_heads const* read : {&queries, &std::as_const(keys), &std::as_const(values)})
    overlaps = overlaps || read->overlaps(used) || read->overlaps(outputs);
  for (auto const& read : {memory_of(a.sinks, a.heads), memory_of(keys.codes.at.slots, a.tokens),
                           memory_of(values.codes.at.slots, a.tokens)})
    overlaps = overlaps || overlap(used, read) || outputs.overlaps(read);
  require(!overlaps, function, ": outputs and memory must overlap nothing");
  if (shape.first == shape.last) return;

  workspace const space(shape, a, a.memory);
  attention_plan plan{
      .queries = from_head(queries, first * shape.group),
      .outputs = from_head(outputs, first * shape.group),
      .keys = from_head(keys, first),
      .values = from_head(values, first),
      .tokens = a.tokens,
      .kv_heads = shape.last - shape.first,
      .group = shape.group,
      .head_dim = a.head_dim,
      .value_dim = shape.value_dim,
      .scale = is_zero(a.scale) ? 1 / std::sqrt(static_cast<double>(a.head_dim)) : a.scale,
      .sinks = a.sinks == nullptr ? nullptr : a.sinks + first * shape.group,
      .memory = space.numbers};
  if (shape.has_slots) {
    auto const slot = [](places const& at, std::size_t t) {
      return at.slots == nullptr ? static_cast<std::int64_t>(t) : at.slots[t];
    };
    plan.tokens = 0;
    for (std::size_t t = 0; t < a.tokens; ++t) {
      auto const key = slot(keys.codes.at, t), value = slot(values.codes.at, t);
      if (key < 0 || value < 0) continue;
      space.keys[plan.tokens] = key, space.values[plan.tokens++] = value;
    }
    plan.keys.codes.slots = plan.keys.scales.slots = space.keys;
    plan.values.codes.slots = plan.values.scales.slots = space.values;
  }
  (set.attend != nullptr ? set.attend : set.fewer->attend)(plan);
}

}  // namespace
}  // namespace posenc_kernels

using namespace posenc_kernels;

posenc1_status posenc1_attention_memory(posenc1_attention const* attention, size_t first,
                                        size_t last, size_t* bytes) {
  return guarded([&] {
    constexpr auto function = "posenc1_attention_memory";
    require_given(function, attention, bytes);
    *bytes = workspace::bytes(checked_shape(function, *attention, first, last), *attention);
  });
}

posenc1_status posenc1_attend(posenc1_attention const* attention, size_t first, size_t last) {
  return guarded([&] {
    constexpr auto function = "posenc1_attend";
    require_given(function, attention);
    posenc_kernels::attend(function, *attention, first, last);
  });
}
