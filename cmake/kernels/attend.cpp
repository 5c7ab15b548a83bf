// The C API: attention. Checks its arguments, in O(tokens), and hands a plan to the set.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "checked_cache.hpp"
#include "checked_heads.hpp"
#include "handles.hpp"

namespace posenc_kernels {
namespace {

struct attention_shape {
  char const* function;
  std::size_t kv_heads, group, value_dim, first, last;
  bool doubles, encoded, in_pages;
  std::size_t columns() const noexcept { return (last - first) * group; }
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
  auto const type_of = [](auto const& type, bool stored = true) {
    return stored ? bits_of(type) : std::uint32_t{POSENC1_F32};
  };
  auto const q = type_of(a.queries.type), o = type_of(a.outputs.type),
             k = type_of(a.keys.type, !k_cache), v = type_of(a.values.type, !v_cache);
  require(std::max({q, k, v, o}) < types, function,
          ": types of queries, keys, values and outputs must be ones of the header, got ", q, ", ",
          k, ", ", v, " and ", o);
  bool const doubles = q == POSENC1_F64;
  for (auto const type : {k, v, o})
    require((type == POSENC1_F64) == doubles, function,
            ": queries, keys, values and outputs must be doubles alone or not at all, got types ",
            q, ", ", k, ", ", v, " and ", o, "; caches are floats");
  bool const encoded = k_cache || v_cache;
  return {function,  kv_heads, a.heads / kv_heads,
          value_dim, first,    std::min(last, kv_heads),
          doubles,   encoded,  encoded || a.keys.slots != nullptr || a.values.slots != nullptr};
}

/// Cuts memory into parts, each from a cache line on.
class memory_in_parts {
 public:
  memory_in_parts(char const* function, void* memory) noexcept
      : function_(function), end_(reinterpret_cast<std::uintptr_t>(memory)) {}

  void* next(std::size_t rows, std::size_t of_row, std::size_t size) {
    auto const first = (end_ + line - 1) / line * line;
    std::uintptr_t bytes = 0;
    bool const fits = multiply<std::uintptr_t>(rows, of_row, bytes) &&
                      multiply<std::uintptr_t>(bytes, size, bytes) &&
                      static_cast<std::uint64_t>(bytes) >> 56 == 0;
    require(fits, function_, ": scores must fit into memory, got ", rows, " of ", of_row);
    end_ = first + bytes;
    return reinterpret_cast<void*>(first);
  }
  std::uintptr_t end() const noexcept { return end_; }

  static constexpr std::uintptr_t line = 64;

 private:
  char const* function_;
  std::uintptr_t end_;
};

/// Where posenc1_attend works, in the memory of the caller.
struct workspace {
  attention_plan::workspace numbers;
  /// Where tokens are, if there are slots or pages; scales: of caches.
  char const **keys, **values, **key_scales, **value_scales;
  std::uintptr_t end;

  workspace(attention_shape const& shape, posenc1_attention const& a, void* memory) {
    auto const size = shape.doubles ? sizeof(double) : sizeof(float);
    memory_in_parts parts(shape.function, memory);
    auto const by_fours =
        (shape.last - shape.first) * ((shape.group + 3) / 4 * 4);  // products may pad a group
    numbers.queries = parts.next(by_fours, a.head_dim, size);
    numbers.scores = parts.next(shape.columns(), a.tokens, size);
    numbers.near = parts.next(by_fours, numbers.near_tokens, size);
    numbers.outputs = parts.next(shape.columns(), shape.value_dim, size);
    numbers.sums = parts.next(by_fours, shape.value_dim, size);
    auto const near = shape.encoded ? numbers.near_tokens : 0;
    numbers.few = parts.next(near, shape.group, size);
    numbers.decoded =
        static_cast<float*>(parts.next(near, std::max(a.head_dim, shape.value_dim), size));
    auto const places = [&](bool given) {
      return static_cast<char const**>(parts.next(given ? a.tokens : 0, 1, sizeof(char*)));
    };
    keys = places(shape.in_pages), values = places(shape.in_pages);
    key_scales = places(shape.encoded), value_scales = places(shape.encoded);
    end = parts.end();
  }

