// posenc.h: attention. Checks its arguments, in O(tokens), and hands plans to the set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "posenc/attention/detail/argument_hash.hpp"
#include "posenc/c/detail/attention_plan.hpp"
#include "posenc/c/detail/choice.hpp"
#include "posenc/c/detail/handles.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/detail/worker_marks.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c {

inline attention_functions const& functions_in_use() {
  auto const& set = chosen_set();
  return *first_of(set, [](instruction_set const& one) noexcept { return one.attention; });
}

[[noreturn]] inline void refuse_memory(char const* function, char const* size_of,
                                       std::size_t needed, std::size_t bytes) {
  refuse(function, ": memory must have ", needed, " bytes, as ", size_of, " says, got ", bytes);
}
inline void require_size(char const* function, std::size_t bytes) {
  require(bytes != std::numeric_limits<std::size_t>::max(), function,
          ": scores must fit into memory, got more");
}

/// The memory that is given to a call alone.
inline memory_range memory_used(posenc1_attention const& a) noexcept {
  auto const memory = reinterpret_cast<std::uintptr_t>(a.memory);
  return {memory,
          memory + std::min<std::uintptr_t>(a.memory_bytes,
                                            std::numeric_limits<std::uintptr_t>::max() - memory)};
}

inline void attend(posenc1_attention const& a, std::size_t first, std::size_t last) {
  constexpr auto function = "posenc1_attend";
  auto const& of_set = functions_in_use();
  auto const plan = plan_of(function, a, first, last, memory_used(a));
  if (plan.kv_heads == 0) return;
  require_given(function, {{"memory", a.memory}});
  attention_team const alone{0, 1, a.memory, a.memory_bytes, [](void*) {}, nullptr};
  if (of_set.attend(&plan, 1, alone)) return;
  refuse_memory(function, "posenc1_attention_memory", of_set.bytes(&plan, 1, 1), a.memory_bytes);
}

/// The memory that the workers of a call share, besides the memory of the set.
struct shared_memory {
  worker_marks marks;
  attention_plan* plans;  ///< [workers][count]
  std::byte* rest;
  std::size_t bytes;  ///< before the rest

  shared_memory(std::size_t count, std::size_t workers, void* memory)
      : shared_memory(count, workers, memory == nullptr ? scratch() : scratch(memory)) {}

 private:
  shared_memory(std::size_t count, std::size_t workers, scratch all)
      : marks(all, workers), plans(all.take<attention_plan>(workers, count)) {
    rest = all.take<std::byte>(0);
    bytes = all.bytes();
  }
};

inline constexpr auto attend_as_function = "posenc1_attend_as";

/// A hash of what must be equal before the memory has parts: of how many workers and sequences, and
/// where heads are, field by field, as structs have padding. All else is in the hash that posenc's
/// attention leaves.
inline std::uint64_t hash_of(posenc1_attention const* attentions, std::size_t count,
                             posenc1_worker const& worker) noexcept {
  argument_hash all;
  auto const add = [&](auto const&... fields) {
    auto const one = [&](auto const& field) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &field, sizeof field);
      all.add(bits);
    };
    (one(fields), ...);
  };
  add(count, worker.count, worker.memory, worker.memory_bytes);
  for (auto const& sequence : std::span(attentions, count)) {
    for (auto const* heads :
         {&sequence.queries, &sequence.outputs, &sequence.keys, &sequence.values}) {
      auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = *heads;
      add(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
    }
  }
  return all.value();
}

/// One worker on its way through the barriers.
struct worker_on_the_way {
  posenc1_attention const* attentions;
  std::size_t count;
  posenc1_worker given;
  bool is_awaited = true;  ///< by the others, at the next barrier

  void wait() {
    is_awaited = false;
    if (given.barrier != nullptr) given.barrier(given.barrier_argument);
  }
  /// Calls act(); on an error the others find this worker at the barrier where they wait for it.
  void go(auto const& act) {
    try {
      act();
    } catch (...) {
      if (is_awaited) wait();
      throw;
    }
  }
  /// Finds out behind the first barrier whether all workers are here, and have parts of the memory.
  void find_agreement(worker_marks const& marks) {
    auto const hash = hash_of(attentions, count, given);
    marks.leave(given.index, hash);
    wait();
    marks.require_agreement(attend_as_function, given.index, hash);
    is_awaited = true;
  }
};

