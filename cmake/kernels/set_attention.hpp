// Attention of one query per head, compiled for each instruction set. (Included by set.cpp alone,
// after set_step.hpp, which has the formats.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>

#include "posenc/core/storage.hpp"
#include "posenc/decode/decode_products.hpp"
#include "posenc/softmax/row_exponentials.hpp"
#include "set.hpp"

namespace posenc_kernels {
namespace {

// ---- What few_scores and few_outputs ask of keys and of values.

class cached_places {
 public:
  cached_places(cached_heads const& heads, std::size_t tokens, std::size_t kv_heads,
                std::size_t dim) noexcept
      : cached_(heads), tokens_(tokens), heads_(kv_heads), dim_(dim) {}

  std::size_t tokens() const noexcept { return tokens_; }
  std::size_t heads() const noexcept { return heads_; }
  std::size_t head_dim() const noexcept { return dim_; }
  std::byte const* codes(std::size_t token, std::size_t head) const noexcept {
    return at(cached_.codes, cached_.at.codes, token, head);
  }
  std::byte const* scales(std::size_t token, std::size_t head) const noexcept {
    return at(cached_.scales, cached_.at.scales, token, head);
  }

 protected:
  cached_heads const& cached_;

 private:
  static std::byte const* at(char const* const* tokens, heads_in_bytes const& heads,
                             std::size_t token, std::size_t head) noexcept {
    char const* first = nullptr;
    if (tokens == nullptr) {
      first = heads.data + static_cast<std::ptrdiff_t>(token) * heads.token;
    } else {
      // Volatile, or clang loads a whole block with a mask, which qemu 7.2 refuses from null.
      first = static_cast<char const* const volatile*>(tokens)[token];
    }
    return reinterpret_cast<std::byte const*>(first +
                                              static_cast<std::ptrdiff_t>(head) * heads.head);
  }

