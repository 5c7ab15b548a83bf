// The gradients of attention of plans.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>

#include "posenc/attention/detail/backward_blocks.hpp"
#include "posenc/attention/rules.hpp"
#include "posenc/c/detail/planned_attention.hpp"
#include "posenc/c/detail/planned_heads.hpp"
#include "posenc/c/detail/planned_rules.hpp"
#include "posenc/c/detail/plans.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c_set {

/// Heads of T without slots, all set to 0.
template <class T>
heads_view<T> cleared(places const& at, heads_shape const& shape) {
  constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
  heads_view<T> const heads(reinterpret_cast<T*>(at.data), shape,
                            {at.token / size, at.head / size});
  for (std::size_t t = 0; t < shape.tokens; ++t)
    for (std::size_t head = 0; head < shape.heads; ++head) std::ranges::fill(heads(t, head), T{0});
  return heads;
}

template <class Real>
struct gradients_of {
  using calls = planned_calls<Real>;
  using blocks = backward_blocks<Real, attention_rules>;

  static std::size_t bytes(attention_plan const& plan) {
    auto const own = calls::bytes(&plan, 1);
    std::unique_ptr<std::byte[]> const memory(new std::byte[own]);
    calls const one(&plan, 1, false, memory.get());
    auto const of_blocks = bytes(one);
    return of_blocks > std::numeric_limits<std::size_t>::max() - own ? of_blocks : of_blocks + own;
  }
  static bool backward(attention_plan const& plan, gradients_plan const& d, void* memory,
                       std::size_t memory_bytes) {
    auto const own = calls::bytes(&plan, 1);
    if (memory_bytes < own) return false;
    calls const one(&plan, 1, true, memory);
    auto const& call = one.all().front();
    if (memory_bytes - own < bytes(one)) return false;
    require(call.keys().has_all() && call.values().has_all(),
            "keys and values must all have a slot");
    auto const& given = call.given();
    heads_shape const of_outputs{given.queries, given.heads, given.value_dim};
    auto const read = [&](stored_heads const& heads) {
      return heads_of<Real, any_format const>(heads, of_outputs);
    };
    backward_heads<Real, heads_to_read<Real>, heads_to_read<Real>> const of{
        read(plan.outputs),
        plan.given->log_sum_exp + plan.first_head(),
        plan.given->heads,
        read(d.outputs),
        cleared<Real>(d.queries.codes, call.queries().shape()),
        cleared<Real>(d.keys.codes, call.keys().shape()),
        cleared<Real>(d.values.codes, call.values().shape())};
    if (given.keys == 0) return true;
    scratch rest(static_cast<std::byte*>(memory) + own);
    blocks(call.encoding(), given, call.sites(), rest)
        .add_all(call.queries(), call.keys(), call.values(), of);
    return true;
  }

 private:
  static std::size_t bytes(calls const& one) {
    auto const& call = one.all().front();
    scratch counted;
    blocks(call.encoding(), call.given(), call.sites(), counted);
    return counted.bytes();
  }
};

inline std::size_t backward_bytes(attention_plan const& plan) {
  return is_double(&plan) ? gradients_of<double>::bytes(plan) : gradients_of<float>::bytes(plan);
}
inline bool backward(attention_plan const& plan, gradients_plan const& gradients, void* memory,
                     std::size_t memory_bytes) {
  return is_double(&plan) ? gradients_of<double>::backward(plan, gradients, memory, memory_bytes)
                          : gradients_of<float>::backward(plan, gradients, memory, memory_bytes);
}

inline constexpr attention_functions functions_of_attention{
    has_dot_products, attention_bytes,  attend,         make_key_bias,
    key_bias_at,      destroy_key_bias, backward_bytes, backward};

}}}  // namespace posenc::detail::c_set