inline std::size_t bytes_of(char const* function, posenc1_attention const* attentions,
                            std::size_t count, std::size_t workers) {
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

inline void attend_as(worker_on_the_way& self) {
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
  struct unmarked {  // when it leaves, and the others have looked
    worker_marks const& marks;
    std::size_t index;
    ~unmarked() { marks.erase(index); }
  } const on_leaving{shared.marks, given.index};
  self.go([&] {
    auto const memory = reinterpret_cast<std::uintptr_t>(given.memory);
    memory_range const used{memory, memory + given.memory_bytes};
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
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_key_bias_create(
    posenc1_frequencies const* f, float const* bias, size_t kv_heads, size_t heads, size_t head_dim,
    posenc1_layout layout, size_t first_dim, size_t hadamard, posenc1_key_bias** result) {
  return guarded([&] {
    constexpr auto function = "posenc1_key_bias_create";
    require_given(function, {{"f", f}, {"bias", bias}, {"result", result}});
    require_dim(function, "heads", heads), require_dim(function, "kv_heads", kv_heads);
    require_dim(function, "head_dim", head_dim);
    auto const bits = bits_of(layout);
    require(bits - 1 < layouts, function,
            ": layout must be POSENC1_HALVES or POSENC1_INTERLEAVED, got ", bits);
    auto const& set = functions_in_use();
    auto made = std::make_unique<posenc1_key_bias>(posenc1_key_bias{&set, nullptr});
    in_name_of(function, [&] {
      made->bias = set.make_key_bias(
          {list_of(*f), bias, kv_heads, heads, head_dim, first_dim, bits - 1, hadamard});
    });
    *result = made.release();
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_key_bias_at(posenc1_key_bias const* bias,
                                                     int64_t const* positions, size_t tokens,
                                                     int64_t delta, posenc1_key_bias** result) {
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

POSENC_C_FUNCTION void posenc1_key_bias_destroy(posenc1_key_bias* bias) {
  if (bias == nullptr) return;
  bias->set->destroy_key_bias(bias->bias);
  delete bias;
}

POSENC_C_FUNCTION int posenc1_has_dot_products() {
  int has = 0;
  guarded([&] { has = functions_in_use().rounds_products ? 1 : 0; });
  return has;
}

POSENC_C_FUNCTION posenc1_status posenc1_attention_memory(posenc1_attention const* attention,
                                                          size_t first, size_t last,
                                                          size_t* bytes) {
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

POSENC_C_FUNCTION posenc1_status posenc1_attend(posenc1_attention const* attention, size_t first,
                                                size_t last) {
  return guarded([&] {
    constexpr auto function = "posenc1_attend";
    require_given(function, {{"attention", attention}});
    in_name_of(function, [&] { c::attend(*attention, first, last); });
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_attention_memory_of(posenc1_attention const* attentions,
                                                             size_t count, size_t workers,
                                                             size_t* bytes) {
  return guarded([&] {
    constexpr auto function = "posenc1_attention_memory_of";
    require_given(function, {{"bytes", bytes}});
    if (count != 0) require_given(function, {{"attentions", attentions}});
    require(workers > 0, function, ": workers must be at least 1, got 0");
    *bytes = bytes_of(function, attentions, count, workers);
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_attend_as(posenc1_attention const* attentions,
                                                   size_t count, posenc1_worker const* worker) {
  return guarded([&] {
    require_given(attend_as_function, {{"worker", worker}});
    worker_on_the_way self{attentions, count, *worker};
    self.go([&] {
      if (count != 0) require_given(attend_as_function, {{"attentions", attentions}});
      in_name_of(attend_as_function, [&] { c::attend_as(self); });
    });
  });
}

}}}  // namespace posenc::detail::c
