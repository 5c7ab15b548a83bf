// The scheme of a layer of a model: its description as an encoding that acts.
#pragma once

#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include "posenc/attention/rules.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/layer_rules.hpp"
#include "posenc/model/model_description.hpp"
#include "posenc/query_key/rope.hpp"

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

/// A layer of a model for a length of the sequence: it rotates queries and keys (site 2), and has
/// the rules of the layer (sites 3 and 4, see rules_of). Positions are those of text: all axes have
/// the same. The mask is attention's: mask_of(layer) makes it.
///
///     auto const model = read_hugging_face("config.json");
///     attention(q, k, v, layer_scheme(model.kind_of(layer), length));
class layer_scheme {
 public:
  /// length: of the sequence, in tokens; frequencies may depend on it. sinks: the model's weights,
  /// [heads]; without them put attention_sinks beside this in a scheme. Throws
  /// std::invalid_argument for a layer with T5's buckets, whose biases are the model's weights:
  /// reset `buckets`, and put t5_bias after this in a scheme. Scores then stay undivided, as T5's
  /// are.
  layer_scheme(layer_description const& layer, std::size_t length, std::vector<double> sinks = {})
      : numbers_(std::make_shared<numbers>(numbers{{}, std::move(sinks)})),
        rules_(detail::rules_but_sinks("layer_scheme", layer, numbers_->slopes)) {
    rules_.sinks = numbers_->sinks;
    for (auto const& rotary : layer.rotary) {
      auto const f = rotary.frequencies.at(length);
      std::visit([&]<class Layout>(Layout) { ropes_.emplace_back(rope<Layout>(f, rotary.block)); },
                 rotary.layout);
      opposite_.push_back({rotary.opposite, rotary.block});
    }
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
    rules_.adjust_scores(row);
  }
  /// Site 4, see adds_sink.
  double sink(std::size_t head) const noexcept { return rules_.sink(head); }
  /// The rules of sites 3 and 4, with the mask of text.
  attention_rules const& rules() const noexcept { return rules_; }

  /// Throws std::invalid_argument, in the name of `function`, if the layer has ALiBi for another
  /// number of heads than `count`.
  void require_heads(char const* function, std::size_t count) const {
    auto const heads = rules_.slopes.size();
    detail::require(heads == 0 || heads == count, function, ": the encoding must have ", count,
                    " heads, got ", heads);
  }
  /// The same, and as the rules do.
  void check(char const* function, heads_shape const& queries, heads_shape const& keys) const {
    require_heads(function, queries.heads);
    rules_.check(function, queries, keys);
  }

 private:
  std::vector<std::variant<rope<halves>, rope<interleaved>>> ropes_;
  struct opposite_block {
    bool is_opposite;  // a rotation by the opposite angle
    rotary_block block;
  };
  std::vector<opposite_block> opposite_;  // for each of them
  struct numbers {
    std::vector<double> slopes, sinks;
  };
  std::shared_ptr<numbers> numbers_;  // that the rules of all copies view
  attention_rules rules_;
};

static_assert(acts_on_queries_and_keys<layer_scheme> && acts_on_scores<layer_scheme> &&
              adds_sink<layer_scheme>);

}}  // namespace posenc