  std::size_t tokens_, heads_, dim_;
};

// Stored as numbers T.
template <class T>
struct cached_numbers : cached_places {
  using cached_places::cached_places;
  using stored = T;
  std::span<T const> operator()(std::size_t token, std::size_t head) const noexcept {
    return {reinterpret_cast<T const*>(codes(token, head)), head_dim()};
  }
};
// In a format.
template <std::size_t I>
struct cached_codes : cached_places {
  using cached_places::cached_places;
  using stored = decltype(format_of<I>({}));
  stored format() const noexcept { return format_of<I>(cached_.at); }
};
// Decoded, dense, of one kv head.
struct decoded_floats {
  using stored = float;
  float const* numbers;
  std::size_t count, dim;
  std::size_t tokens() const noexcept { return count; }
  std::size_t heads() const noexcept { return 1; }
  std::size_t head_dim() const noexcept { return dim; }
  std::span<float const> operator()(std::size_t token, std::size_t) const noexcept {
    return {numbers + token * dim, dim};
  }
};

// ---- Products, of keys or values as they are stored

// Calls act(first token, tokens, first query, view) for parts of all, whose scores or weights are
// [queries][tokens] each.
template <class Source>
void for_parts(cached_heads const& heads, attention_plan const& plan, std::size_t dim,
               auto const& act) noexcept {
  if constexpr (!std::is_same_v<Source, decoded_floats>) {
    act(std::size_t{0}, plan.tokens, std::size_t{0},
        Source(heads, plan.tokens, plan.kv_heads, dim));
  } else {
    cached_places const places(heads, plan.tokens, plan.kv_heads, dim);
    bool const has_scales = heads.at.scales.data != nullptr;
    auto const chars = [](std::byte const* bytes) { return reinterpret_cast<char const*>(bytes); };
    for (std::size_t first = 0; first < plan.tokens; first += plan.memory.near_tokens) {
      auto const count = std::min(plan.tokens - first, plan.memory.near_tokens);
      for (std::size_t head = 0; head < plan.kv_heads; ++head) {
        for (std::size_t i = 0; i < count; ++i) {
          decoders[heads.at.format](heads.at, chars(places.codes(first + i, head)),
                                    has_scales ? chars(places.scales(first + i, head)) : nullptr,
                                    plan.memory.decoded + i * dim, dim);
        }
        act(first, count, head * plan.group, decoded_floats{plan.memory.decoded, count, dim});
      }
    }
  }
}

template <class Real, class Source>
void scores_of(attention_plan const& plan) noexcept {
  auto* const scores = static_cast<Real*>(plan.memory.scores);
  for_parts<Source>(plan.keys, plan, plan.head_dim, [&](auto first, auto count, auto c, auto view) {
    using stored = typename Source::stored;
    bool const is_all = count == plan.tokens;
    auto* const to = is_all ? scores + c * count : static_cast<Real*>(plan.memory.few);
    posenc::detail::few_scores<Real, stored>(
        to, static_cast<Real>(plan.scale),
        static_cast<Real const*>(plan.memory.queries) +
            posenc::detail::padded_row(c, plan.group, posenc::detail::padded_rows(plan.group)) *
                plan.head_dim,
        plan.group, view, static_cast<Real*>(plan.memory.near));
    for (std::size_t r = 0; !is_all && r < plan.group; ++r)
      std::copy_n(to + r * count, count, scores + (c + r) * plan.tokens + first);
  });
}

template <class Real, class Source>
void outputs_of(attention_plan const& plan) noexcept {
  auto const* const weights = static_cast<Real const*>(plan.memory.scores);
  for_parts<Source>(
      plan.values, plan, plan.value_dim, [&](auto first, auto count, auto c, auto view) {
        using stored = typename Source::stored;
        bool const is_all = count == plan.tokens;
        auto* const few = static_cast<Real*>(plan.memory.few);
        for (std::size_t r = 0; !is_all && r < plan.group; ++r)
          std::copy_n(weights + (c + r) * plan.tokens + first, count, few + r * count);
        posenc::detail::few_outputs<Real, stored>(
            static_cast<Real*>(plan.memory.outputs) + c * plan.value_dim,
            is_all ? weights + c * count : few, plan.group, view,
            static_cast<Real*>(plan.memory.sums), static_cast<Real*>(plan.memory.near));
      });
}

// What reads a format: numbers and codes in registers where they are, others as they are decoded.
// Codes read alike whoever wrote them.
template <class Act>
void with_source(stored_heads const& at, Act const& act) noexcept {
  auto const aligned = [&](std::size_t size) {
    auto const bits = reinterpret_cast<std::uintptr_t>(at.codes.data) |
                      static_cast<std::uintptr_t>(at.codes.page) |
                      static_cast<std::uintptr_t>(at.codes.token) |
                      static_cast<std::uintptr_t>(at.codes.head);
    return (bits & (size - 1)) == 0;
  };
  auto const numbers = [&]<class T>(T*) {
    if (aligned(sizeof(T))) return act.template operator()<cached_numbers<T>>();
    act.template operator()<decoded_floats>();
  };
  switch (at.format) {
    case 0:
      return numbers(static_cast<float*>(nullptr));
    case 2:
      return numbers(static_cast<posenc::half*>(nullptr));
    case 3:
      return numbers(static_cast<posenc::bfloat16*>(nullptr));
    case 4:
      return act.template operator()<cached_codes<4>>();
    case 5:
    case 6:
      return act.template operator()<cached_codes<5>>();
    case 7:
    case 8:
      return act.template operator()<cached_codes<7>>();
    case 9:
      return act.template operator()<cached_codes<9>>();
    case 10:
    case 11:
      return act.template operator()<cached_codes<10>>();
    default:
      return act.template operator()<decoded_floats>();
  }
}

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

template <class Real>
void attend_in(attention_plan const& plan) noexcept {
  static_assert(attention_plan::workspace::near_tokens == posenc::detail::near_tokens);
  constexpr bool doubles = std::is_same_v<Real, double>;
  auto const columns = plan.kv_heads * plan.group, tokens = plan.tokens;
  auto* const queries = static_cast<Real*>(plan.memory.queries);
  auto* const scores = static_cast<Real*>(plan.memory.scores);
  auto* const outputs = static_cast<Real*>(plan.memory.outputs);
  auto const padded = posenc::detail::padded_rows(plan.group);
  std::fill_n(queries, plan.kv_heads * padded * plan.head_dim, Real{0});
  with_type<Real>(plan.query_type, [&]<class T>(T*) {
    for (std::size_t c = 0; c < columns; ++c) {
      auto const row = posenc::detail::padded_row(c, plan.group, padded);
      auto const* const from =
          static_cast<T const*>(plan.queries) + static_cast<std::ptrdiff_t>(c) * plan.query_head;
      std::transform(from, from + plan.head_dim, queries + row * plan.head_dim,
                     [](T const& x) { return posenc::load(x); });
    }
  });
  if constexpr (doubles) {
    scores_of<double, cached_numbers<double>>(plan);
  } else {
    with_source(plan.keys.at, [&]<class Source>() { scores_of<float, Source>(plan); });
  }
  for (std::size_t c = 0; c < columns; ++c) {
    auto* const row = scores + c * tokens;
    auto const top = posenc::detail::largest(row, tokens);
    auto const sum = posenc::detail::exponentials<false>(row, row, tokens, top).exponentials;
    auto const share = static_cast<Real>(
        posenc::detail::share_of({1, static_cast<double>(top), sum},
                                 plan.sinks == nullptr ? posenc::no_sink : plan.sinks[c])
            .share);
    for (auto& weight : std::span(row, tokens)) weight *= share;
  }
  std::fill_n(outputs, columns * plan.value_dim, Real{0});
  if constexpr (doubles) {
    outputs_of<double, cached_numbers<double>>(plan);
  } else {
    with_source(plan.values.at, [&]<class Source>() { outputs_of<float, Source>(plan); });
  }
  with_type<Real>(plan.output_type, [&]<class T>(T*) {
    for (std::size_t c = 0; c < columns; ++c) {
      auto* const to =
          static_cast<T*>(plan.outputs) + static_cast<std::ptrdiff_t>(c) * plan.output_head;
      for (std::size_t i = 0; i < plan.value_dim; ++i)
        posenc::store(to[i], outputs[c * plan.value_dim + i]);
    }
  });
}

void attend(attention_plan const& plan) noexcept {
  plan.output_type == 1 ? attend_in<double>(plan) : attend_in<float>(plan);
}

}  // namespace
}  // namespace posenc_kernels
