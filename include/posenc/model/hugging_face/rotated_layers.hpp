// Which layers rotate, and what lists give a layer alone. (nlohmann-json)
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/hugging_face/layer_lists.hpp"
#include "posenc/model/layer_schedule.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// Which layers rotate by no_rope_layers, or the family's interval.
inline std::vector<bool> rope_by_keys(hugging_face_config& config) {
  std::vector<bool> rotated(config.found.layers, true);
  if (auto const given = config.keys.numbers("no_rope_layers"); given && !given->empty()) {
    require_entries(config, "no_rope_layers", given->size());
    auto const with_rope = layers_with_rope(*given);
    std::copy_n(with_rope.begin(), rotated.size(), rotated.begin());
    config.supersede({"no_rope_layer_interval"});
  } else if (config.family.nope_every != 0) {
    auto const n = config.count_or("no_rope_layer_interval", most_dims, config.family.nope_every);
    for (std::size_t i = 0; i < rotated.size(); ++i) rotated[i] = (i + 1) % n != 0;
  }
  return rotated;
}

/// Numbers that a key gives for each layer, or for more; none if it is absent or one number.
inline std::vector<double> numbers_by_layer(hugging_face_config& config, std::string const& key) {
  if (!config.keys.is_list(key)) return {};
  auto given = *config.keys.numbers(key);
  require_entries(config, key, given.size());
  given.resize(config.found.layers);
  return given;
}

/// Which layers are not mixtures of experts, where those rotate though they do not slide (Cohere 2
/// MoE).
inline std::vector<bool> dense_layers(hugging_face_config& config) {
  std::vector<bool> dense(config.found.layers, false);
  if (config.keys.count("prefix_dense_sliding_window_pattern", most_dims).value_or(1) != 1) {
    return dense;
  }
  if (auto const types = config.keys.texts("mlp_layer_types")) {
    require_entries(config, "mlp_layer_types", types->size());
    for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = (*types)[i] == "dense";
    return dense;
  }
  auto const first = config.keys.count_or_zero("first_k_dense_replace", most_dims).value_or(0);
  for (std::size_t i = 0; i < std::min(first, dense.size()); ++i) dense[i] = true;
  return dense;
}

/// Whether each layer rotates.
inline std::vector<bool> rotated_layers(hugging_face_config& config,
                                        std::vector<std::string> const& types) {
  auto rotated = rope_by_keys(config);
  auto const rule = config.family.rotation;
  if (rule == rotation_rule::no_layer) {
    auto const named = config.keys.text("attention_type");
    config.keys.require(!named || named->ends_with("nope"), "attention_type", "end in nope");
  }
  auto const type = config.keys.text("position_embedding_type");
  bool const is_rope = type == "rope" || type == "rope_gptj" || type == "absolute";
  config.keys.require(!type || is_rope || type == "nope", "position_embedding_type",
                      "be rope, rope_gptj or nope");
  bool const never = type == "nope" || rule == rotation_rule::no_layer ||
                     (rule == rotation_rule::if_position_type_is_rope && type != "rope");
  bool const with_dense = rule == rotation_rule::sliding_and_dense_layers;
  bool const only_sliding =
      (rule == rotation_rule::sliding_layers || with_dense) && config.window();
  auto const dense = with_dense ? dense_layers(config) : std::vector<bool>(types.size(), false);
  auto const bases = numbers_by_layer(config, "layer_rope_theta");  // 0 is NoPE
  for (std::size_t i = 0; i < rotated.size(); ++i) {
    bool const slides = types[i] == sliding_attention;
    bool const is_nope = bases.empty() ? config.family.full_are_nope && !slides : bases[i] == 0;
    if (never || is_nope || !has_attention(types[i]) || (only_sliding && !slides && !dense[i])) {
      rotated[i] = false;
    }
  }
  return rotated;
}

}  // namespace detail
}  // namespace posenc
