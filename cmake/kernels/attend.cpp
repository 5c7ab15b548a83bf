// The C API: attention. Checks its arguments, in O(tokens), and hands plans to the set.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "attention_plan.hpp"
#include "handles.hpp"
#include "posenc/core/detail/scratch.hpp"
#include "posenc/core/detail/worker_marks.hpp"

namespace posenc_kernels {
namespace {

attention_functions const& functions_in_use() {
  auto const& set = chosen_set();
  return *(set.attention != nullptr ? set.attention : set.fewer->attention);
}

[[noreturn]] void refuse_memory(char const* function, char const* size_of, std::size_t needed,
                                std::size_t bytes) {
  posenc::detail::refuse(function, ": memory must have ", needed, " bytes, as ", size_of,
                         " says, got ", bytes);
}
void require_size(char const* function, std::size_t bytes) {
  require(bytes != std::numeric_limits<std::size_t>::max(), function,
          ": scores must fit into memory, got more");
}

void attend(posenc1_attention const& a, std::size_t first, std::size_t last) {
  constexpr auto function = "posenc1_attend";
  auto const& of_set = functions_in_use();
  auto const memory = reinterpret_cast<std::uintptr_t>(a.memory);
  auto const plan = plan_of(
      function, a, first, last,
      {memory, memory + std::min<std::uintptr_t>(
                            a.memory_bytes, std::numeric_limits<std::uintptr_t>::max() - memory)});
  if (plan.kv_heads == 0) return;
  require_given(function, {{"memory", a.memory}});
  attention_team const alone{0, 1, a.memory, a.memory_bytes, [](void*) {}, nullptr};
  if (of_set.attend(&plan, 1, alone)) return;
  refuse_memory(function, "posenc1_attention_memory", of_set.bytes(&plan, 1, 1), a.memory_bytes);
}

/// What the workers of a call share beside the memory of the set's own.
struct shared_memory {
  posenc::detail::worker_marks marks;
  attention_plan* plans;  ///< [workers][count]
  std::byte* rest;
  std::size_t bytes;  ///< before the rest

  shared_memory(std::size_t count, std::size_t workers, void* memory)
      : shared_memory(
            count, workers,
            memory == nullptr ? posenc::detail::scratch() : posenc::detail::scratch(memory)) {}

 private:
  shared_memory(std::size_t count, std::size_t workers, posenc::detail::scratch all)
      : marks(all, workers), plans(all.take<attention_plan>(workers, count)) {
    rest = all.take<std::byte>(0);
    bytes = all.bytes();
  }
};

/// Of what equal workers are given, but for their indices.
std::uint64_t hash_of(posenc1_attention const* attentions, std::size_t count,
                      posenc1_worker const& worker) noexcept {
  std::uint64_t hash = 0x9e37'79b9'7f4a'7c15u;
  auto const add = [&](auto const&... values) {
    auto const one = [&](auto const& value) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof value);
      hash = (hash ^ bits) * 0xff51'afd7'ed55'8ccdu;
      hash ^= hash >> 32;
    };
    (one(values), ...);
  };
  auto const heads = [&](posenc1_heads const& h) {
    add(h.data, h.type, h.token_stride, h.head_stride, h.slots, h.page_tokens);
  };
  auto const cache = [&](posenc1_cache const& c) {
    add(c.data, c.format, c.token_stride, c.head_stride, c.slots, c.page_tokens, c.scales, c.scale);
  };
  add(count, worker.count, worker.memory_bytes);
  for (auto const& a : std::span(attentions, count)) {
    heads(a.queries), heads(a.outputs), heads(a.keys), heads(a.values);
    cache(a.key_cache), cache(a.value_cache);
    add(a.tokens, a.heads, a.kv_heads, a.head_dim, a.value_dim, a.scale, a.sinks, a.query_tokens,
        a.query_positions, a.key_positions, a.causal, a.dot_products, a.behind, a.ahead, a.chunk,
        a.mask.data, a.mask.type, a.mask.query_stride, a.bias.data, a.bias.type, a.slopes, a.cap,
        a.temperature.rule, a.temperature.length, a.log_sum_exp, a.scores, a.weights, a.key_bias,
        a.profiles.profiles, a.profiles.rank, a.profiles.extent, a.profiles.query_side, a.tau,
        a.temperature.scale);
  }
  return hash;
}

