// Which layers slide and which rotate, by the keys of a config.json or its family. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/other_positions.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Which layers rotate by no_rope_layers, or the family's interval.
inline std::vector<bool> rope_by_keys(hugging_face_config& config) {
  auto const layers = config.found.layers;
  std::vector<bool> rotated(layers, true);
  if (auto const given = config.numbers("no_rope_layers"); given && !given->empty()) {
    require_entries(config, "no_rope_layers", given->size());
    for (std::size_t i = 0; i < given->size(); ++i) {
      auto const used = (*given)[i];
      require(used == 0 || used == 1, "no_rope_layers must hold 0 (no RoPE) or 1 (RoPE), got ",
              used, " at layer ", i);
      if (i < layers) rotated[i] = used == 1;
    }
    config.supersede({"no_rope_layer_interval"});
    return rotated;
  }
  if (config.family.nope_every == 0) return rotated;
  auto const n = config.count_or("no_rope_layer_interval", most_dims, config.family.nope_every);
  for (auto i = n - 1; i < layers; i += n) rotated[i] = false;
  return rotated;
}

/// Full attention in one of n layers at the family's place, `others` elsewhere; nowhere for n = 0.
inline layer_types full_every(hugging_face_config& config, std::size_t n, std::string_view others) {
  auto const& family = config.family;
  auto const layers = config.found.layers;
  if (n == 0) return full_every(layers, 0, others);
  auto first = n - 1;
  if (family.full_at == full_place::first_of_each) first = 0;
  if (family.full_at == full_place::counted_from_the_end) first = (layers - 1) % n;
  if (family.full_at == full_place::by_offset) {
    constexpr auto key = "attn_layer_offset";
    auto const given = config.count_or_zero(key, most_dims);
    first = config.has(key) ? given.value_or(0) : config.assumed(key, family.full_offset);
  }
  auto types = full_every(layers, n, others, first);
  for (auto i = layers / n * n; family.rest_full && i < layers; ++i) types[i] = full_attention;
  if (family.first_full) types.front() = full_attention;
  if (family.last_full) types.back() = full_attention;
  return types;
}

/// Types by the family's rule, where no key gives them and the window is given.
inline layer_types types_by_rule(hugging_face_config& config) {
  auto const& family = config.family;
  auto const limit = family.max_window_layers;
  if (auto const n = family.full_every; n != 1) {
    constexpr char const* places[]{"", ", from the first on,", ", counted from the last back,"};
    auto const ordinal = n == 2 ? "nd" : n == 3 ? "rd" : "th";
    config.assumed("layer_types", "every " + shown(n) + ordinal + " layer" +
                                      places[static_cast<std::size_t>(family.full_at)] +
                                      " full_attention, the others sliding_attention");
    return full_every(config, n, sliding_attention);
  }
  auto types = full_every(config.found.layers, 1, {});
  if (!family.slides && !family.nope_slide && limit == 0) {
    auto const key = std::string(family.window_key);
    if (config.has(key)) {
      config.ignore(config.setting(key));
      config.note(key + " is not read: " + config.found.type + " has full attention.");
    }
    return types;
  }
  if (!config.is_known) {
    config.assume("layer_types", sliding_attention,
                  "sliding_window is given and layer_types is not: taken for every layer.");
  }
  auto const rotated =
      family.nope_slide ? rope_by_keys(config) : std::vector<bool>(types.size(), false);
  auto const first = limit == 0 ? 0 : config.count_or("max_window_layers", most_dims, limit);
  for (std::size_t i = 0; i < types.size(); ++i) {
    bool const slides = family.even_slide ? i < first && i % 2 == 0 : i >= first && !rotated[i];
    if (slides) types[i] = sliding_attention;
  }
  return types;
}

/// Types where no key lists them.
inline layer_types types_by_window(hugging_face_config& config) {
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
  if (!slides || needs_flag) return full_every(config.found.layers, 1, {});
  constexpr auto pattern = "sliding_window_pattern";
  layer_types types;
  if (config.peek(pattern).is_string()) {  // LLLG in EXAONE 4
    types =
        layer_types_by_letter(config, pattern, {{'L', sliding_attention}, {'G', full_attention}},
                              "be a number, or letters L and G");
  } else {
    auto const n =
        config.count({pattern, "_sliding_window_pattern", "global_attn_every_n_layers"}, most_dims);
    types = n ? full_every(config, *n, sliding_attention) : types_by_rule(config);
  }
  if (contains(types, sliding_attention)) config.note(config.family.sliding_note);
  return types;
}

