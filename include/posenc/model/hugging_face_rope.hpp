// A rope_parameters (or rope_scaling) object alone. (nlohmann-json)
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

/// Reads a rope_parameters or rope_scaling object that is parsed already, of one type of layers.
/// Errors begin with `name`. `around` is what the object leaves to the rest of its file.
///
/// A model of one layer: its rotation, with halves in the first dims of a head, for the object does
/// not say what the model has; softmax_factor, g(mscale_all_dim)^2 in DeepSeek's models and their
/// kin; and the temperature of Llama 4 and Mistral. `read`, `assumed` and `ignored` have the keys
/// within, as rope_parameters.factor. Throws std::invalid_argument as read_hugging_face does, for
/// unknown keys too.
template <std::same_as<nlohmann::json> Json>
model_description read_rope_parameters(Json const& parsed, std::string const& name,
                                       rope_surroundings const& around) {
  detail::json_object const object(parsed, name);
  Json file{{"model_type", "llama"},
            {"num_hidden_layers", 1},
            {"head_dim", around.head_dim},
            {"rope_parameters", parsed}};
  if (object.peek("rope_theta").is_discarded()) file["rope_theta"] = around.base;
  if (around.context) file["max_position_embeddings"] = *around.context;
  if (around.original_context) file["original_max_position_embeddings"] = *around.original_context;
  detail::error_context const context(name);
  detail::hugging_face_config config(detail::json_object(file, name), {});
  config.family.mscale_on_scores = true;
  config.has("original_max_position_embeddings");  // what is around may go unread
  std::string const type(detail::full_attention);
  layer_description kind{.name = type, .layers = {0}, .head_dim = config.head_dim()};
  detail::hugging_face_rotation(config, {.type = type}, kind).read();
  config.found.kinds.push_back(std::move(kind));
  auto found = config.settled();
  for (auto* const settings : {&found.read, &found.assumed, &found.ignored})
    std::erase_if(*settings, [](auto const& s) { return !s.key.starts_with("rope_parameters."); });
  return found;
}

/// The same of its text.
///
///     read_rope_parameters(R"({"rope_type": "llama3", "factor": 8, ...})", "rope_scaling",
///                          {.head_dim = 128, .base = 500'000})
inline model_description read_rope_parameters(std::string_view text, std::string const& name,
                                              rope_surroundings const& around) {
  return read_rope_parameters(detail::parsed_json(text, name), name, around);
}

}  // namespace posenc
