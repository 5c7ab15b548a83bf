// The rules of a layer of a model: its description as what attention is asked.
#pragma once

#include <vector>

#include "posenc/attention/rules.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/core/viewed.hpp"
#include "posenc/model/layer_mask.hpp"
#include "posenc/model/model_description.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// All but the sinks, which are the model's weights.
inline attention_rules rules_but_sinks(char const* function, layer_description const& layer,
                                       std::vector<double>& slopes) {
  require(!layer.buckets, function,
          ": T5 buckets need the model's weights; reset buckets, and put t5_bias after this in a "
          "scheme");
  slopes = layer.alibi ? layer.alibi->encoding().slopes() : std::vector<double>();
  attention_rules rules{.sees = mask_of(layer),
                        .factor = layer.softmax_factor,
                        .cap = layer.score_cap.value_or(0),
                        .slopes = slopes,
                        .caps_first = true};
  if (layer.temperature) rules.of_queries = *layer.temperature;
  return rules;
}

}  // namespace detail

/// The rules of attention in a layer: the mask of text, and sites 3 and 4. Heads rotate elsewhere
/// (model/rotate.hpp).
///
///     std::vector<double> slopes;
///     attention(encoded(q), k, v, rules_of(layer, slopes), {.keys_are_encoded = true});
///
/// `slopes`, which the rules view, become ALiBi's, or empty. sinks: the model's, [heads], viewed.
/// Scores of attention's own scale, 1 / sqrt(head_dim), are multiplied by the softmax factor and by
/// the temperature of the query, then capped, then biased, in the order of the models' classes.
/// This leaves out norms of heads, pooled keys and index heads. Throws std::invalid_argument for a
/// layer with T5's buckets, whose biases are the model's weights, and unless there are sinks where
/// the layer has them, and only there.
inline attention_rules rules_of(layer_description const& layer, std::vector<double>& slopes,
                                viewed<double> sinks = {}) {
  detail::require(layer.sinks == !sinks.empty(), "rules_of: the sinks of this layer must be ",
                  layer.sinks ? "given" : "none", ", got ", sinks.size());
  auto rules = detail::rules_but_sinks("rules_of", layer, slopes);
  rules.sinks = sinks;
  return rules;
}

}}  // namespace posenc
