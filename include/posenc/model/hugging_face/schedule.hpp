// Which layers slide and which rotate, by the keys of a config.json or its family. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/hugging_face/layer_lists.hpp"
#include "posenc/model/hugging_face/other_positions.hpp"
#include "posenc/model/layer_schedule.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Which layers rotate by no_rope_layers, or the family's interval.
inline std::vector<bool> rope_by_keys(hugging_face_config& config) {
  auto const layers = config.found.layers;
  if (auto const given = config.numbers("no_rope_layers"); given && !given->empty()) {
    require_entries(config, "no_rope_layers", given->size());
    auto rotated = layers_with_rope(*given);
    rotated.resize(layers);
    config.supersede({"no_rope_layer_interval"});
    return rotated;
  }
  std::vector<bool> rotated(layers, true);
  if (config.family.nope_every == 0) return rotated;
  auto const n = config.count_or("no_rope_layer_interval", most_dims, config.family.nope_every);
  for (auto i = n - 1; i < layers; i += n) rotated[i] = false;
  return rotated;
}

/// Full attention in one of n layers, `others` elsewhere; nowhere for n = 0.
inline std::vector<std::string> with_full_every(hugging_face_config& config, std::size_t n,
                                                std::string_view others) {
  auto const& family = config.family;
  auto const layers = config.found.layers;
  if (n == 0) return std::vector<std::string>(layers, std::string(others));
  std::size_t first = n - 1;
  if (family.full_at == full_place::first_of_each) first = 0;
  if (family.full_at == full_place::counted_from_the_end) first = (layers - 1) % n;
  if (family.full_at == full_place::by_offset) {
    constexpr auto key = "attn_layer_offset";
    auto const given = config.count_or_zero(key, most_dims);
    first = config.has(key) ? given.value_or(0) : config.assumed(key, family.full_offset);
  }
  auto types = every_nth(layers, n, full_attention, others, first);
  for (auto i = layers / n * n; family.rest_full && i < layers; ++i) types[i] = full_attention;
  if (family.first_full) types.front() = full_attention;
  if (family.last_full) types.back() = full_attention;
  return types;
}

/// Types by the family's rule, where no key gives them and the window is given.
inline std::vector<std::string> types_by_rule(hugging_face_config& config) {
  auto const& family = config.family;
  std::vector<std::string> types(config.found.layers, std::string(full_attention));
  auto const slide_where = [&](auto const& slides) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (slides(i)) types[i] = sliding_attention;
    }
    return types;
  };
  auto const max_window_layers = [&] {
    return config.count_or("max_window_layers", most_dims, family.max_window_layers);
  };
  switch (config.is_known ? family.sliding : sliding_rule::every_layer) {
    case sliding_rule::none: {
      auto const key = std::string(family.window_key);
      if (config.has(key)) {
        config.ignore(config.setting(key));
        config.note(key + " is not read: " + config.found.type + " has full attention.");
      }
      return types;
    }
    case sliding_rule::by_pattern: {
      auto const n = family.full_every;
      auto const place = family.full_at == full_place::first_of_each  ? ", from the first on,"
                         : family.full_at == full_place::last_of_each ? ""
                                                                      : ", counted from the last "
                                                                        "back,";
      config.assumed("layer_types", "every " + shown(n) +
                                        (n == 2   ? "nd"
                                         : n == 3 ? "rd"
                                                  : "th") +
                                        " layer" + place +
                                        " full_attention, the others sliding_attention");
      return with_full_every(config, n, sliding_attention);
    }
    case sliding_rule::nope_layers:
      return slide_where([rotated = rope_by_keys(config)](std::size_t i) { return !rotated[i]; });
    case sliding_rule::from_max_window_layers:
      return slide_where([limit = max_window_layers()](std::size_t i) { return i >= limit; });
    case sliding_rule::even_below_max_window_layers:
      return slide_where(
          [limit = max_window_layers()](std::size_t i) { return i < limit && i % 2 == 0; });
    case sliding_rule::every_layer:
      break;
  }
  if (!config.is_known) {
    config.assume("layer_types", sliding_attention,
                  "sliding_window is given and layer_types is not: taken for every layer.");
  }
  return slide_where([](std::size_t) { return true; });
}

