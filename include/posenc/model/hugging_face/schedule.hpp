// Which layers slide and which rotate, by the keys of a config.json or its family. (nlohmann-json)
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/hugging_face/layer_lists.hpp"
#include "posenc/model/hugging_face/rotated_layers.hpp"
#include "posenc/model/layer_schedule.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// 2nd, 3rd, 4th ...
inline std::string ordinal(std::size_t n) {
  return shown(n) + (n == 2 ? "nd" : n == 3 ? "rd" : "th");
}

/// The first layer with attention (Jamba).
inline std::size_t attn_layer_offset(hugging_face_config& config) {
  constexpr auto key = "attn_layer_offset";
  if (!config.keys.has(key)) return config.assumed(key, config.family.full_offset);
  return config.keys.count_or_zero(key, most_dims).value_or(0);
}

/// Full attention in one of n layers, `others` elsewhere; nowhere for n = 0.
inline std::vector<std::string> with_full_every(hugging_face_config& config, std::size_t n,
                                                std::string_view others) {
  auto const& family = config.family;
  auto const layers = config.found.layers;
  std::vector<std::string> types(layers, std::string(others));
  if (n == 0) return types;
  auto const first = family.full_at == full_place::first_of_each  ? 0
                     : family.full_at == full_place::by_offset    ? attn_layer_offset(config)
                     : family.full_at == full_place::last_of_each ? n - 1
                                                                  : (layers - 1) % n;
  for (auto i = first; i < layers; i += n) types[i] = full_attention;
  if (family.rest_full) {
    for (auto i = layers / n * n; i < layers; ++i) types[i] = full_attention;
  }
  if (family.first_full) types.front() = full_attention;
  if (family.last_full) types.back() = full_attention;
  return types;
}

/// Types where the family slides from a layer on, or below one.
inline std::vector<std::string> types_by_max_window_layers(hugging_face_config& config) {
  bool const below = config.family.sliding == sliding_rule::even_below_max_window_layers;
  auto const limit =
      config.count_or("max_window_layers", most_dims, config.family.max_window_layers);
  std::vector<std::string> types(config.found.layers, std::string(full_attention));
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (below ? i < limit && i % 2 == 0 : i >= limit) types[i] = sliding_attention;
  }
  return types;
}

/// Types where no key lists them and the window is given.
inline std::vector<std::string> types_with_window(hugging_face_config& config) {
  auto const& family = config.family;
  auto const all = [&](std::string_view type) {
    return std::vector<std::string>(config.found.layers, std::string(type));
  };
  if (config.keys.is_text("sliding_window_pattern")) {  // LLLG in EXAONE 4
    return layer_types_by_letter(config, "sliding_window_pattern",
                                 {{'L', sliding_attention}, {'G', full_attention}},
                                 "be a number, or letters L and G");
  }
  if (auto const n = config.count(
          {"sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers"},
          most_dims)) {
    return with_full_every(config, *n, sliding_attention);
  }
  switch (config.is_known ? family.sliding : sliding_rule::every_layer) {
    case sliding_rule::none: {
      auto const key = std::string(family.window_key);
      if (config.keys.has(key)) {
        config.ignore(config.keys.setting(key));
        config.note(key + " is not read: " + config.found.type + " has full attention.");
      }
      return all(full_attention);
    }
    case sliding_rule::by_pattern: {
      auto const place = family.full_at == full_place::first_of_each ? ", from the first on,"
                         : family.full_at == full_place::last_of_each
                             ? ""
                             : ", counted from the last back,";
      config.assumed("layer_types", "every " + ordinal(family.full_every) + " layer" + place +
                                        " full_attention, the others sliding_attention");
      return with_full_every(config, family.full_every, sliding_attention);
    }
    case sliding_rule::nope_layers: {
      auto types = all(full_attention);
      auto const rotated = rope_by_keys(config);
      for (std::size_t i = 0; i < types.size(); ++i) {
        if (!rotated[i]) types[i] = sliding_attention;
      }
      return types;
    }
    case sliding_rule::from_max_window_layers:
    case sliding_rule::even_below_max_window_layers:
      return types_by_max_window_layers(config);
    case sliding_rule::every_layer:
      break;
  }
  if (!config.is_known) {
    config.assume("layer_types", sliding_attention,
                  "sliding_window is given and layer_types is not: taken for every layer.");
  }
  return all(sliding_attention);
}

