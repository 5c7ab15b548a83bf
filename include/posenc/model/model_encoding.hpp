// What a model does about position, layer by layer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/layer_encoding.hpp"

namespace posenc::inline POSENC_TARGET {

/// What a reader of configurations found. Plain data.
struct model_encoding {
  std::string type;        ///< model_type of config.json, general.architecture of GGUF
  std::size_t layers = 0;  ///< how many
  std::optional<std::size_t> context = {};    ///< tokens the model is made for
  std::string embedding = {};                 ///< site 1: learned, sinusoidal, or nothing
  std::vector<layer_encoding> kinds;          ///< each layer is of one of them
  std::vector<std::string> assumptions = {};  ///< what the configuration does not say and was taken
                                              ///< as known of the model, one sentence each
  std::vector<std::string> notes =
      {};  ///< what a user of these settings should know, one sentence each

  /// The kind of a layer. Throws std::invalid_argument if there is no such layer.
  layer_encoding const& kind_of(std::size_t layer) const {
    for (auto const& kind : kinds) {
      for (auto const l : kind.layers) {
        if (l == layer) return kind;
      }
    }
    detail::refuse("model_encoding: a layer must be one of the ", layers,
                   " that the model has, got ", layer);
  }
};

}  // namespace posenc
