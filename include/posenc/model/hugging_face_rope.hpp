// A rope_parameters (or rope_scaling) object alone: read, and written back. (nlohmann-json)
#pragma once

#include <concepts>

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/rotation.hpp"

namespace posenc::inline POSENC_TARGET {

/// What a rope_parameters object leaves to the rest of its file.
struct rope_surroundings {
  std::size_t head_dim;                              ///< of queries and keys
  double base = 1e4;                                 ///< rope_theta, unless it is inside
  std::optional<std::size_t> context = {};           ///< max_position_embeddings
  std::optional<std::size_t> original_context = {};  ///< original_max_position_embeddings
};

/// What a rope_parameters object says.
struct rope_reading {
  /// With halves, in the first dims of a head: the object does not say what the model has.
  rotary_description rotary;
  /// g(mscale_all_dim)^2, which multiplies scores in DeepSeek's models and their kin.
  double softmax_factor = 1;
  std::optional<position_temperature> temperature = {};  ///< of Llama 4 and Mistral
  /// As in model_description; keys are those of the object.
  std::vector<std::string> assumptions = {}, notes = {};             ///< sentences for people
  std::vector<model_setting> read = {}, assumed = {}, ignored = {};  ///< keys and values
};

namespace detail {

/// The settings that are in the object, by their names there.
inline std::vector<model_setting> of_rope(std::vector<model_setting> const& settings) {
  constexpr std::string_view path = "rope_parameters.";
  std::vector<model_setting> result;
  for (auto const& [key, value] : settings) {
    if (key.starts_with(path)) result.push_back({key.substr(path.size()), value});
  }
  return result;
}

inline rope_reading read_rope_parameters(json const& parsed, std::string const& name,
                                         rope_surroundings const& around) {
  json_object const object(parsed, name);
  json file{{"model_type", "llama"},
            {"num_hidden_layers", 1},
            {"head_dim", around.head_dim},
            {"rope_parameters", parsed}};
  if (object.peek("rope_theta").is_discarded()) file["rope_theta"] = around.base;
  if (around.context) file["max_position_embeddings"] = *around.context;
  if (around.original_context) file["original_max_position_embeddings"] = *around.original_context;
  error_context const context(name);
  hugging_face_config config(json_object(file, name), {});
  config.family.mscale_on_scores = true;
  config.has("original_max_position_embeddings");  // what is around may go unread
  layer_description kind{.name = std::string(full_attention), .head_dim = config.head_dim()};
  scheduled_layer const layer{.type = std::string(full_attention)};
  hugging_face_rotation(config, layer, kind).read();
  config.found.kinds.push_back(kind);
  auto found = config.settled();
  return {.rotary = std::move(kind.rotary.at(0)),
          .softmax_factor = kind.softmax_factor,
          .temperature = kind.temperature,
          .assumptions = std::move(found.assumptions),
          .notes = std::move(found.notes),
          .read = of_rope(found.read),
          .assumed = of_rope(found.assumed),
          .ignored = of_rope(found.ignored)};
}

/// The part for which int(head_dim * part), as transformers computes it, is `dims`.
inline double part_of(std::size_t head_dim, std::size_t dims) {
  auto const whole = static_cast<double>(head_dim), wanted = static_cast<double>(dims);
  auto part = wanted / whole;
  while (whole * part < wanted) part = std::nextafter(part, 1.0);
  return part;
}

/// Sections of M-RoPE, as rope_parameters has them.
inline void write_axes(json& object, pair_axes const& axes) {
  std::vector<std::size_t> sections(std::max<std::size_t>(axes.axes(), 3), 0);
  for (std::size_t i = 0; i < axes.pairs(); ++i) ++sections[axes.axis(i)];
  object["mrope_section"] = sections;
  if (axes == contiguous_axes(sections)) return;
  if (sections.size() == 3 && axes == interleaved_axes(sections)) {
    return void(object["mrope_interleaved"] = true);
  }
  require(sections.size() == 3 && sections[1] == sections[2] &&
              axes == alternating_axes_of("", sections, axes.pairs()),
          "rope_parameters_json: axes must be in sections or alternate");
  require(object["rope_type"] == "default",
          "rope_parameters_json: the rule must be default where axes alternate, got ",
          shown_json(object["rope_type"]));
  object["rope_type"] = "video_rope";
}

}  // namespace detail

/// Reads the text of a rope_parameters or rope_scaling object, of one type of layers. Errors begin
/// with `name`. `around` is what the object leaves to the rest of its file.
///
///     read_rope_parameters(R"({"rope_type": "llama3", "factor": 8, ...})", "rope_scaling",
///                          {.head_dim = 128, .base = 500'000})
///
/// Throws std::invalid_argument as read_hugging_face does, for unknown keys too.
inline rope_reading read_rope_parameters(std::string_view text, std::string const& name,
                                         rope_surroundings const& around) {
  return detail::read_rope_parameters(detail::parsed_json(text, name), name, around);
}

/// The same of an object that is parsed already.
template <std::same_as<nlohmann::json> Json>
rope_reading read_rope_parameters(Json const& parsed, std::string const& name,
                                  rope_surroundings const& around) {
  return detail::read_rope_parameters(parsed, name, around);
}

/// Writes a rope_parameters object, with the values that were read and those that were assumed.
/// read_rope_parameters gives the same frequencies for it and for the same context.
///
/// Throws std::invalid_argument if the rotation is not of a config.json or GGUF file, or if
/// rope_parameters have no words for its axes or for a key of GGUF.
inline nlohmann::json rope_parameters_json(
    rotary_description const& rotary, std::size_t head_dim,
    std::optional<position_temperature> const& temperature = {}) {
  detail::require(!rotary.parameters.empty(),
                  "rope_parameters_json: the rotation must be one that a model's settings gave");
  auto object = nlohmann::json::object();
  for (auto const& [key, value] : rotary.parameters) {
    bool const is_word = key.find('.') == std::string::npos;
    detail::require(is_word, "rope_parameters_json: ", key,
                    " must be absent, for rope_parameters have no word for it, got ", value);
    object[key] = nlohmann::json::parse(value);
  }
  auto const dims = rotary.frequencies.at(1).rotary_dim();
  if (dims != head_dim) object["partial_rotary_factor"] = detail::part_of(head_dim, dims);
  if (rotary.axes) detail::write_axes(object, *rotary.axes);
  if (temperature && temperature->offset == 0) {
    object["llama_4_scaling_beta"] = temperature->scale;
    object["original_max_position_embeddings"] = temperature->floor_scale;
  }
  return object;
}

}  // namespace posenc
