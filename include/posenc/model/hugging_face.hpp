// Reads how a model encodes positions from Hugging Face's config.json, or its rope_parameters
// alone. (nlohmann-json)
#pragma once

#include <concepts>
#include <fstream>
#include <version>
#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
#include <filesystem>
#endif

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/norms.hpp"
#include "posenc/model/hugging_face/rotation.hpp"
#include "posenc/model/hugging_face/schedule.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

inline void read_llama4_temperature(hugging_face_config& config, layer_description& kind) {
  if (!config.truth("attn_temperature_tuning").value_or(true)) {
    return config.supersede({"attn_scale", "floor_scale"});
  }
  auto const scale = config.positive_or("attn_scale", 0.1);
  kind.temperature = position_temperature{scale, config.positive_or("floor_scale", 8192), 1};
}

inline std::size_t head_dim_of(hugging_face_config& config, std::string_view type) {
  auto const nope_dim = config.count("qk_nope_head_dim", most_dims);
  auto const rope_dim = config.count("qk_rope_head_dim", most_dims);
  config.require(!nope_dim || rope_dim, "qk_rope_head_dim", "be given where qk_nope_head_dim is");
  config.require(!rope_dim || config.is_known, "qk_rope_head_dim",
                 "come with a known model_type, because only some scale scores by mscale");
  bool const is_narrow =
      config.family.nope_narrows && config.flag(config.family.nope_key).value_or(false);
  auto const dim = !nope_dim ? config.head_dim() : is_narrow ? *nope_dim : *nope_dim + *rope_dim;
  if (type == sliding_attention) return config.count("swa_head_dim", most_dims).value_or(dim);
  auto const global_dim = config.family.global_head_dim;
  if (type != full_attention || global_dim == 0) return dim;
  return config.count_or("global_head_dim", most_dims, global_dim);
}

/// The distance below which a query of a layer that slides sees keys.
inline std::size_t window_of(hugging_face_config& config, std::string const& type) {
  auto const key = std::string(config.family.window_key);
  auto const given = config.needed(config.window(), key, "be given for layers of " + type);
  constexpr auto both = "use_bidirectional_attention";
  auto rule = config.family.window_is;
  if (rule == window_rule::half_if_both_sides) {
    bool const on_both = config.peek(both).is_string() ? config.text(both) == "all"
                                                       : config.flag(both).value_or(false);
    rule = on_both ? window_rule::half_on_each_side : window_rule::last_keys;
  }
  if (rule == window_rule::half_of_key) {
    config.require(given >= 2, key, "be at least 2");
    return given / 2;
  }
  if (rule == window_rule::last_keys) return given;
  config.note(symmetric_window);
  return given / 2 + 1;
}

inline void read_kind(hugging_face_config& config, layer_description& kind,
                      scheduled_layer const& layer) {
  auto const& type = layer.type;
  bool const slides = type == sliding_attention;
  if (!layer.attends) {
    return config.note(type + " layers have no attention: no encoding acts there.");
  }
  kind.head_dim = head_dim_of(config, type);
  kind.softmax_factor = softmax_factor(config, kind.head_dim);
  if (slides || config.family.compressed) kind.window = window_of(config, type);
  if (type == chunked_attention) {
    kind.chunk = config.count_or("attention_chunk_size", most_tokens, 8192);
  }
  constexpr auto cap = "attn_logit_softcapping";
  kind.score_cap = config.positive(cap);
  if (config.family.score_cap != 0 && config.peek(cap).is_discarded()) {  // null means no cap
    kind.score_cap = config.assumed(cap, config.family.score_cap);
  }
  auto const sinks =
      config.flag(slides ? "add_swa_attention_sink_bias" : "add_full_attention_sink_bias");
  kind.sinks = sinks.value_or(config.family.sinks || (config.family.sliding_sinks && slides));
  if (layer.rotates) {
    hugging_face_rotation(config, layer, kind).read();
    read_sparse_attention(config, layer, kind);
  }
  require(is_finite(kind.softmax_factor), config.where(),
          ": the factor on scores must be finite, got ", kind.softmax_factor);
  if (!layer.rotates && config.family.nope_temperature) read_llama4_temperature(config, kind);
}

}  // namespace detail

/// Reads a config.json that is parsed already; `name` is the name of the file, for errors.
///
/// Reads the keys of transformers 5 (rope_parameters, nested by type of layer or not) and of
/// earlier versions (rope_scaling, rope_theta, rotary_pct, rotary_emb_base, rope_local_base_freq
/// ...), those of GPT-J, GPT-NeoX, MPT, BLOOM and T5, and a text_config inside. For an absent key
/// the default of the model_type is used and listed in `assumptions`.
///
/// Throws std::invalid_argument for a value of another type or out of range, an unknown rope_type,
/// keys that contradict each other, and a list of the wrong length. The error names file, key and
/// value. An error, too, unless unknown_model::as_llama is asked for: an unknown model_type, and a
/// key that was not read though its name speaks of positions, scale or mask, unless it says what
/// was found anyway: a switch of what is off, a factor of 1, the number that was used.
template <std::same_as<nlohmann::json> Json>
model_description read_hugging_face(Json const& parsed, std::string const& name,
                                    hugging_face_options const& options = {}) {
  detail::error_context const context(name);
  detail::hugging_face_config config(detail::json_object(parsed, name), options);
  auto const done = [&] { return detail::read_norms(config), config.settled(); };
  if (detail::read_other_than_rope(config)) return done();
  config.require(!config.truth("alibi").value_or(false), "alibi",
                 "be false for " + config.found.type);
  if (!config.is_known) {
    auto const is_of_rope = [](auto const& item) {
      auto const& key = item.key();
      return key.find("rope_") != key.npos || key.starts_with("rotary_") ||
             key == "partial_rotary_factor";
    };
    auto const items = config.whole().items();
    config.require(std::any_of(items.begin(), items.end(), is_of_rope), "model_type",
                   "be known where no key is about RoPE");
    config.assume("model_type", "llama",
                  "model_type " + config.found.type +
                      " is not known: pairs are halves, and defaults are Llama's.");
  }
  auto const layers = detail::scheduled_layers(config);
  config.found.kinds = detail::kinds_of(
      layers, [&](auto& kind, auto const& layer) { detail::read_kind(config, kind, layer); });
  detail::read_shared_keys(config, layers);
  return done();
}

/// The same of its text. Throws, too, unless it is JSON, with each key once in its object.
inline model_description read_hugging_face(std::string_view text, std::string const& name,
                                           hugging_face_options const& options = {}) {
  return read_hugging_face(detail::parsed_json(text, name), name, options);
}

#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
/// Reads a config.json of at most 16 MiB.
inline model_description read_hugging_face(std::filesystem::path const& file,
                                           hugging_face_options const& options = {}) {
  std::ifstream in(file, std::ios::binary);
  detail::require(in.is_open() && !std::filesystem::is_directory(file), file.string(),
                  ": must be a file that can be read");
  constexpr std::size_t most = std::size_t{16} << 20;
  std::string text(most + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  detail::require(text.size() <= most, file.string(), ": must be at most 16 MiB long");
  return read_hugging_face(text, file.filename().string(), options);
}
#endif

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
