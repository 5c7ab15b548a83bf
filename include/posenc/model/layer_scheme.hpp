// The scheme of a layer of a model: its description as an encoding that acts.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/model_description.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/soft_cap.hpp"

namespace posenc { inline namespace POSENC_TARGET {
namespace detail {

/// The rotations of a layer at the positions of a step.
template <class Real>
struct prepared_layer {
  std::vector<std::variant<prepared_rotation<halves, Real>, prepared_rotation<interleaved, Real>>>
      rotations;

  template <class T>
  void encode_queries(heads_view<T> const& q, std::size_t first_token = 0) const {
    for (auto const& one : rotations)
      std::visit([&](auto const& r) { r.encode_queries(q, first_token); }, one);
  }
  template <class T>
  void encode_keys(heads_view<T> const& k, std::size_t first_token = 0) const {
    encode_queries(k, first_token);
  }
};

}  // namespace detail

/// A layer of a model for a length of the sequence, in the order of the models' classes: it rotates
/// queries and keys; scores of attention's own scale, 1 / sqrt(head_dim), are multiplied by the
/// softmax factor and by the temperature of the query, then capped, then biased by ALiBi.
/// Positions are those of text: all axes have the same.
///
/// This leaves out norms of heads, pooled keys, and window, chunk and index heads, which belong to
/// the mask. Sinks are learned: put attention_sinks beside this in a scheme.
///
///     auto const model = read_hugging_face("config.json");
///     attention(q, k, v, layer_scheme(model.kind_of(layer), length));
class layer_scheme {
 public:
  /// length: of the sequence, in tokens; frequencies may depend on it. Throws std::invalid_argument
  /// for a layer with T5's buckets, whose biases are the model's weights: reset `buckets`, and put
  /// t5_bias after this in a scheme. Scores then stay undivided, as T5's are.
  layer_scheme(layer_description const& layer, std::size_t length)
      : temperature_(layer.temperature), factor_(layer.softmax_factor) {
    detail::require(
        !layer.buckets,
        "layer_scheme: T5 buckets need the model's weights; reset buckets, and put t5_bias "
        "after this in a scheme");
    for (auto const& rotary : layer.rotary) {
      auto const f = rotary.frequencies.at(length);
      std::visit([&]<class Layout>(Layout) { ropes_.emplace_back(rope<Layout>(f, rotary.block)); },
                 rotary.layout);
      opposite_.push_back({rotary.opposite, rotary.block});
    }
    if (layer.score_cap) cap_.emplace(*layer.score_cap);
    if (layer.alibi) alibi_ = layer.alibi->encoding();
  }

  /// Site 2, see acts_on_queries_and_keys.
  template <class T = float>
  detail::prepared_layer<T> prepare(token_positions const& positions) const {
    detail::prepared_layer<T> prepared;
    auto const add = [&]<class Layout>(rope<Layout> const& r, opposite_block const& other) {
      auto rotation = r.template prepare<T>(positions);
      if (other.is_opposite)  // not -p: the least position has none
        rotation = prepared_rotation<Layout, T>(rotation.rows().transpose(), other.block);
      prepared.rotations.emplace_back(std::move(rotation));
    };
    for (std::size_t i = 0; i < ropes_.size(); ++i)
      std::visit([&](auto const& r) { add(r, opposite_[i]); }, ropes_[i]);
    return prepared;
  }
  static constexpr bool is_pointwise = true;  ///< see adjusts_each_score
  /// Site 3, see acts_on_scores.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    auto factor = factor_;
    if (temperature_)
      factor *= temperature_->inverse_temperature({.query_position = row.query_position});
    for (auto& score : row.scores) score = static_cast<T>(factor * static_cast<double>(score));
    if (cap_) cap_->adjust_scores(row);
    if (alibi_) posenc::adjust_scores(*alibi_, row);
  }

  /// Throws std::invalid_argument, in the name of `function`, if the layer has ALiBi for another
  /// number of heads than `count`.
  void require_heads(char const* function, std::size_t count) const {
    if (alibi_) detail::require_heads(function, *alibi_, count);
  }

 private:
  std::vector<std::variant<rope<halves>, rope<interleaved>>> ropes_;
  struct opposite_block {
    bool is_opposite;  // a rotation by the opposite angle
    rotary_block block;
  };
  std::vector<opposite_block> opposite_;  // for each of them
  std::optional<alibi> alibi_;
  std::optional<soft_cap> cap_;
  std::optional<position_temperature> temperature_;
  double factor_;
};

static_assert(acts_on_queries_and_keys<layer_scheme> && acts_on_scores<layer_scheme>);

}}  // namespace posenc
