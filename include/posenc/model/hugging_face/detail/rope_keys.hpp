// Which keys of a config.json say how a type of layers rotates. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/config.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The keys of rope_parameters or rope_scaling for a type of layers.
struct rope_keys {
  json_object keys;  ///< without any if the file has none for these layers
  bool is_nested;    ///< there is an object for each type of layers
};

inline rope_keys rope_keys_of(hugging_face_config const& config, std::string const& type,
                              bool is_compressed, bool has_local_base) {
  auto const& family = config.family;
  bool const slides = type == sliding_attention;
  auto const newer = config.object("rope_parameters"), scaling = config.object("rope_scaling");
  bool const agree = !newer || !scaling || newer->whole() == scaling->whole();
  config.require(agree, "rope_scaling", "agree with rope_parameters");
  auto rope = newer ? newer : scaling;
  if (!rope && config.is_object("rotary")) rope = config.object("rotary");  // InternLM
  config.require(rope || !(family.needs_rope || family.needs_nested_rope), "rope_parameters",
                 "be given for " + config.found.type);
  bool const is_nested =
      rope && std::ranges::any_of(rope->whole(), [](auto& x) { return x.is_object(); });
  if (is_nested) {
    bool const fits = !config.is_known || family.compressed || !config.is_hidden("layer_types");
    config.require(fits, newer ? "rope_parameters" : "rope_scaling",
                   "be one object for all layers of " + config.found.type);
    auto const name = !family.compressed ? type : is_compressed ? "compress" : "main";
    for (auto const* both : {"main", "compress"})  // else transformers ignores what there is
      rope->require(!family.compressed || rope->is_object(both), both,
                    "be given where rope_parameters has an object of its kind");
    return {rope->needed(rope->object(name), name, "be given for layers of " + type), true};
  }
  bool const is_of_types = family.needs_nested_rope || (newer && family.local_base != 0);
  config.require(!rope || !is_of_types, newer ? "rope_parameters" : "rope_scaling",
                 "have an object for each type of layers of " + config.found.type);
  if (auto const types = config.texts("yarn_only_types"))  // Step
    config.require(*types == layer_types{"full_attention"} && family.scaled_if_full,
                   "yarn_only_types", "be full_attention alone");
  if (!rope)
    return {json_object(config.whole(), config.where() + ": rope_parameters").emptied(), false};
  bool const for_full_layers_only =
      (has_local_base && !family.local_scaled) || family.scaled_if_full || family.compressed;
  return {slides && for_full_layers_only ? rope->emptied() : *rope, false};
}

}}}  // namespace posenc::detail
