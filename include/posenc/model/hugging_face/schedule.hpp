// Which layers slide and which rotate, by the keys of a config.json or its family. (nlohmann-json)
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/layer_schedule.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

inline constexpr std::array<std::string_view, 7> types_with_attention{
    full_attention,
    "attention",
    sliding_attention,
    chunked_attention,
    "compressed_sparse_attention",
    "heavily_compressed_attention",
    "hybrid"};
inline constexpr std::array<std::string_view, 4> types_without_attention{linear_attention, "conv",
                                                                         "mamba", "recurrent"};

inline bool has_attention(std::string_view type) {
  return std::ranges::find(types_without_attention, type) == types_without_attention.end();
}

/// For errors about lists.
inline std::string one_for_each_layer(hugging_face_config const& config) {
  return "have one entry for each of the " + shown(config.found.layers) + " layers";
}

/// 2nd, 3rd, 4th ...
inline std::string ordinal(std::size_t n) {
  return shown(n) + (n == 2 ? "nd" : n == 3 ? "rd" : "th");
}

/// The list layer_types. Throws std::invalid_argument if a type is unknown.
inline std::vector<std::string> checked_layer_types(hugging_face_config& config,
                                                    std::vector<std::string> types) {
  config.keys.require(types.size() == config.found.layers, "layer_types",
                      one_for_each_layer(config));
  for (auto& type : types) {
    bool const attends =
        std::ranges::find(types_with_attention, type) != types_with_attention.end();
    if (!attends && has_attention(type)) {
      std::string known;
      for (auto const& one : types_with_attention) (known += one) += ", ";
      for (auto const& one : types_without_attention) (known += one) += ", ";
      refuse(config.keys.where(), ": layer_types must be among ", known, "got ",
             shown_json(json(type)));
    }
    if (type == "attention") type = full_attention;
  }
  return types;
}

/// The types in a list of numbers, which has an entry for each layer, or more. `types` holds the
/// type for each number.
inline std::vector<std::string> layer_types_by_number(
    hugging_face_config& config, std::string const& key,
    std::vector<std::pair<double, std::string_view>> const& types) {
  auto const given = *config.keys.numbers(key);
  config.keys.require(given.size() >= config.found.layers, key, one_for_each_layer(config));
  std::vector<std::string> result;
  for (std::size_t i = 0; i < config.found.layers; ++i) {
    auto const type =
        std::ranges::find(types, given[i], &std::pair<double, std::string_view>::first);
    if (type == types.end()) {
      std::string known;
      for (auto const& one : types) known += shown(one.first) + ", ";
      refuse(config.keys.where(), ": ", key, " must be one of ", known, "got ", given[i],
             " for layer ", i);
    }
    result.emplace_back(type->second);
  }
  return result;
}

/// A pattern that repeats, of L for sliding and G for full attention: LLLG in EXAONE 4.
inline std::vector<std::string> layer_types_by_letter(hugging_face_config& config,
                                                      std::string const& letters) {
  bool const are_known = letters.find_first_not_of("LG") == std::string::npos;
  config.keys.require(!letters.empty() && are_known, "sliding_window_pattern",
                      "be a number, or letters L and G");
  std::vector<std::string> types;
  for (std::size_t i = 0; i < config.found.layers; ++i) {
    types.emplace_back(letters[i % letters.size()] == 'L' ? sliding_attention : full_attention);
  }
  return types;
}

/// The types by a key that lists them, if there is one.
inline std::vector<std::string> listed_layer_types(hugging_face_config& config) {
  auto const& keys = config.keys;
  if (auto given = keys.texts("layer_types")) return checked_layer_types(config, std::move(*given));
  if (keys.has("hybrid_layer_pattern")) {
    return layer_types_by_number(config, "hybrid_layer_pattern",
                                 {{0, full_attention}, {1, sliding_attention}});
  }
  if (keys.has("compress_ratios")) {
    return layer_types_by_number(config, "compress_ratios",
                                 {{0, sliding_attention},
                                  {4, "compressed_sparse_attention"},
                                  {128, "heavily_compressed_attention"}});
  }
  if (config.family.compressed) keys.refuse("layer_types", "be given, or compress_ratios");
  return {};
}