/// The number of layers of which one has full attention, where the others have none.
inline std::size_t full_interval(hugging_face_config& config) {
  if (config.family.full_every == 0) return 0;
  auto const given =
      config.count({"full_attention_interval", "layer_group_size", "attn_layer_period"}, most_dims);
  return given ? *given : config.assumed("full_attention_interval", config.family.full_every);
}

/// The type of each layer, in Hugging Face's words: full_attention, sliding_attention,
/// linear_attention ...
inline std::vector<std::string> layer_types(hugging_face_config& config) {
  auto const& family = config.family;
  auto types = listed_layer_types(config);
  bool const are_listed = !types.empty();
  if (are_listed) {
    config.supersede({"full_attention_interval", "sliding_window_pattern",
                      "_sliding_window_pattern", "max_window_layers", "use_sliding_window",
                      "global_attn_every_n_layers"});
    if (family.last_full) types.back() = full_attention;
  } else if (!family.others.empty()) {
    types = with_full_every(config, full_interval(config), family.others);
  }
  if (!family.others.empty() && family.sliding == sliding_rule::every_layer && config.window()) {
    std::ranges::replace(types, std::string(full_attention), std::string(sliding_attention));
  }
  if (!types.empty()) return types;

  auto const all_full = [&] {
    return std::vector<std::string>(config.found.layers, std::string(full_attention));
  };
  auto const flag = config.keys.flag("use_sliding_window");
  if (flag == false) {
    config.supersede({"sliding_window", "sliding_window_pattern", "_sliding_window_pattern",
                      "max_window_layers"});
    return all_full();
  }
  if (!config.window()) {
    config.supersede({"sliding_window_pattern", "_sliding_window_pattern", "max_window_layers"});
    return all_full();
  }
  if (!flag && family.window_needs_flag) {
    config.assumed("use_sliding_window", std::string("false"));
    config.supersede({"sliding_window", "max_window_layers"});
    return all_full();
  }
  auto by_rule = types_with_window(config);
  bool const some_slide = std::ranges::find(by_rule, sliding_attention) != by_rule.end();
  if (some_slide && !family.sliding_note.empty()) config.note(std::string(family.sliding_note));
  return by_rule;
}

/// The layers, each with its type, whether it rotates, and what lists give it alone.
inline std::vector<scheduled_layer> scheduled_layers(hugging_face_config& config) {
  auto types = layer_types(config);
  auto const rotated = rotated_layers(config, types);
  if (config.family.chunked_where_rotated && !config.keys.has("layer_types")) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      types[i] = rotated[i] ? chunked_attention : full_attention;
    }
    config.assumed(
        "layer_types",
        std::string("chunked_attention for layers with RoPE, full_attention for others"));
  }
  auto bases = numbers_by_layer(config, "layer_rope_theta");
  if (bases.empty()) bases = numbers_by_layer(config, "rope_theta");
  auto const partial = numbers_by_layer(config, "partial_rotary_factors");
  auto const shares_index = layers_that_share_index(config);
  std::vector<scheduled_layer> layers;
  for (std::size_t i = 0; i < types.size(); ++i) {
    auto& layer = layers.emplace_back(scheduled_layer{
        .type = types[i], .attends = has_attention(types[i]), .rotates = rotated[i]});
    if (!layer.rotates) continue;
    if (shares_index[i]) {
      layer.shares_index = true;
      layer.name += ", shared index";
    }
    if (!bases.empty()) {
      layer.base = bases[i];
      layer.name += ", base " + shown(layer.base);
    }
    if (!partial.empty()) layer.partial = partial[i];
  }
  return layers;
}

}  // namespace detail
}  // namespace posenc
