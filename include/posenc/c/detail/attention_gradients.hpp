// posenc.h: the gradients of attention.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "posenc/c/detail/attention.hpp"
#include "posenc/c/detail/attention_plan.hpp"
#include "posenc/c/detail/handles.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c {

inline void backward(posenc1_attention const& given, posenc1_gradients const& d, std::size_t first,
                     std::size_t last) {
  constexpr auto function = "posenc1_attention_backward";
  auto const& of_set = functions_in_use();
  auto a = given;
  a.scores = a.weights = nullptr;  // which the call before has written
  attention_memory all;
  auto const plan = plan_of(function, a, first, last, memory_used(a), all);
  require_given(function, {{"log_sum_exp", a.log_sum_exp}});
  auto const gradients = plan_of(function, a, plan, d, all);
  if (plan.kv_heads == 0) return;
  require_given(function, {{"memory", a.memory}});
  if (of_set.backward(plan, gradients, a.memory, a.memory_bytes)) return;
  refuse_memory(function, "posenc1_attention_backward_memory", of_set.backward_bytes(plan),
                a.memory_bytes);
}

POSENC_C_FUNCTION posenc1_status posenc1_attention_backward_memory(
    posenc1_attention const* attention, size_t first, size_t last, size_t* bytes) {
  return guarded([&] {
    constexpr auto function = "posenc1_attention_backward_memory";
    require_given(function, {{"attention", attention}, {"bytes", bytes}});
    auto const plan = shape_of(function, *attention, first, last);
    in_name_of(function, [&] {
      auto const needed = plan.kv_heads == 0 ? 0 : functions_in_use().backward_bytes(plan);
      require_size(function, needed);
      *bytes = needed;
    });
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_attention_backward(posenc1_attention const* attention,
                                                            posenc1_gradients const* gradients,
                                                            size_t first, size_t last) {
  return guarded([&] {
    constexpr auto function = "posenc1_attention_backward";
    require_given(function, {{"attention", attention}, {"gradients", gradients}});
    in_name_of(function, [&] { backward(*attention, *gradients, first, last); });
  });
}

}}}  // namespace posenc::detail::c