/// The type of each layer, in Hugging Face's words: full_attention, sliding_attention,
/// linear_attention ...
inline std::vector<std::string> layer_types(hugging_face_config& config) {
  auto const layers = config.found.layers;
  auto const& family = config.family;
  if (auto listed = listed_layer_types(config); !listed.empty()) {
    config.supersede({"full_attention_interval", "sliding_window_pattern", "max_window_layers",
                      "use_sliding_window"});
    return listed;
  }

  auto const all = [&](std::string_view type) {
    return std::vector<std::string>(layers, std::string(type));
  };
  auto const with_full_every = [&](std::size_t n, std::string_view others) {
    auto types = every_nth(layers, n, full_attention, others);
    if (family.first_full) types.front() = full_attention;
    if (family.last_full) types.back() = full_attention;
    return types;
  };
  if (family.linear_others) {
    auto const n = config.count_or("full_attention_interval", most_dims, family.full_every);
    return with_full_every(n, linear_attention);
  }
  auto const slides = config.keys.flag("use_sliding_window");
  if (slides == false) {
    config.supersede({"sliding_window", "sliding_window_pattern", "max_window_layers"});
    return all(full_attention);
  }
  if (!config.window()) return all(full_attention);
  if (config.keys.is_text("sliding_window_pattern")) {
    return layer_types_by_letter(config, *config.keys.text("sliding_window_pattern"));
  }
  if (auto const n = config.keys.count("sliding_window_pattern", most_dims)) {
    return with_full_every(*n, sliding_attention);
  }
  switch (config.is_known ? family.sliding : sliding_rule::every_layer) {
    case sliding_rule::none:
      config.ignore(config.keys.setting("sliding_window"));
      config.note("sliding_window is not read: " + config.found.type + " has full attention.");
      return all(full_attention);
    case sliding_rule::by_pattern:
      config.assumed("layer_types", "every " + ordinal(family.full_every) +
                                        " layer full_attention, the others sliding_attention");
      return with_full_every(family.full_every, sliding_attention);
    case sliding_rule::from_max_window_layers: {
      if (!slides) {
        config.assumed("use_sliding_window", std::string("false"));
        config.supersede({"sliding_window", "max_window_layers"});
        return all(full_attention);
      }
      auto const first = config.count_or("max_window_layers", most_dims, family.max_window_layers);
      auto types = all(full_attention);
      for (std::size_t i = first; i < layers; ++i) types[i] = sliding_attention;
      return types;
    }
    case sliding_rule::every_layer:
      break;
  }
  if (!config.is_known) {
    config.assume("layer_types", sliding_attention,
                  "sliding_window is given and layer_types is not: taken for every layer.");
  }
  return all(sliding_attention);
}

/// Whether each layer rotates.
inline std::vector<bool> rotated_layers(hugging_face_config& config,
                                        std::vector<std::string> const& types) {
  std::vector<bool> rotated(types.size(), true);
  auto const& family = config.family;
  if (auto const given = config.keys.numbers("no_rope_layers"); given && !given->empty()) {
    config.keys.require(given->size() >= types.size(), "no_rope_layers",
                        one_for_each_layer(config));
    auto const with_rope = layers_with_rope(*given);
    std::copy_n(with_rope.begin(), rotated.size(), rotated.begin());
    config.supersede({"no_rope_layer_interval"});
  } else if (family.nope_every != 0) {
    auto const n = config.count_or("no_rope_layer_interval", most_dims, family.nope_every);
    for (std::size_t i = 0; i < rotated.size(); ++i) rotated[i] = (i + 1) % n != 0;
  }
  bool const some_slide = std::ranges::find(types, sliding_attention) != types.end();
  bool const only_sliding = family.rope_on_sliding_only && some_slide;
  bool const is_nope = config.keys.text("position_embedding_type") == "nope";
  for (std::size_t i = 0; i < rotated.size(); ++i) {
    bool const may_rotate = !only_sliding || types[i] == sliding_attention;
    if (is_nope || !has_attention(types[i]) || !may_rotate) rotated[i] = false;
  }
  return rotated;
}

}  // namespace detail
}  // namespace posenc
