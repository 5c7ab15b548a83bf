// Reads how a model encodes positions from Hugging Face's config.json. (nlohmann-json)
#pragma once

#include <concepts>
#include <cstddef>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <version>
#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
#include <filesystem>
#endif

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/detail/parsed_json.hpp"
#include "posenc/model/model_description.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// How to read a config.json.
struct hugging_face_options {
  unknown_model unknown = unknown_model::refused;  ///< families that are not known
};

/// Reads the text of a config.json; `name` is the name of the file, for errors.
///
///     auto const model = read_hugging_face(std::filesystem::path("config.json"));
///
/// Reads the keys of transformers 5 (rope_parameters, nested by type of layer or not) and of
/// earlier versions (rope_scaling, rope_theta, rotary_pct, rotary_emb_base, rope_local_base_freq
/// ...), of GPT-J, GPT-NeoX, MPT, BLOOM and T5, and a text_config inside. For an absent key
/// the default of the model_type is used and listed in `assumptions`.
///
/// Throws std::invalid_argument unless the text is JSON, with each key once in its object, and for
/// a value of another type or out of range, an unknown rope_type, keys that contradict each other,
/// and a list of the wrong length. The error names file, key and value. An error, too, unless
/// unknown_model::as_llama is asked for: an unknown model_type, and a key that was not read though
/// its name speaks of positions, scale or mask, unless it says what was found anyway: a switch of
/// what is off, a factor of 1, the number that was used.
inline model_description read_hugging_face(std::string_view text, std::string const& name,
                                           hugging_face_options const& options = {});
/// Reads a stream from its current position on, at most 16 MiB.
inline model_description read_hugging_face(std::istream& in, std::string const& name,
                                           hugging_face_options const& options = {});
#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
/// Reads a file of at most 16 MiB.
inline model_description read_hugging_face(std::filesystem::path const& file,
                                           hugging_face_options const& options = {});
#endif
/// Reads a config.json that is parsed already.
template <std::same_as<nlohmann::json> Json>
model_description read_hugging_face(Json const& parsed, std::string const& name,
                                    hugging_face_options const& options = {});

/// The settings that a rope_parameters object leaves to the rest of its file.
struct rope_surroundings {
  std::size_t head_dim;                              ///< of queries and keys
  double base = 1e4;                                 ///< rope_theta, unless it is inside
  std::optional<std::size_t> context = {};           ///< max_position_embeddings
  std::optional<std::size_t> original_context = {};  ///< original_max_position_embeddings
};

/// Reads the text of a rope_parameters or rope_scaling object, of one type of layers. Errors begin
/// with `name`. `around` is what the object leaves to the rest of its file.
///
///     read_rope_parameters(R"({"rope_type": "llama3", "factor": 8, ...})", "rope_scaling",
///                          {.head_dim = 128, .base = 500'000})
///
/// A model of one layer: its rotation, with halves in the first dims of a head, for the object does
/// not say what the model has; softmax_factor, g(mscale_all_dim)^2 in DeepSeek's models and their
/// kin; and the temperature of Llama 4 and Mistral. `read`, `assumed` and `ignored` have the keys
/// within, as rope_parameters.factor. Throws std::invalid_argument as read_hugging_face does, for
/// unknown keys too.
inline model_description read_rope_parameters(std::string_view text, std::string const& name,
                                              rope_surroundings const& around);
/// Reads such an object that is parsed already.
template <std::same_as<nlohmann::json> Json>
model_description read_rope_parameters(Json const& parsed, std::string const& name,
                                       rope_surroundings const& around);

}}  // namespace posenc

#include "posenc/model/detail/opened.hpp"
#include "posenc/model/hugging_face/detail/reader.hpp"

namespace posenc { inline namespace POSENC_TARGET {

template <std::same_as<nlohmann::json> Json>
model_description read_hugging_face(Json const& parsed, std::string const& name,
                                    hugging_face_options const& options) {
  detail::error_context const context(name);
  detail::hugging_face_reader file(detail::json_object(parsed, name), options.unknown);
  auto& config = file.config;
  if (file.read_without_rope()) {
    read_norms(file);
    return config.settled();
  }
  config.keys.require(!config.keys.truth("alibi").value_or(false), "alibi",
                      "be false for " + config.found.type);
  config.require_rope_if_unknown();
  return read_layers(file);
}

inline model_description read_hugging_face(std::string_view text, std::string const& name,
                                           hugging_face_options const& options) {
  return read_hugging_face(detail::parsed_json(text, name), name, options);
}

inline model_description read_hugging_face(std::istream& in, std::string const& name,
                                           hugging_face_options const& options) {
  constexpr std::size_t most = std::size_t{16} << 20;
  std::string text(most + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  detail::require(text.size() <= most, name, ": must be at most 16 MiB long");
  return read_hugging_face(text, name, options);
}

#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
inline model_description read_hugging_face(std::filesystem::path const& file,
                                           hugging_face_options const& options) {
  auto in = detail::opened(file);
  return read_hugging_face(in, file.filename().string(), options);
}
#endif

template <std::same_as<nlohmann::json> Json>
model_description read_rope_parameters(Json const& parsed, std::string const& name,
                                       rope_surroundings const& around) {
  detail::json_object const object(parsed, name);
  Json file{{"model_type", "llama"},
            {"num_hidden_layers", 1},
            {"head_dim", around.head_dim},
            {"rope_parameters", parsed}};
  if (!object.has("rope_theta")) file["rope_theta"] = around.base;
  if (around.context) file["max_position_embeddings"] = *around.context;
  if (around.original_context) file["original_max_position_embeddings"] = *around.original_context;
  detail::error_context const context(name);
  detail::hugging_face_config config(detail::json_object(file, name), unknown_model::refused);
  config.family.mscale_on_scores = true;
  config.keys.hide_nothing();
  config.keys.mark_read("original_max_position_embeddings");  // what is around may go unread
  std::string const type(detail::full_attention);
  layer_description kind{.name = type, .layers = {0}, .head_dim = config.head_dim()};
  detail::hugging_face_rotation(config, {.type = type}, kind).read();
  config.found.kinds.push_back(std::move(kind));
  auto found = config.settled();
  for (auto* const settings : {&found.read, &found.assumed, &found.ignored})
    std::erase_if(*settings, [](auto const& s) { return !s.key.starts_with("rope_parameters."); });
  return found;
}

inline model_description read_rope_parameters(std::string_view text, std::string const& name,
                                              rope_surroundings const& around) {
  return read_rope_parameters(detail::parsed_json(text, name), name, around);
}

}}  // namespace posenc
