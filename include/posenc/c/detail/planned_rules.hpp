// The rules of a plan of attention, which are known at run time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "posenc/attention/given_mask.hpp"
#include "posenc/attention/mask.hpp"
#include "posenc/attention/rules.hpp"
#include "posenc/c/detail/planned_rows.hpp"
#include "posenc/c/detail/plans.hpp"
#include "posenc/core/target.hpp"
#include "posenc/core/viewed.hpp"
#include "posenc/encoding/score_row.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/score/key_bias.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c_set {

/// Cells of a plan, of all heads or from its first head on. They were checked.
inline given_mask cells_of(posenc1_cells const& cells, attention_plan const& plan, bool of_all) {
  auto const tokens = plan.given->tokens,
             heads = of_all ? plan.given->heads : plan.kv_heads * plan.group,
             first_head = of_all ? 0 : plan.first_head();
  bool const shared = cells.heads <= 1;
  auto const make = [&]<class T>(T const*, std::ptrdiff_t size) {
    auto const row = static_cast<std::ptrdiff_t>(size == 0 ? (tokens + 7) / 8 : tokens) *
                     std::max<std::ptrdiff_t>(size, 1);
    auto const rows = static_cast<std::ptrdiff_t>(cells.one_row != 0 ? 1 : plan.query_tokens);
    auto const key = cells.key_stride == 0 ? size : cells.key_stride;
    auto const query = cells.query_stride != 0 ? cells.query_stride
                       : cells.key_stride == 0 ? row
                                               : static_cast<std::ptrdiff_t>(tokens) * key;
    auto const head = cells.head_stride == 0 ? rows * query : cells.head_stride;
    auto const* const data = static_cast<std::byte const*>(cells.data) +
                             (shared ? 0 : static_cast<std::ptrdiff_t>(first_head) * head);
    given_mask::shape const shape{plan.query_tokens, shared ? 1 : heads, tokens};
    auto const per_query = cells.one_row != 0 ? 0 : query, per_head = shared ? 0 : head;
    if (size == 0) return given_mask::bits(data, shape, {per_query, per_head});
    return given_mask(reinterpret_cast<T const*>(data), shape,
                      {per_query / size, per_head / size, key / size});
  };
  auto const made = [&] {
    switch (cells.type) {
      case POSENC1_CELL_BIT:
        return make(static_cast<unsigned char const*>(nullptr), 0);
      case POSENC1_CELL_F32:
        return make(static_cast<float const*>(nullptr), 4);
      case POSENC1_CELL_F64:
        return make(static_cast<double const*>(nullptr), 8);
      case POSENC1_CELL_F16:
        return make(static_cast<half const*>(nullptr), 2);
      case POSENC1_CELL_BF16:
        return make(static_cast<bfloat16 const*>(nullptr), 2);
      default:
        return make(static_cast<unsigned char const*>(nullptr), 1);
    }
  }();
  if (cells.slopes == nullptr) return made;
  return made.with_slopes(std::span(cells.slopes + first_head, heads));
}

/// A key bias, in one layout, and what it is made of.
struct layout_key_bias {
  std::optional<key_bias<halves>> in_halves;
  std::optional<key_bias<interleaved>> is_interleaved;
  key_bias_settings of;  ///< but for its pointers
  frequencies f;
  std::optional<pair_axes> axes;
  std::vector<float> bias;

