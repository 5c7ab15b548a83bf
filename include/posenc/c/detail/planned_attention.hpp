// Attention of plans, whose formats and rules are known at run time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#include "posenc/attention/call.hpp"
#include "posenc/c/detail/planned_heads.hpp"
#include "posenc/c/detail/planned_rules.hpp"
#include "posenc/c/detail/plans.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/dot_products.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/heads_view.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c_set {

using read_heads = heads_view<any_format const, as_planned>;

/// Calls act(view) with heads as they are stored: numbers, and codes that registers load; others
/// are decoded one by one. (Found by posenc's attention, which reads them in place.)
template <class Act>
void visit_format(read_heads const& heads, Act const& act) {
  auto const& s = *heads.format().heads;
  auto const shape = heads.shape();
  auto const part = heads.addresses()[0]->part();
  with_format(s, [&]<class Format>(Format const& format) {
    if constexpr (has_numbers<Format>) {
      return act(numbers_at<typename Format::number_type const>(s.codes, shape, part));
    } else if constexpr (loads_registers<Format, lanes<float>>) {
      if constexpr (requires { Format::codes_are; } && multiplies_bytes) {
        using codes = dot_products<Format>;
        if (s.rounds_products) return act(view_of<codes const>(codes(format), s, shape, part));
      }
      return act(view_of<Format const>(format, s, shape, part));
    }
    act(view_of<decoded_format const>(decoded_format{&s}, s, shape, part));
  });
}

/// The heads of a plan: doubles, or any format. Format: const where they are only read.
template <class Real, class Format>
auto heads_of(stored_heads const& s, heads_shape const& shape) noexcept {
  if constexpr (std::is_same_v<Real, double>) {
    using number = std::conditional_t<std::is_const_v<Format>, double const, double>;
    return numbers_at<number>(s.codes, shape);
  } else {
    return view_of<Format>(s, shape);
  }
}

template <class Real>
using heads_to_read =
    decltype(heads_of<Real, any_format const>(std::declval<stored_heads const&>(), {}));
template <class Real>
using heads_to_write =
    decltype(heads_of<Real, any_format>(std::declval<stored_heads const&>(), {}));
template <class Real>
using call_of = attention_call<heads_to_read<Real>, heads_to_read<Real>, heads_to_read<Real>,
                               heads_to_write<Real>, attention_rules>;

/// The memory of a worker besides the memory of posenc's attention: the calls that plans name.
template <class Real>
class planned_calls {
  using call = call_of<Real>;

 public:
  /// sized: as attend() has it; else for the number of bytes alone, where nothing is pointed to.
  planned_calls(attention_plan const* plans, std::size_t count, bool sized, void* memory)
      : planned_calls(plans, count, memory) {
    for (; count_ < count; ++count_) {
      auto const& plan = plans[count_];
      ::new (rules_ + rules_count_) attention_rules(rules_of(plan, sized));
      ++rules_count_;
      make(plan, sized);
    }
  }
  ~planned_calls() { std::destroy_n(calls_, count_), std::destroy_n(rules_, rules_count_); }
  planned_calls(planned_calls const&) = delete;
  planned_calls& operator=(planned_calls const&) = delete;

  std::span<call const> all() const noexcept { return {calls_, count_}; }

  /// Sums of a part of the heads, which lie apart where there are several queries.
  void spread_sums(attention_plan const& plan) const noexcept {
    auto const heads = plan.kv_heads * plan.group;
    if (!has_sums_apart(plan)) return;
    for (std::size_t t = 0; t < plan.query_tokens; ++t)
      std::copy_n(sums_ + t * heads, heads,
                  plan.given->log_sum_exp + t * plan.given->heads + plan.first_head());
  }

  static std::size_t bytes(attention_plan const* plans, std::size_t count) noexcept {
    scratch memory;
    planned_calls(plans, count, memory);
    return memory.bytes();
  }