/// One worker on its way through the barriers.
struct worker_on_the_way {
  posenc1_attention const* attentions;
  std::size_t count;
  posenc1_worker given;
  bool has_waited = false;

  void wait() {
    has_waited = true;
    if (given.barrier != nullptr) given.barrier(given.barrier_argument);
  }
  /// Leaves a mark, and finds out behind the first barrier whether all workers are here with equal
  /// arguments: before that, nothing else is in the memory, whose parts depend on their numbers.
  void find_agreement(posenc::detail::worker_marks const& marks) {
    auto const hash = hash_of(attentions, count, given);
    marks.leave(given.index, hash);
    wait();
    bool const agree = marks.agree_on(hash);
    if (!agree) marks.erase(given.index);
    require(agree, "posenc1_attend_as: workers must be ", given.count,
            ", with indices of their own and equal arguments without an error, got others");
  }
};

constexpr auto attend_as_function = "posenc1_attend_as";

std::size_t bytes_of(char const* function, posenc1_attention const* attentions, std::size_t count,
                     std::size_t workers) {
  std::vector<attention_plan> plans;
  for (auto const& a : std::span(attentions, count))
    plans.push_back(shape_of(function, a, 0, std::numeric_limits<std::size_t>::max()));
  shared_memory const shared(count, workers, nullptr);
  require_size(function, shared.bytes);
  std::size_t rest = 0;
  in_name_of(function, [&] {
    if (count != 0) rest = functions_in_use().bytes(plans.data(), count, workers);
  });
  require_size(function, rest);
  require_size(function, rest > std::numeric_limits<std::size_t>::max() - shared.bytes
                             ? rest
                             : rest + shared.bytes);
  return rest + shared.bytes;
}

void attend_as(worker_on_the_way& self) {
  constexpr auto function = attend_as_function;
  auto const& given = self.given;
  require(given.index < given.count, function, ": index must be below count, got ", given.index,
          " of ", given.count);
  require(given.count == 1 || given.barrier != nullptr, function, ": there must be a barrier for ",
          given.count, " workers, got null");
  auto const refuse_its_memory = [&] {
    refuse_memory(function, "posenc1_attention_memory_of",
                  bytes_of(function, self.attentions, self.count, given.count), given.memory_bytes);
  };
  if (self.count == 0 && given.count == 1) return;
  shared_memory const sizes(self.count, given.count, nullptr);
  require_given(function, {{"memory", given.memory}});
  if (given.memory_bytes < sizes.bytes) refuse_its_memory();
  shared_memory const shared(self.count, given.count, given.memory);
  self.find_agreement(shared.marks);
  if (self.count == 0) return;
  struct unmarked {  // when it leaves
    posenc::detail::worker_marks const& marks;
    std::size_t index;
    ~unmarked() { marks.erase(index); }
  } const on_leaving{shared.marks, given.index};
  auto const memory = reinterpret_cast<std::uintptr_t>(given.memory);
  posenc::memory_range const used{memory, memory + given.memory_bytes};
  auto* const plans = shared.plans + given.index * self.count;
  for (std::size_t i = 0; i < self.count; ++i) {
    ::new (plans + i) attention_plan(
        plan_of(function, self.attentions[i], 0, std::numeric_limits<std::size_t>::max(), used));
    require((plans[i].outputs.format == POSENC1_F64) == (plans->outputs.format == POSENC1_F64),
            function, ": sequences must be of doubles alone or not at all");
  }
  auto const before_rest =
      static_cast<std::size_t>(shared.rest - static_cast<std::byte*>(given.memory));
  attention_team const team{given.index,
                            given.count,
                            shared.rest,
                            given.memory_bytes - before_rest,
                            [](void* way) { static_cast<worker_on_the_way*>(way)->wait(); },
                            &self};
  if (!functions_in_use().attend(plans, self.count, team)) refuse_its_memory();
}

}  // namespace
}  // namespace posenc_kernels