/// Types where no key lists them.
inline std::vector<std::string> types_by_window(hugging_face_config& config) {
  auto const flag = config.flag("use_sliding_window");
  bool const slides = flag != false && config.window();
  bool const needs_flag = config.family.window_needs_flag && !flag;
  if (!slides) {
    if (flag == false) config.supersede({"sliding_window"});
    config.supersede({"sliding_window_pattern", "_sliding_window_pattern", "max_window_layers"});
  } else if (needs_flag) {
    config.assumed("use_sliding_window", std::string("false"));
    config.supersede({"sliding_window", "max_window_layers"});
  }
  if (!slides || needs_flag) {
    return std::vector<std::string>(config.found.layers, std::string(full_attention));
  }
  constexpr auto pattern = "sliding_window_pattern";
  auto types = [&] {
    if (config.is_text(pattern)) {  // LLLG in EXAONE 4
      return layer_types_by_letter(config, pattern,
                                   {{'L', sliding_attention}, {'G', full_attention}},
                                   "be a number, or letters L and G");
    }
    auto const n =
        config.count({pattern, "_sliding_window_pattern", "global_attn_every_n_layers"}, most_dims);
    return n ? with_full_every(config, *n, sliding_attention) : types_by_rule(config);
  }();
  bool const some_slide = std::ranges::find(types, sliding_attention) != types.end();
  auto const note = config.family.sliding_note;
  if (some_slide && !note.empty()) config.note(std::string(note));
  return types;
}

/// The type of each layer, in Hugging Face's words: full_attention, sliding_attention,
/// linear_attention ...
inline std::vector<std::string> layer_types(hugging_face_config& config) {
  auto const& family = config.family;
  auto types = listed_layer_types(config);
  if (!types.empty()) {
    config.supersede({"full_attention_interval", "sliding_window_pattern",
                      "_sliding_window_pattern", "max_window_layers", "use_sliding_window",
                      "global_attn_every_n_layers"});
    if (family.last_full) types.back() = full_attention;
  } else if (!family.others.empty()) {
    auto n = family.full_every;
    if (n != 0) {
      auto const given = config.count(
          {"full_attention_interval", "layer_group_size", "attn_layer_period"}, most_dims);
      n = given ? *given : config.assumed("full_attention_interval", n);
    }
    types = with_full_every(config, n, family.others);
  }
  if (!family.others.empty() && family.sliding == sliding_rule::every_layer && config.window()) {
    std::ranges::replace(types, std::string(full_attention), std::string(sliding_attention));
  }
  return types.empty() ? types_by_window(config) : types;
}

/// Which layers are not mixtures of experts, where those rotate though they do not slide (Cohere 2
/// MoE).
inline std::vector<bool> dense_layers(hugging_face_config& config) {
  std::vector<bool> dense(config.found.layers, false);
  if (config.count("prefix_dense_sliding_window_pattern", most_dims).value_or(1) != 1) {
    return dense;
  }
  if (auto const types = config.texts("mlp_layer_types")) {
    require_entries(config, "mlp_layer_types", types->size());
    for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = (*types)[i] == "dense";
    return dense;
  }
  auto const first = config.count_or_zero("first_k_dense_replace", most_dims).value_or(0);
  for (std::size_t i = 0; i < std::min(first, dense.size()); ++i) dense[i] = true;
  return dense;
}

/// Whether each layer rotates.
inline std::vector<bool> rotated_layers(hugging_face_config& config,
                                        std::vector<std::string> const& types) {
  auto rotated = rope_by_keys(config);
  auto const rule = config.family.rotation;
  if (rule == rotation_rule::no_layer) {
    auto const named = config.text("attention_type");
    config.require(!named || named->ends_with("nope"), "attention_type", "end in nope");
  }
  auto const type = config.text("position_embedding_type");
  bool const is_rope = type == "rope" || type == "rope_gptj" || type == "absolute";
  config.require(!type || is_rope || type == "nope", "position_embedding_type",
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

/// The layers, each with its type, whether it rotates, and what lists give it alone.
inline std::vector<scheduled_layer> scheduled_layers(hugging_face_config& config) {
  auto types = layer_types(config);
  auto const rotated = rotated_layers(config, types);
  if (config.family.chunked_where_rotated && !config.has("layer_types")) {
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

}  // namespace posenc::detail