  static std::size_t bytes(attention_shape const& shape, posenc1_attention const& a) {
    return workspace(shape, a, nullptr).end + memory_in_parts::line - 1;  // which begins anywhere
  }
};

checked_place source_of(char const* function, char const* name, posenc1_heads const& view,
                        char const* cache_name, posenc1_cache const& cache,
                        heads_shape const& shape) {
  require((view.data != nullptr) != (cache.data != nullptr), function, ": there must be one of ",
          name, " and ", cache_name);
  return cache.data != nullptr ? place_of({function, cache_name}, cache, shape, false)
                               : place_of({function, name}, view, shape, false);
}

/// From a kv head on.
cached_heads from_head(checked_place const& place, std::size_t first) noexcept {
  auto at = place.stored();
  auto const move = [&](heads_in_bytes& heads) {
    if (heads.data != nullptr) heads.data += static_cast<std::ptrdiff_t>(first) * heads.head;
  };
  move(at.codes), move(at.scales);
  return {at, nullptr, nullptr};
}

void attend(char const* function, posenc1_attention const& a, std::size_t first, std::size_t last) {
  auto const& set = chosen_set();
  auto const shape = checked_shape(function, a, first, last);
  require(a.queries.slots == nullptr && a.outputs.slots == nullptr, function,
          ": queries and outputs must have no slots");
  require(
      posenc::is_finite(shape.doubles ? a.scale : static_cast<double>(static_cast<float>(a.scale))),
      function, ": scale must be finite, got ", a.scale);

  auto const queries =
      checked({function, "queries"}, a.queries, {1, 1, a.heads, a.head_dim}, false);
  auto const outputs =
      checked({function, "outputs"}, a.outputs, {1, 1, a.heads, shape.value_dim}, true);
  checked_place keys{}, values{};
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
  memory const used{work, work + needed};
  bool apart = !overlap(used, outputs.all);
  for (auto const& read :
       {queries.all, keys.codes.all, keys.scales.all, values.codes.all, values.scales.all,
        memory_of(a.sinks, a.heads), memory_of(keys.codes.slots, a.tokens),
        memory_of(values.codes.slots, a.tokens)})
    apart = apart && !overlap(used, read) && !overlap(outputs.all, read);
  require(apart, function, ": outputs and memory must overlap nothing");
  if (shape.first == shape.last) return;

  workspace const space(shape, a, a.memory);
  attention_plan plan{.queries = queries.data,
                      .outputs = outputs.data,
                      .query_head = queries.in_elements(a.queries.type).head,
                      .output_head = outputs.in_elements(a.outputs.type).head,
                      .query_type = a.queries.type,
                      .output_type = a.outputs.type,
                      .keys = from_head(keys, first),
                      .values = from_head(values, first),
                      .tokens = a.tokens,
                      .kv_heads = shape.last - shape.first,
                      .group = shape.group,
                      .head_dim = a.head_dim,
                      .value_dim = shape.value_dim,
                      .scale = a.scale,
                      .sinks = a.sinks,
                      .memory = space.numbers};
  auto const before = static_cast<std::ptrdiff_t>(first * shape.group);
  plan.queries = queries.data + before * queries.head.stride;
  plan.outputs = outputs.data + before * outputs.head.stride;
  if (is_zero(a.scale)) plan.scale = 1 / std::sqrt(static_cast<double>(a.head_dim));
  if (a.sinks != nullptr) plan.sinks = a.sinks + before;
  if (shape.in_pages) {
    auto const &k = plan.keys.at, &v = plan.values.at;
    plan.tokens = 0;
    for (std::size_t t = 0; t < a.tokens; ++t) {
      auto const *const key = k.codes.at(t), *const value = v.codes.at(t);
      if (key == nullptr || value == nullptr) continue;
      auto const n = plan.tokens++;
      space.keys[n] = key, space.values[n] = value;
      if (keys.has_scales) space.key_scales[n] = k.scales.at(t);
      if (values.has_scales) space.value_scales[n] = v.scales.at(t);
    }
    plan.keys.codes = space.keys, plan.keys.scales = space.key_scales;
    plan.values.codes = space.values, plan.values.scales = space.value_scales;
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
