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
#include "posenc/c/detail/plans.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/score/key_bias.hpp"
#include "posenc/score/query_profiles.hpp"
#include "posenc/score/scale_invariant.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/critical_temperature.hpp"
#include "posenc/softmax/log_n.hpp"
#include "posenc/softmax/row_exponentials.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c_set {

/// Cells of a plan, from its first head on. They were checked.
inline given_mask cells_of(posenc1_cells const& cells, attention_plan const& plan) {
  auto const tokens = plan.given->tokens, heads = plan.kv_heads * plan.group;
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
                             (shared ? 0 : static_cast<std::ptrdiff_t>(plan.first_head()) * head);
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
  return made.with_slopes(std::span(cells.slopes + plan.first_head(), heads));
}

/// A key bias, in one layout, and what it is made of.
struct layout_key_bias {
  std::optional<key_bias<halves>> in_halves;
  std::optional<key_bias<interleaved>> is_interleaved;
  key_bias_settings of;  ///< but for its pointers
  frequencies f;
  std::optional<pair_axes> axes;
  std::vector<float> bias;

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

/// An encoding: what posenc's own do, as the plan says.
class run_time_rules {
 public:
  static constexpr bool is_pointwise = true;

  /// sized: as it is; else what decides the number of bytes alone.
  run_time_rules(attention_plan const& plan, bool sized)
      : given_(*plan.given), first_head_(plan.first_head()) {
    if (!sized) return;
    if (given_.bias.data != nullptr) bias_ = cells_of(given_.bias, plan);
    if (given_.mask.data != nullptr) cells_ = cells_of(given_.mask, plan);
    has_mask_ = true;
  }

  posenc::mask mask() const {
    if (!has_mask_) return posenc::mask::full;
    auto const limit = [](std::size_t positions) {
      return positions == 0 ? posenc::mask::any : static_cast<std::int64_t>(positions) - 1;
    };
    auto const ahead = given_.ahead == POSENC1_ALL_AHEAD ? posenc::mask::any
                                                         : static_cast<std::int64_t>(given_.ahead);
    auto seen = posenc::mask::window(limit(given_.behind), ahead);
    if (given_.chunk != 0)
      seen = seen & posenc::mask::chunked(static_cast<std::int64_t>(given_.chunk));
    return cells_ ? seen & posenc::mask::given(*cells_) : seen;
  }

  /// Site 3.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    auto of_all = row;
    of_all.head += first_head_;
    if (given_.key_bias != nullptr) {
      auto const& b = *reinterpret_cast<layout_key_bias const*>(given_.key_bias->bias);
      b.in_halves ? b.in_halves->adjust_scores(of_all) : b.is_interleaved->adjust_scores(of_all);
    }
    if (given_.tau > 0) scale_invariant(given_.tau).adjust_scores(row);
    if (auto const& p = given_.profiles; p.profiles != nullptr) {
      of_all.query_side = {p.query_side + (row.query_index * given_.heads + of_all.head) * p.rank,
                           p.rank};
      add_profile(std::span(p.profiles, p.rank * p.extent), p.rank, of_all);
    }
    if (bias_)
      bias_->apply(row.query_index, row.head,
                   {row.first_key_index, row.first_key_index + row.scores.size()}, row.scores);
    if (given_.slopes != nullptr)
      add_bias(row, [slope = given_.slopes[first_head_ + row.head], &row](std::int64_t key) {
        auto const distance = distance_between(row.query_position, key);
        return -slope * std::abs(static_cast<double>(distance));
      });
    if (given_.cap > 0) soft_cap(given_.cap).adjust_scores(row);
  }

  /// Site 4.
  bool changes_temperature() const noexcept {
    return given_.temperature.rule != POSENC1_NO_TEMPERATURE;
  }
  double inverse_temperature(row_statistics const& row) const {
    auto const& t = given_.temperature;
    switch (t.rule) {
      case POSENC1_LOG_N:
        return log_n(t.length).inverse_temperature(row);
      case POSENC1_LOG_N_BY_POSITION:
        return log_n_by_position(t.length).inverse_temperature(row);
      case POSENC1_BY_POSITION:
        return position_temperature{t.scale, t.length, t.offset}.inverse_temperature(row);
      case POSENC1_ADAPTIVE:
        return adaptive_temperature().inverse_temperature(row);
      case POSENC1_HALF_WEIGHT:
        return half_weight_temperature(t.scale > 0 ? t.scale : 0.5).inverse_temperature(row);
      case POSENC1_CRITICAL:
        return critical_temperature(t.scale > 0 ? t.scale : 2).inverse_temperature(row);
      case POSENC1_SSMAX: {
        if (row.keys < 2) return 1;
        auto const head = first_head_ + row.head;
        return t.scales[head] * std::log(static_cast<double>(row.keys)) +
               (t.biases == nullptr ? 0 : t.biases[head]);
      }
      default:
        return 1;
    }
  }
  double sink(std::size_t head) const noexcept {
    return given_.sinks == nullptr ? no_sink : given_.sinks[first_head_ + head];
  }
  bool adjusts_whole_rows() const noexcept { return false; }

 private:
  posenc1_attention const& given_;
  std::size_t first_head_;
  bool has_mask_ = false;
  std::optional<given_mask> bias_, cells_;
};

}}}  // namespace c_set