using namespace posenc_kernels;

posenc1_status posenc1_key_bias_create(posenc1_frequencies const* f, float const* bias,
                                       size_t kv_heads, size_t heads, size_t head_dim,
                                       posenc1_layout layout, size_t first_dim, size_t hadamard,
                                       posenc1_key_bias** result) {
  return guarded([&] {
    constexpr auto function = "posenc1_key_bias_create";
    require_given(function, {{"f", f}, {"bias", bias}, {"result", result}});
    require_dim(function, "heads", heads), require_dim(function, "kv_heads", kv_heads);
    require_dim(function, "head_dim", head_dim);
    auto const bits = bits_of(layout);
    require(bits < layouts, function, ": layout must be one of the header, got ", bits);
    auto const& set = functions_in_use();
    auto made = std::make_unique<posenc1_key_bias>(
        posenc1_key_bias{&set, nullptr, kv_heads, heads, head_dim});
    in_name_of(function, [&] {
      made->bias = set.make_key_bias(
          {list_of(*f), bias, kv_heads, heads, head_dim, first_dim, bits, hadamard});
    });
    *result = made.release();
  });
}

posenc1_status posenc1_key_bias_at(posenc1_key_bias const* bias, int64_t const* positions,
                                   size_t tokens, int64_t delta, posenc1_key_bias** result) {
  return guarded([&] {
    constexpr auto function = "posenc1_key_bias_at";
    require_given(function, {{"bias", bias}, {"result", result}});
    if (tokens != 0) require_given(function, {{"positions", positions}});
    constexpr int most = sizeof(std::size_t) > 4 ? 40 : 27;  // positions fit into memory
    require(tokens <= std::size_t{1} << most, function, ": tokens must be at most 2^", most,
            ", got ", tokens);
    auto made = std::make_unique<posenc1_key_bias>(*bias);
    in_name_of(function,
               [&] { made->bias = bias->set->key_bias_at(*bias->bias, positions, tokens, delta); });
    *result = made.release();
  });
}

void posenc1_key_bias_destroy(posenc1_key_bias* bias) {
  if (bias == nullptr) return;
  bias->set->destroy_key_bias(bias->bias);
  delete bias;
}

posenc1_status posenc1_attention_memory(posenc1_attention const* attention, size_t first,
                                        size_t last, size_t* bytes) {
  return guarded([&] {
    constexpr auto function = "posenc1_attention_memory";
    require_given(function, {{"attention", attention}, {"bytes", bytes}});
    auto const plan = shape_of(function, *attention, first, last);
    in_name_of(function, [&] {
      auto const needed = plan.kv_heads == 0 ? 0 : functions_in_use().bytes(&plan, 1, 1);
      require_size(function, needed);
      *bytes = needed;
    });
  });
}

posenc1_status posenc1_attend(posenc1_attention const* attention, size_t first, size_t last) {
  return guarded([&] {
    constexpr auto function = "posenc1_attend";
    require_given(function, {{"attention", attention}});
    in_name_of(function, [&] { posenc_kernels::attend(*attention, first, last); });
  });
}

posenc1_status posenc1_attention_memory_of(posenc1_attention const* attentions, size_t count,
                                           size_t workers, size_t* bytes) {
  return guarded([&] {
    constexpr auto function = "posenc1_attention_memory_of";
    require_given(function, {{"bytes", bytes}});
    if (count != 0) require_given(function, {{"attentions", attentions}});
    *bytes = bytes_of(function, attentions, count, std::max<std::size_t>(workers, 1));
  });
}

posenc1_status posenc1_attend_as(posenc1_attention const* attentions, size_t count,
                                 posenc1_worker const* worker) {
  return guarded([&] {
    require_given(attend_as_function, {{"worker", worker}});
    worker_on_the_way self{attentions, count, *worker};
    self.given.count = std::max<std::size_t>(self.given.count, 1);
    try {
      if (count != 0) require_given(attend_as_function, {{"attentions", attentions}});
      in_name_of(attend_as_function, [&] { attend_as(self); });
    } catch (...) {
      if (!self.has_waited) self.wait();
      throw;
    }
  });
}
