// Attention of one query per head, compiled for each instruction set. (Included by set.cpp alone.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>

#include "posenc/attention/decode_products.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/softmax/row_exponentials.hpp"
#include "set.hpp"

namespace posenc_kernels {
namespace {

// What few_scores and few_outputs ask of keys and of values.
template <class S>
class cache_view {
 public:
  using element_type = S const;
  cache_view(cached_heads const& at, std::size_t tokens, std::size_t heads,
             std::size_t dim) noexcept
      : cache_view(at, 0, tokens, heads, dim) {}

  std::size_t tokens() const noexcept { return tokens_; }
  std::size_t heads() const noexcept { return heads_; }
  std::size_t head_dim() const noexcept { return dim_; }
  std::span<S const> operator()(std::size_t token, std::size_t head) const noexcept {
    auto const t = first_ + token;
    S const* at = nullptr;
    if (at_.tokens == nullptr) {
      at = reinterpret_cast<S const*>(at_.data) + static_cast<std::ptrdiff_t>(t) * at_.token;
    } else {
      // Volatile, or clang loads a whole block with a mask, which qemu 7.2 refuses from null.
      auto const* const place = static_cast<char const* const volatile*>(at_.tokens) + t;
      at = reinterpret_cast<S const*>(*place);
    }
    return {at + static_cast<std::ptrdiff_t>(head) * at_.head, dim_};
  }
  cache_view slice_tokens(std::size_t first, std::size_t count) const noexcept {
    return {at_, first_ + first, count, heads_, dim_};
  }

 private:
  cache_view(cached_heads const& at, std::size_t first, std::size_t tokens, std::size_t heads,
             std::size_t dim) noexcept
      : at_(at), first_(first), tokens_(tokens), heads_(heads), dim_(dim) {}

  cached_heads const& at_;
  std::size_t first_, tokens_, heads_, dim_;
};

// Calls what(a null T*) with the type of that number, of those that are computed as Real.
template <class Real>
void with_type(std::size_t type, auto const& what) noexcept {
  if constexpr (std::is_same_v<Real, double>) {
    what(static_cast<double*>(nullptr));
  } else {
    if (type == 0) what(static_cast<float*>(nullptr));
    if (type == 2) what(static_cast<posenc::half*>(nullptr));
    if (type == 3) what(static_cast<posenc::bfloat16*>(nullptr));
  }
}

template <class S>
void attend(attention_plan const& plan) noexcept {
  using real = posenc::arithmetic_t<S>;
  static_assert(attention_plan::workspace::near_tokens == posenc::detail::near_tokens);
  auto const columns = plan.kv_heads * plan.group, tokens = plan.tokens;
  auto* const queries = static_cast<real*>(plan.memory.queries);
  auto* const scores = static_cast<real*>(plan.memory.scores);
  auto* const outputs = static_cast<real*>(plan.memory.outputs);
  with_type<real>(plan.query_type, [&]<class T>(T*) {
    for (std::size_t c = 0; c < columns; ++c) {
      auto const* const from =
          static_cast<T const*>(plan.queries) + static_cast<std::ptrdiff_t>(c) * plan.query_head;
      std::transform(from, from + plan.head_dim, queries + c * plan.head_dim,
                     [](T const& x) { return posenc::load(x); });
    }
  });
  posenc::detail::few_scores<real, S>(
      scores, static_cast<real>(plan.scale), queries, plan.group,
      cache_view<S>(plan.keys, tokens, plan.kv_heads, plan.head_dim),
      static_cast<real*>(plan.memory.near));
  for (std::size_t c = 0; c < columns; ++c) {
    auto* const row = scores + c * tokens;
    auto const top = posenc::detail::largest(row, tokens);
    auto const sum = posenc::detail::exponentials<false>(row, row, tokens, top).exponentials;
    auto const share = static_cast<real>(
        posenc::detail::share_of({1, static_cast<double>(top), sum},
                                 plan.sinks == nullptr ? posenc::no_sink : plan.sinks[c])
            .share);
    for (auto& weight : std::span(row, tokens)) weight *= share;
  }
  std::fill_n(outputs, columns * plan.value_dim, real{0});
  posenc::detail::few_outputs<real, S>(
      outputs, scores, plan.group,
      cache_view<S>(plan.values, tokens, plan.kv_heads, plan.value_dim),
      static_cast<real*>(plan.memory.sums), static_cast<real*>(plan.memory.near));
  with_type<real>(plan.output_type, [&]<class T>(T*) {
    for (std::size_t c = 0; c < columns; ++c) {
      auto* const to =
          static_cast<T*>(plan.outputs) + static_cast<std::ptrdiff_t>(c) * plan.output_head;
      for (std::size_t i = 0; i < plan.value_dim; ++i)
        posenc::store(to[i], outputs[c * plan.value_dim + i]);
    }
  });
}

}  // namespace
}  // namespace posenc_kernels
