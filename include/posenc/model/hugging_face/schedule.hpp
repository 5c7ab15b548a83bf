// Which layers slide, and which rotate, by the keys of a config.json or what is known of its model. (nlohmann-json)
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/layer_schedule.hpp"

namespace posenc {
namespace detail {

/// The type of each layer, in Hugging Face's words: full_attention, sliding_attention, chunked_attention, linear_attention ...
inline std::vector<std::string> layer_types(hugging_face_config& config) {
  auto const layers = config.found.layers;
  auto const one_a_layer = "have one entry for each of the " + shown(layers) + " layers";
  auto const all = [&](std::string_view name) { return std::vector<std::string>(layers, std::string(name)); };
  if (auto given = config.keys.texts("layer_types")) {
    config.keys.require(given->size() == layers, "layer_types", one_a_layer);
    return std::move(*given);
  }
  if (auto const slides = config.keys.numbers("hybrid_layer_pattern")) {
    config.keys.require(slides->size() == layers, "hybrid_layer_pattern", one_a_layer);
    auto names = all("full_attention");
    for (std::size_t i = 0; i < layers; ++i) {
      auto const slides_here = (*slides)[i];
      config.keys.require(slides_here == 0 || slides_here == 1, "hybrid_layer_pattern", "be a list of 0 (full) and 1 (sliding)");
      if (slides_here == 1) names[i] = sliding;
    }
    return names;
  }
  if (auto const ratios = config.keys.numbers("compress_ratios")) {
    config.keys.require(ratios->size() >= layers, "compress_ratios", one_a_layer);  // those of layers that only predict come after
    std::vector<std::string> names;
    for (std::size_t i = 0; i < layers; ++i) {
      auto const ratio = (*ratios)[i];
      config.keys.require(ratio == 0 || ratio == 4 || ratio == 128, "compress_ratios", "be a list of 0, 4 and 128");
      names.emplace_back(ratio == 0 ? sliding : ratio == 4 ? "compressed_sparse_attention" : "heavily_compressed_attention");
    }
    return names;
  }

  auto const given = config.count({"sliding_window_pattern", "full_attention_interval"}, most_dims);
  auto const every = given.value_or(config.family.full_every);
  auto const others = config.family.others.empty() ? sliding : config.family.others;
  bool const can_slide = config.window() && config.keys.flag("use_sliding_window").value_or(true);
  if (others == sliding && !can_slide) return all("full_attention");
  if (!given && config.family.full_every == 1) {  // a window, and no word on which layers
    if (config.is("qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "qwen2_vl", "qwen2_5_vl")) {
      auto names = all("full_attention");
      auto const from = std::min(config.count({"max_window_layers"}, most_dims).value_or(28), layers);
      std::fill(names.begin() + static_cast<std::ptrdiff_t>(from), names.end(), std::string(sliding));
      return names;
    }
    if (!config.is_known) config.assume("sliding_window is given and layer_types is not: taken for every layer.");
    return all(sliding);
  }
  if (!given) config.assumed("layer_types", "every " + shown(every) + "th layer full_attention, the others " + std::string(others));
  auto names = every_nth(layers, every, "full_attention", others);
  if (config.is("mimo_v2_flash")) names.front() = "full_attention";
  if (config.is("gemma4", "gemma4_text")) names.back() = "full_attention";
  return names;
}

/// Whether each layer rotates.
inline std::vector<bool> layers_with_rope(hugging_face_config& config, std::vector<std::string> const& types) {
  std::vector<bool> rotated(types.size(), true);
  if (auto const given = config.keys.numbers("no_rope_layers"); given && !given->empty()) {
    config.keys.require(given->size() >= types.size(), "no_rope_layers",
                        "have one entry for each of the " + shown(types.size()) + " layers");
    auto const used = posenc::layers_with_rope(*given);
    std::copy_n(used.begin(), rotated.size(), rotated.begin());
  } else if (config.family.nope_every != 0) {
    auto const said = config.keys.count("no_rope_layer_interval", most_dims);
    auto const n = said ? *said : config.assumed("no_rope_layer_interval", config.family.nope_every);
    for (std::size_t i = 0; i < rotated.size(); ++i) rotated[i] = (i + 1) % n != 0;
  }
  auto const some_slide = std::ranges::find(types, sliding) != types.end();
  for (std::size_t i = 0; i < rotated.size(); ++i) {
    if (types[i] == linear_layers || (config.family.rope_on_sliding_only && some_slide && types[i] != sliding)) rotated[i] = false;
  }
  return rotated;
}

}  // namespace detail
}  // namespace posenc
