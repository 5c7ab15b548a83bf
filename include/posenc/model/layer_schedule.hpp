// The type of each layer of a model, and the kinds that its layers share.
#pragma once

#include "posenc/model/layer_description.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Types of layers, in Hugging Face's words.
inline constexpr std::string_view full_attention = "full_attention",
                                  sliding_attention = "sliding_attention",
                                  chunked_attention = "chunked_attention",
                                  linear_attention = "linear_attention",
                                  compressed_sparse_attention = "compressed_sparse_attention",
                                  heavily_compressed_attention = "heavily_compressed_attention";

inline constexpr auto symmetric_window =
    "The window is symmetric: half of its keys lie before the query, half after it.";

using layer_types = std::vector<std::string>;

/// Full attention in one of n layers, the last or that with index `first`; `others` elsewhere.
/// For n = 0 it is nowhere.
inline layer_types full_every(std::size_t layers, std::size_t n, std::string_view others,
                              std::optional<std::size_t> first = {}) {
  layer_types types(layers, std::string(others));
  for (auto i = first.value_or(n - 1); n != 0 && i < layers; i += n) types[i] = full_attention;
  return types;
}

/// What is known of a layer before the keys of its type are read.
struct scheduled_layer {
  std::string type;
  bool attends = true, rotates = true, sinks = false, has_index = false;
  std::string name = attends && !rotates ? type + ", NoPE" : type;  ///< of its kind
  double base = 0;            ///< of its frequencies; 0: as other keys say
  double partial = 0;         ///< the part of a head that rotates; 0: as other keys say
  bool shares_index = false;  ///< it sees the keys that an earlier layer chose

  bool operator==(scheduled_layer const&) const = default;
};

/// The kinds of layers. Equal layers share one, which read(kind, layer) fills.
inline std::vector<layer_description> kinds_of(std::vector<scheduled_layer> const& layers,
                                               auto const& read) {
  std::vector<layer_description> kinds;
  std::vector<scheduled_layer> seen;  // one for each kind
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto const index = static_cast<std::size_t>(std::ranges::find(seen, layers[i]) - seen.begin());
    if (index == seen.size()) {
      layer_description kind{.name = layers[i].name};
      read(kind, layers[i]);
      kinds.push_back(std::move(kind));
      seen.push_back(layers[i]);
    }
    kinds[index].layers.push_back(i);
  }
  return kinds;
}

}  // namespace posenc::detail
