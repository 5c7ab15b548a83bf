// Which layers slide, and which rotate, by the keys of a config.json or what is known of its model.
// (nlohmann-json)
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

inline std::string one_a_layer(hugging_face_config const& config) {
  return "have one entry for each of the " + shown(config.found.layers) + " layers";
}

/// 2nd, 3rd, 4th ...
inline std::string ordinal(std::size_t n) {
  return shown(n) + (n == 2 ? "nd" : n == 3 ? "rd" : "th");
}

/// What layer_types says, of words that are known.
inline std::vector<std::string> given_layer_types(hugging_face_config& config,
                                                  std::vector<std::string> types) {
  config.keys.require(types.size() == config.found.layers, "layer_types", one_a_layer(config));
  for (auto& type : types) {
    bool const is_known = !has_attention(type) || std::ranges::find(types_with_attention, type) !=
                                                      types_with_attention.end();
    if (!is_known) {
      std::string known;
      for (auto const& word : types_with_attention) (known += word) += ", ";
      for (auto const& word : types_without_attention)
        (known += word) += word == types_without_attention.back() ? "" : ", ";
      refuse(config.keys.where(), ": layer_types must be of ", known, ", got ",
             shown_json(json(type)));
    }
    if (type == "attention") type = full_attention;
  }
  return types;
}

/// By a list of numbers, one a layer or more: `names` of the numbers that may stand there.
inline std::vector<std::string> layer_types_by_number(
    hugging_face_config& config, std::string const& key,
    std::vector<std::pair<double, std::string_view>> const& names) {
  auto const given = *config.keys.numbers(key);
  config.keys.require(given.size() >= config.found.layers, key, one_a_layer(config));
  std::vector<std::string> types;
  for (std::size_t i = 0; i < config.found.layers; ++i) {
    auto const name =
        std::ranges::find(names, given[i], &std::pair<double, std::string_view>::first);
    if (name == names.end())
      refuse(config.keys.where(), ": ", key, " must be of known numbers, got ", given[i],
             " for layer ", i);
    types.emplace_back(name->second);
  }
  return types;
}

/// The type of each layer, in Hugging Face's words: full_attention, sliding_attention,
/// linear_attention ...
inline std::vector<std::string> layer_types(hugging_face_config& config) {
  auto const layers = config.found.layers;
  auto const& family = config.family;
  if (auto given = config.keys.texts("layer_types"))
    return given_layer_types(config, std::move(*given));
  if (config.keys.has("hybrid_layer_pattern"))
    return layer_types_by_number(config, "hybrid_layer_pattern",
                                 {{0, full_attention}, {1, sliding_attention}});
  if (config.keys.has("compress_ratios")) {
    return layer_types_by_number(config, "compress_ratios",
                                 {{0, sliding_attention},
                                  {4, "compressed_sparse_attention"},
                                  {128, "heavily_compressed_attention"}});
  }
  if (family.compressed) config.keys.refuse("layer_types", "be given, or compress_ratios");

  auto const all = [&](std::string_view name) {
    return std::vector<std::string>(layers, std::string(name));
  };
  auto const with_full_every = [&](std::size_t n, std::string_view others) {
    auto names = every_nth(layers, n, full_attention, others);
    if (family.first_full) names.front() = full_attention;
    if (family.last_full) names.back() = full_attention;
    return names;
  };
  auto const pattern_of_letters = [&](std::string const& letters) {  // LLLG of EXAONE 4
    config.keys.require(!letters.empty() && letters.find_first_not_of("LG") == std::string::npos,
                        "sliding_window_pattern", "be a number, or letters L and G");
    auto names = all(full_attention);
    for (std::size_t i = 0; i < layers; ++i) {
      if (letters[i % letters.size()] == 'L') names[i] = sliding_attention;
    }
    return names;
  };

  if (family.linear_others) {
    auto const given = config.count({"full_attention_interval"}, most_dims);
    return with_full_every(
        given ? *given : config.assumed("full_attention_interval", family.full_every),
        linear_attention);
  }
  auto const window = config.window();
  if (!window) return all(full_attention);
  if (config.keys.is_text("sliding_window_pattern"))
    return pattern_of_letters(*config.keys.text("sliding_window_pattern"));
  if (auto const given = config.count({"sliding_window_pattern"}, most_dims))
    return with_full_every(*given, sliding_attention);
  switch (config.is_known ? family.sliding : sliding_rule::every_layer) {
    case sliding_rule::none:
      config.note("sliding_window is not read: " + config.found.type + " has full attention.");
      return all(full_attention);
    case sliding_rule::by_pattern:
      config.assumed("layer_types", "every " + ordinal(family.full_every) + " layer " +
                                        std::string(full_attention) + ", the others " +
                                        std::string(sliding_attention));
      return with_full_every(family.full_every, sliding_attention);
    case sliding_rule::from_max_window_layers: {
      auto const used = config.keys.flag("use_sliding_window");
      if (!used) config.assumed("use_sliding_window", std::string("false"));
      if (!used.value_or(false)) return all(full_attention);
      auto const first = config.count({"max_window_layers"}, most_dims);
      auto names = all(full_attention);
      auto const from = std::min(
          first ? *first : config.assumed("max_window_layers", family.max_window_layers), layers);
      std::fill(names.begin() + static_cast<std::ptrdiff_t>(from), names.end(),
                std::string(sliding_attention));
      return names;
    }
    case sliding_rule::every_layer:
      break;
  }
  if (!config.keys.flag("use_sliding_window").value_or(true)) return all(full_attention);
  if (!config.is_known)
    config.assume("sliding_window is given and layer_types is not: taken for every layer.");
  return all(sliding_attention);
}

/// Whether each layer rotates.
inline std::vector<bool> rotated_layers(hugging_face_config& config,
                                        std::vector<std::string> const& types) {
  std::vector<bool> rotated(types.size(), true);
  if (auto const given = config.keys.numbers("no_rope_layers"); given && !given->empty()) {
    config.keys.require(given->size() >= types.size(), "no_rope_layers", one_a_layer(config));
    auto const used = layers_with_rope(*given);
    std::copy_n(used.begin(), rotated.size(), rotated.begin());
  } else if (config.family.nope_every != 0) {
    auto const said = config.keys.count("no_rope_layer_interval", most_dims);
    auto const n =
        said ? *said : config.assumed("no_rope_layer_interval", config.family.nope_every);
    for (std::size_t i = 0; i < rotated.size(); ++i) rotated[i] = (i + 1) % n != 0;
  }
  auto const some_slide = std::ranges::find(types, sliding_attention) != types.end();
  bool const is_nope = config.keys.text("position_embedding_type") == "nope";
  for (std::size_t i = 0; i < rotated.size(); ++i) {
    bool const is_off =
        config.family.rope_on_sliding_only && some_slide && types[i] != sliding_attention;
    if (!has_attention(types[i]) || is_off || is_nope) rotated[i] = false;
  }
  return rotated;
}

}  // namespace detail
}  // namespace posenc
