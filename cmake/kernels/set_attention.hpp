// Attention of one query per head, compiled for each instruction set. (Included by set.cpp alone,
// after set_step.hpp: it reads what a step writes.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "posenc/core/format.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/decode/decode_products.hpp"
#include "posenc/softmax/row_exponentials.hpp"
#include "set.hpp"
#include "set_heads.hpp"

namespace posenc_kernels {
namespace {

// Calls act(first token, tokens, first query, view) for keys or values, or parts of them, whose
// scores or weights are [queries][tokens] each: all of them where they lie; or decoded, some of one
// kv head.
template <class Heads>
void for_parts(Heads const& heads, attention_plan const& plan, auto const& act) noexcept {
  if constexpr (!std::is_same_v<typename Heads::format_type, any_format>) {
    act(std::size_t{0}, plan.tokens, std::size_t{0}, heads);
  } else {
    auto const dim = heads.head_dim();
    auto* const numbers = plan.memory.decoded;
    auto const stride = static_cast<std::ptrdiff_t>(dim * sizeof(float));
    places const decoded{reinterpret_cast<char*>(numbers), 0, stride, 0};
    for (std::size_t first = 0; first < plan.tokens; first += plan.memory.near_tokens) {
      auto const count = std::min(plan.tokens - first, plan.memory.near_tokens);
      for (std::size_t head = 0; head < plan.kv_heads; ++head) {
        for (std::size_t i = 0; i < count; ++i)
          heads.read(first + i, head, {numbers + i * dim, dim});
        act(first, count, head * plan.group, numbers_at<float const>(decoded, {count, 1, dim}));
      }
    }
  }
}
// The same: numbers and codes are read in registers, others are decoded.
template <class Real>
void for_parts(stored_heads const& s, std::size_t dim, attention_plan const& plan,
               auto const& act) noexcept {
  posenc::heads_shape const all{plan.tokens, plan.kv_heads, dim};
  if constexpr (std::is_same_v<Real, double>) {
    for_parts(numbers_at<double const>(s.codes, all), plan, act);
  } else {
    with_format(s, [&]<class Format>(Format const& format) {
      if constexpr (posenc::detail::has_numbers<Format>) {
        using number = typename Format::number_type;
        auto const bits = reinterpret_cast<std::uintptr_t>(s.codes.data) |
                          static_cast<std::uintptr_t>(s.codes.page | s.codes.token | s.codes.head);
        if (bits % sizeof(number) == 0)
          return for_parts(numbers_at<number const>(s.codes, all), plan, act);
      } else if constexpr (posenc::loads_registers<Format, posenc::detail::lanes<float>>) {
        return for_parts(view_of<Format const>(format, s, all), plan, act);
      }
      for_parts(view_of<any_format const>(s, all), plan, act);
    });
  }
}

// ---- Products

template <class Real>
void find_scores(attention_plan const& plan) noexcept {
  auto* const scores = static_cast<Real*>(plan.memory.scores);
  auto const padded = posenc::detail::padded_rows(plan.group);
  for_parts<Real>(plan.keys, plan.head_dim, plan,
                  [&]<class Keys>(auto first, auto count, auto c, Keys const& part) {
                    bool const is_all = count == plan.tokens;
                    auto* const to =
                        is_all ? scores + c * count : static_cast<Real*>(plan.memory.few);
                    posenc::detail::few_scores<Real, typename Keys::format_type>(
                        to, static_cast<Real>(plan.scale),
                        static_cast<Real const*>(plan.memory.queries) +
                            posenc::detail::padded_row(c, plan.group, padded) * plan.head_dim,
                        plan.group, part, static_cast<Real*>(plan.memory.near));
                    for (std::size_t r = 0; !is_all && r < plan.group; ++r)
                      std::copy_n(to + r * count, count, scores + (c + r) * plan.tokens + first);
                  });
}

template <class Real>
void find_outputs(attention_plan const& plan) noexcept {
  auto const* const weights = static_cast<Real const*>(plan.memory.scores);
  for_parts<Real>(plan.values, plan.value_dim, plan,
                  [&]<class Values>(auto first, auto count, auto c, Values const& part) {
                    bool const is_all = count == plan.tokens;
                    auto* const few = static_cast<Real*>(plan.memory.few);
                    for (std::size_t r = 0; !is_all && r < plan.group; ++r)
                      std::copy_n(weights + (c + r) * plan.tokens + first, count, few + r * count);
                    posenc::detail::few_outputs<Real, typename Values::format_type>(
                        static_cast<Real*>(plan.memory.outputs) + c * plan.value_dim,
                        is_all ? weights + c * count : few, plan.group, part,
                        static_cast<Real*>(plan.memory.sums), static_cast<Real*>(plan.memory.near));
                  });
}

// The heads of queries or outputs. Format: any_format, const where they are read.
template <class Real, class Format>
auto one_token(stored_heads const& s, attention_plan const& plan, std::size_t dim) noexcept {
  posenc::heads_shape const all{1, plan.kv_heads * plan.group, dim};
  if constexpr (std::is_same_v<Real, double>) {
    using number = std::conditional_t<std::is_const_v<Format>, double const, double>;
    return numbers_at<number>(s.codes, all);
  } else {
    return view_of<Format>(s, all);
  }
}

template <class Real>
void attend_in(attention_plan const& plan) noexcept {
  static_assert(attention_plan::workspace::near_tokens == posenc::detail::tile_tokens);
  auto const columns = plan.kv_heads * plan.group, tokens = plan.tokens;
  auto* const queries = static_cast<Real*>(plan.memory.queries);
  auto* const scores = static_cast<Real*>(plan.memory.scores);
  auto* const outputs = static_cast<Real*>(plan.memory.outputs);
  auto const padded = posenc::detail::padded_rows(plan.group);
  std::fill_n(queries, plan.kv_heads * padded * plan.head_dim, Real{0});
  auto const from = one_token<Real, any_format const>(plan.queries, plan, plan.head_dim);
  for (std::size_t c = 0; c < columns; ++c) {
    auto const row = posenc::detail::padded_row(c, plan.group, padded);
    from.read(0, c, {queries + row * plan.head_dim, plan.head_dim});
  }
  find_scores<Real>(plan);
  for (std::size_t c = 0; c < columns; ++c) {
    auto* const row = scores + c * tokens;
    auto const top = posenc::detail::largest(row, tokens);
    auto const sum = posenc::detail::exponentials<false>(row, row, tokens, top).exponentials;
    auto const sink = plan.sinks == nullptr ? posenc::no_sink : plan.sinks[c];
    auto const share =
        static_cast<Real>(posenc::detail::share_of({1, static_cast<double>(top), sum}, sink).share);
    for (auto& weight : std::span(row, tokens)) weight *= share;
  }
  std::fill_n(outputs, columns * plan.value_dim, Real{0});
  find_outputs<Real>(plan);
  auto const to = one_token<Real, any_format>(plan.outputs, plan, plan.value_dim);
  for (std::size_t c = 0; c < columns; ++c)
    to.write(0, c, {outputs + c * plan.value_dim, plan.value_dim});
}

void attend(attention_plan const& plan) noexcept {
  plan.outputs.format == POSENC1_F64 ? attend_in<double>(plan) : attend_in<float>(plan);
}

}  // namespace
}  // namespace posenc_kernels