/// The type of each layer, in Hugging Face's words.
inline layer_types types_of_layers(hugging_face_config& config) {
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
      n = config.or_assumed(given, "full_attention_interval", n);
    }
    types = full_every(config, n, family.others);
  }
  if (!family.others.empty() && family.slides && config.window()) {
    std::ranges::replace(types, full_attention, std::string(sliding_attention));
  }
  return types.empty() ? types_by_window(config) : types;
}

/// Which layers are no mixtures of experts: in Cohere 2 MoE these rotate though they do not slide.
inline std::vector<bool> dense_layers(hugging_face_config& config) {
  std::vector<bool> dense(config.found.layers, false);
  if (config.count("prefix_dense_sliding_window_pattern", most_dims).value_or(1) != 1) {
    return dense;
  }
  auto const types = config.texts("mlp_layer_types");
  if (types) require_entries(config, "mlp_layer_types", types->size());
  auto const first =
      types ? 0 : config.count_or_zero("first_k_dense_replace", most_dims).value_or(0);
  for (std::size_t i = 0; i < dense.size(); ++i)
    dense[i] = types ? (*types)[i] == "dense" : i < first;
  return dense;
}

/// The layers, each with its type, whether it rotates, and what lists give it alone.
inline std::vector<scheduled_layer> scheduled_layers(hugging_face_config& config) {
  using enum rotation_rule;
  auto const& family = config.family;
  auto const rule = family.rotation;
  auto const types = types_of_layers(config);
  auto const may_rotate = rope_by_keys(config);
  if (rule == no_layer) {
    auto const named = config.text("attention_type");
    config.require(!named || named->ends_with("nope"), "attention_type", "end in nope");
  }
  auto const nope_key = family.nope_key;
  bool const is_nope_all = !nope_key.empty() && config.flag(nope_key).value_or(false);
  config.require(is_nope_all || nope_key.empty() || rule != no_layer, nope_key,
                 "be true: rotation in its latent attention is not read");
  auto const position = config.text("position_embedding_type");
  bool const is_rope = position == "rope" || position == "rope_gptj" || position == "absolute";
  config.require(!position || is_rope || position == "nope", "position_embedding_type",
                 "be rope, rope_gptj or nope");
  bool const never = position == "nope" || rule == no_layer || is_nope_all ||
                     (rule == if_position_type_is_rope && position != "rope");
  bool const with_dense = rule == sliding_and_dense_layers;
  bool const only_sliding = (rule == sliding_layers || with_dense) && config.window();
  auto const dense = with_dense ? dense_layers(config) : std::vector<bool>(types.size(), false);
  auto bases = numbers_by_layer(config, "layer_rope_theta");  // 0 is NoPE
  bool const bases_decide = !bases.empty();
  if (!bases_decide) bases = numbers_by_layer(config, "rope_theta");
  auto const partial = numbers_by_layer(config, "partial_rotary_factors");
  auto const shares_index = layers_that_share_index(config);
  bool const is_chunked = family.chunked_where_rotated && !config.has("layer_types");
  if (is_chunked) {
    config.assumed(
        "layer_types",
        std::string("chunked_attention for layers with RoPE, full_attention for others"));
  }

  std::vector<scheduled_layer> layers;
  for (std::size_t i = 0; i < types.size(); ++i) {
    std::string_view type = types[i];
    bool const slides = type == sliding_attention;
    bool const is_nope = bases_decide ? bases[i] == 0 : family.full_are_nope && !slides;
    bool const rotates = may_rotate[i] && has_attention(type) && !never && !is_nope &&
                         (!only_sliding || slides || dense[i]);
    if (is_chunked) type = rotates ? chunked_attention : full_attention;
    auto& layer = layers.emplace_back(scheduled_layer{
        .type = std::string(type), .attends = has_attention(type), .rotates = rotates});
    if (!rotates) continue;
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

/// Reads which layers see the keys of others.
inline void read_shared_keys(hugging_face_config& config,
                             std::vector<scheduled_layer> const& layers) {
  auto const known = config.family.kv_shared;
  if (!known) return;
  constexpr auto key = "num_kv_shared_layers";
  auto shared = config.count_or_zero(key, most_dims);
  if (!config.has(key) && *known != 0) shared = config.assumed(key, *known);
  if (shared.value_or(0) == 0 || *shared >= layers.size()) return;  // as transformers has it
  config.require(share_keys(config, layers, layers.size() - *shared), key,
                 "leave a layer of each type before those that share");
}

}  // namespace posenc::detail
