// The C API: attention. Checks its arguments, in O(tokens), and hands a plan to the set.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "checked_heads.hpp"
#include "handles.hpp"
#include "posenc/core/bit_cast.hpp"

namespace posenc_kernels {
namespace {

struct attention_shape {
  char const* function;
  std::size_t kv_heads, group, value_dim, first, last;
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
  auto const type = bits_of(a.keys.type);
  require(type < types, function, ": keys: type must be one of the header, got ", type);
  return {function, kv_heads, a.heads / kv_heads, value_dim, first, std::min(last, kv_heads)};
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
  char const **keys, **values;  ///< where tokens are, if there are slots
  std::uintptr_t end;

  workspace(attention_shape const& shape, posenc1_attention const& a, void* memory) {
    auto const size = size_of(a.keys.type) > sizeof(float) ? sizeof(double) : sizeof(float);
    bool const paged = a.keys.slots != nullptr || a.values.slots != nullptr;
    memory_in_parts parts(shape.function, memory);
    numbers.queries = parts.next(shape.columns(), a.head_dim, size);
    numbers.scores = parts.next(shape.columns(), a.tokens, size);
    numbers.near = parts.next(shape.columns(), numbers.near_tokens, size);
    numbers.outputs = parts.next(shape.columns(), shape.value_dim, size);
    numbers.sums = parts.next(shape.columns(), shape.value_dim, size);
    keys = static_cast<char const**>(parts.next(paged ? a.tokens : 0, 1, sizeof(char*)));
    values = static_cast<char const**>(parts.next(paged ? a.tokens : 0, 1, sizeof(char*)));
    end = parts.end();
  }

  static std::size_t bytes(attention_shape const& shape, posenc1_attention const& a) {
    return workspace(shape, a, nullptr).end + memory_in_parts::line - 1;  // which begins anywhere
  }
};

cached_heads cached(checked_heads const& h, posenc1_type type, std::size_t first) noexcept {
  auto const at = h.in_elements(type);
  return {at.data + static_cast<std::ptrdiff_t>(first) * h.head.stride, at.token, at.head, nullptr};
}

void attend(char const* function, posenc1_attention const& a, std::size_t first, std::size_t last) {
  auto const& set = chosen_set();
  auto const shape = checked_shape(function, a, first, last);
  bool const doubles = a.keys.type == POSENC1_F64;
  require(a.keys.type == a.values.type && (a.queries.type == POSENC1_F64) == doubles &&
              (a.outputs.type == POSENC1_F64) == doubles,
          function, ": keys and values must have one type, doubles alone or not at all, got ",
          static_cast<int>(a.keys.type), " and ", static_cast<int>(a.values.type),
          " with queries of ", static_cast<int>(a.queries.type), " and outputs of ",
          static_cast<int>(a.outputs.type));
  require(a.keys.layout == a.queries.layout, function,
          ": queries and keys must have one layout, got ", static_cast<int>(a.queries.layout),
          " and ", static_cast<int>(a.keys.layout));
  require(a.queries.slots == nullptr && a.outputs.slots == nullptr, function,
          ": queries and outputs must have no slots");
  require(posenc::is_finite(doubles ? a.scale : static_cast<double>(static_cast<float>(a.scale))),
          function, ": scale must be finite, got ", a.scale);

  auto const queries =
      checked({function, "queries"}, a.queries, {1, 1, a.heads, a.head_dim}, false);
  auto const outputs =
      checked({function, "outputs"}, a.outputs, {1, 1, a.heads, shape.value_dim}, true);
  checked_heads keys{}, values{};
  if (a.tokens != 0) {
    keys = checked({function, "keys"}, a.keys, {1, a.tokens, shape.kv_heads, a.head_dim}, false);
    values = checked({function, "values"}, a.values, {1, a.tokens, shape.kv_heads, shape.value_dim},
                     false);
    check_slots({function, "keys"}, keys, 0, a.tokens);
    check_slots({function, "values"}, values, 0, a.tokens);
  }
  auto const needed = workspace::bytes(shape, a);
  require(a.memory != nullptr && a.memory_bytes >= needed, function, ": memory must have ", needed,
          " bytes, as posenc1_attention_memory says, got ", a.memory_bytes);
  auto const work = reinterpret_cast<std::uintptr_t>(a.memory);
  memory const used{work, work + needed};
  bool apart = !overlap(used, outputs.all);
  for (auto const& read : {queries.all, keys.all, values.all, memory_of(a.sinks, a.heads),
                           memory_of(keys.slots, a.tokens), memory_of(values.slots, a.tokens)})
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
                      .keys = cached(keys, a.keys.type, first),
                      .values = cached(values, a.values.type, first),
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
  if (posenc::detail::bit_cast<std::uint64_t>(a.scale) == 0)
    plan.scale = 1 / std::sqrt(static_cast<double>(a.head_dim));
  if (a.sinks != nullptr) plan.sinks = a.sinks + before;
  if (keys.slots != nullptr || values.slots != nullptr) {
    plan.tokens = 0;
    for (std::size_t t = 0; t < a.tokens; ++t) {
      auto const *const key = keys.at(0, t, a.tokens), *const value = values.at(0, t, a.tokens);
      if (key == nullptr || value == nullptr) continue;
      space.keys[plan.tokens] = key + static_cast<std::ptrdiff_t>(first) * keys.head.stride;
      space.values[plan.tokens] = value + static_cast<std::ptrdiff_t>(first) * values.head.stride;
      ++plan.tokens;
    }
    plan.keys.tokens = space.keys, plan.values.tokens = space.values;
  }
  auto const* const of_types = set.attend != nullptr ? set.attend : set.fewer->attend;
  of_types[a.keys.type](plan);
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