 private:
  planned_calls(attention_plan const* plans, std::size_t count, scratch& memory) {
    rules_ = memory.take<attention_rules>(count), calls_ = memory.take<call>(count);
    auto const& one = *plans;
    sums_ =
        memory.take<double>(has_sums_apart(one) ? one.query_tokens : 0, one.kv_heads * one.group);
  }
  planned_calls(attention_plan const* plans, std::size_t count, void* memory) {
    scratch parts(memory);
    planned_calls const places(plans, count, parts);
    rules_ = places.rules_, calls_ = places.calls_, sums_ = places.sums_;
  }
  /// True only for parts, which are one sequence.
  static bool has_sums_apart(attention_plan const& plan) noexcept {
    return plan.given->log_sum_exp != nullptr && plan.kv_heads * plan.group != plan.given->heads;
  }
  void make(attention_plan const& plan, bool sized) {
    auto const& a = *plan.given;
    auto const heads = plan.kv_heads * plan.group;
    auto const at = plan.first_head() * plan.query_tokens * a.tokens;
    auto const record = [&](void* numbers) -> std::span<Real> {
      if (numbers == nullptr) return {};
      return {static_cast<Real*>(numbers) + at, heads * plan.query_tokens * a.tokens};
    };
    // If queries outnumber keys, attention asks for positions, on which the bytes do not depend.
    bool const unknown = !sized && plan.query_tokens > a.tokens;
    std::unique_ptr<std::int64_t[]> const any(unknown ? new std::int64_t[plan.query_tokens]()
                                                      : nullptr);
    auto const positions = [&](std::int64_t const* given, std::size_t count) {
      return positions_view(given, given == nullptr || !sized ? 0 : count);
    };
    auto const of_queries = unknown ? positions_view(any.get(), plan.query_tokens)
                                    : positions(a.query_positions, plan.query_tokens);
    auto const view = [&]<class Format>(stored_heads const& s, std::size_t tokens, std::size_t of,
                                        std::size_t dim, Format*) {
      return heads_of<Real, Format>(s, {tokens, of, dim});
    };
    constexpr any_format const* read = nullptr;
    constexpr any_format* written = nullptr;
    ::new (calls_ + count_)
        call(view(plan.queries, plan.query_tokens, heads, a.head_dim, read),
             view(plan.keys, a.tokens, plan.kv_heads, a.head_dim, read),
             view(plan.values, a.tokens, plan.kv_heads, plan.value_dim, read),
             view(plan.outputs, plan.query_tokens, heads, plan.value_dim, written), rules_[count_],
             {}, {of_queries, positions(a.key_positions, a.tokens), true},
             {{has_sums_apart(plan) ? sums_ : a.log_sum_exp,
               a.log_sum_exp == nullptr ? 0 : heads * plan.query_tokens},
              record(a.scores),
              record(a.weights)});
  }

  attention_rules* rules_;
  call* calls_;
  double* sums_;
  std::size_t count_ = 0, rules_count_ = 0;
};

template <class Real>
struct attention_of {
  using calls = planned_calls<Real>;

  /// Plans say neither formats nor addresses here: each call's keys and values are float, or of a
  /// format that is decoded, as halves are, if that needs more.
  static std::size_t bytes(attention_plan const* plans, std::size_t count, std::size_t workers) {
    std::unique_ptr<attention_plan[]> const of_most(new attention_plan[count]);
    std::copy_n(plans, count, of_most.get());
    for (auto& plan : std::span(of_most.get(), count)) {
      auto decoded = plan;
      plan.keys.format = plan.values.format = POSENC1_F32;
      decoded.keys.format = decoded.values.format = POSENC1_F16;
      if (bytes_of(&decoded, 1, workers) > bytes_of(&plan, 1, workers)) plan = decoded;
    }
    return bytes_of(of_most.get(), count, workers);
  }
  static std::size_t bytes_of(attention_plan const* plans, std::size_t count, std::size_t workers) {
    std::unique_ptr<std::byte[]> const memory(new std::byte[calls::bytes(plans, count)]);
    calls const all(plans, count, false, memory.get());
    auto const of_calls = calls::bytes(plans, count),
               shared = posenc::attention_bytes(all.all(), workers);
    constexpr auto most = std::numeric_limits<std::size_t>::max();
    return shared > most - workers * of_calls ? most : shared + workers * of_calls;
  }
  static bool attend(attention_plan const* plans, std::size_t count, attention_team const& team) {
    auto* const memory = static_cast<std::byte*>(team.memory);
    auto const own = calls::bytes(plans, count), all_own = team.count * own;
    if (team.memory_bytes / own < team.count) return false;
    calls const all(plans, count, true, memory + team.index * own);
    std::span<std::byte> const shared(memory + all_own, team.memory_bytes - all_own);
    if (shared.size() < posenc::attention_bytes(all.all(), team.count)) return false;
    posenc::attend(worker(team.index, team.count, [&] { team.wait(team.of_wait); }), all.all(),
                   shared);
    if (count == 1) all.spread_sums(*plans);
    return true;
  }
};

inline bool is_double(attention_plan const* plans) noexcept {
  return plans->outputs.format == POSENC1_F64;
}
inline std::size_t attention_bytes(attention_plan const* plans, std::size_t count,
                                   std::size_t workers) {
  return is_double(plans) ? attention_of<double>::bytes(plans, count, workers)
                          : attention_of<float>::bytes(plans, count, workers);
}
inline bool attend(attention_plan const* plans, std::size_t count, attention_team const& team) {
  return is_double(plans) ? attention_of<double>::attend(plans, count, team)
                          : attention_of<float>::attend(plans, count, team);
}

}}}  // namespace c_set
