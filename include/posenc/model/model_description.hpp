// How a model encodes positions, layer by layer, as data.
#pragma once

#include "posenc/model/layer_description.hpp"

namespace posenc::inline POSENC_TARGET {

/// What a reader found in a model's settings. Plain data.
struct model_description {
  std::string type;                         ///< model_type, or general.architecture of GGUF
  std::size_t layers = 0;                   ///< their number
  std::optional<std::size_t> context = {};  ///< tokens that the model is made for
  std::string embedding = {};               ///< site 1: learned, or empty
  std::vector<layer_description> kinds;     ///< each layer is of one of them
  /// Defaults that stand for absent keys, one sentence each.
  std::vector<std::string> assumptions = {};
  /// What a user of these settings should know, one sentence each.
  std::vector<std::string> notes = {};

  // The same for programs. Of a GGUF file `read` has the keys about positions alone.
  std::vector<model_setting> read = {};     ///< keys that are given and used
  std::vector<model_setting> assumed = {};  ///< keys that are absent, and the default of each
  /// Keys about positions, the scale of scores or the mask that are given and not used.
  std::vector<model_setting> ignored = {};

  /// The kind of a layer. Throws std::invalid_argument if there is no such layer.
  layer_description const& kind_of(std::size_t layer) const {
    for (auto const& kind : kinds) {
      if (std::ranges::find(kind.layers, layer) != kind.layers.end()) return kind;
    }
    detail::refuse("model_description: layer must be below the number of layers, ", layers,
                   ", got ", layer);
  }
};

/// What readers do with an unknown model_type or general.architecture, and with keys that they do
/// not read though the names say that they act.
///
///     read_gguf("newcomer.gguf", {.unknown = posenc::unknown_model::as_llama})
enum class unknown_model {
  refused,  ///< it is an error
  as_llama  ///< it is read with Llama's layout of pairs, and Llama's defaults for absent keys;
            ///< assumptions say so, notes and ignored list the keys
};

namespace detail {

/// The kind of each layer. Throws std::invalid_argument if a layer has none.
inline std::vector<layer_description const*> kinds_by_layer(model_description const& model) {
  std::vector<layer_description const*> result(model.layers, nullptr);
  for (auto const& kind : model.kinds) {
    for (auto const layer : kind.layers) {
      if (layer < result.size() && result[layer] == nullptr) result[layer] = &kind;
    }
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    require(result[i] != nullptr, "model_description: each layer must have a kind, got none for ",
            i);
  }
  return result;
}

}  // namespace detail
}  // namespace posenc