  std::size_t heads() const noexcept { return of.heads; }
  std::size_t kv_heads() const noexcept { return of.kv_heads; }
  std::size_t head_dim() const noexcept { return of.head_dim; }
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    in_halves ? in_halves->adjust_scores(row) : is_interleaved->adjust_scores(row);
  }
  template <class T>
  void backward_scores(score_row<T const> const& before, std::span<T> d_scores,
                       std::span<T> d_query) const {
    in_halves ? in_halves->backward_scores(before, d_scores, d_query)
              : is_interleaved->backward_scores(before, d_scores, d_query);
  }

  /// sequence: nothing, or positions and delta.
  key_bias_of_set* made(auto const&... sequence) && {
    auto const block =
        of.first_dim == POSENC1_LAST_DIMS ? rotary_block::last() : rotary_block::from(of.first_dim);
    auto const make = [&](auto& to) {
      to.emplace(bias, of.kv_heads, of.heads, f, sequence..., block);
      if (of.hadamard != 0)
        to = to->of_transformed(of.hadamard == POSENC1_LARGEST_BLOCK ? 0 : of.hadamard);
    };
    of.layout == 0 ? make(in_halves) : make(is_interleaved);
    return reinterpret_cast<key_bias_of_set*>(new layout_key_bias(std::move(*this)));
  }
};

inline key_bias_of_set* make_key_bias(key_bias_settings const& s) {
  return layout_key_bias{
      {}, {}, s, frequencies_of(s.f), axes_of(s.f), {s.bias, s.bias + s.kv_heads * s.head_dim}}
      .made();
}
inline key_bias_of_set* key_bias_at(key_bias_of_set const& bias, std::int64_t const* positions,
                                    std::size_t tokens, std::int64_t delta) {
  auto const& b = reinterpret_cast<layout_key_bias const&>(bias);
  require(b.axes.has_value(), "f must be on axes, got one axis");
  auto const axes = b.axes->axes();
  return layout_key_bias{{}, {}, b.of, b.f, b.axes, b.bias}.made(
      *b.axes, axis_positions<>(axes, std::span(positions, axes * tokens)), delta);
}
inline void destroy_key_bias(key_bias_of_set* bias) noexcept {
  delete reinterpret_cast<layout_key_bias*>(bias);
}

/// Which keys a query of the plan sees.
inline mask mask_of(attention_plan const& plan) {
  auto const& a = *plan.given;
  auto const distance = [](std::size_t positions) { return static_cast<std::int64_t>(positions); };
  auto seen = mask::window(a.behind == 0 ? mask::any : distance(a.behind) - 1,
                           a.ahead == POSENC1_ALL_AHEAD ? mask::any : distance(a.ahead));
  if (a.chunk != 0) seen = seen & mask::chunked(distance(a.chunk));
  return a.mask.data == nullptr ? seen : seen & mask::given(cells_of(a.mask, plan, false));
}

/// The rules of a plan. sized: all of them; else only the rules that decide the number of bytes,
/// and nothing that is pointed to.
inline attention_rules rules_of(attention_plan const& plan, bool sized) {
  auto const& a = *plan.given;
  auto const rule = static_cast<temperature_rule>(a.temperature.rule);
  if (!sized) {
    bool const none = rule == temperature_rule::none;
    return {.sees = mask::full, .temperature = {.rule = none ? rule : temperature_rule::adaptive}};
  }
  auto const of_heads = [&](double const* numbers) {
    return viewed<double>(numbers, numbers == nullptr ? 0 : a.heads);
  };
  auto const& t = a.temperature;
  auto const& p = a.profiles;
  attention_rules rules{
      .sees = mask_of(plan),
      .scale = plan.scale,
      .factor = plan.factor,
      .cap = a.cap,
      .tau = a.tau,
      .temperature = {rule, t.length, t.scale, t.offset, of_heads(t.scales), of_heads(t.biases)},
      .slopes = of_heads(a.slopes),
      .sinks = of_heads(a.sinks),
      .profiles = {p.profiles, p.rank, p.extent,
                   heads_view(p.query_side, {p.query_side == nullptr ? 0 : plan.query_tokens,
                                             a.heads, std::max<std::size_t>(p.rank, 1)})},
      .first_head = plan.first_head(),
      .all_heads = a.heads};
  if (a.bias.data != nullptr) rules.biases = cells_of(a.bias, plan, true);
  if (a.key_bias != nullptr)
    rules.key_bias = reinterpret_cast<layout_key_bias const&>(*a.key_bias->bias);
  return rules;
}

}}}  // namespace c_set
