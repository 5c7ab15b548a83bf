// Types of layers.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/detail/findings.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Types of layers, in Hugging Face's words.
inline constexpr std::string_view full_attention = "full_attention",
                                  sliding_attention = "sliding_attention",
                                  chunked_attention = "chunked_attention",
                                  linear_attention = "linear_attention",
                                  cross_attention = "cross_attention",
                                  no_attention = "no_attention",
                                  compressed_sparse_attention = "compressed_sparse_attention",
                                  heavily_compressed_attention = "heavily_compressed_attention",
                                  shared_compressed_attention = "shared_compressed_attention";

using layer_types = std::vector<std::string>;

/// Full attention in one of n layers, the last or that with index `first`; `others` elsewhere.
/// For n = 0 it is nowhere.
inline layer_types full_every(std::size_t layers, std::size_t n, std::string_view others,
                              std::optional<std::size_t> first = {}) {
  layer_types types(layers, std::string(others));
  for (auto i = first.value_or(n - 1); n != 0 && i < layers; i += n) types[i] = full_attention;
  return types;
}

/// The facts about a layer before the keys of its type are read.
struct scheduled_layer {
  std::string type;
  bool attends = true, rotates = true, sinks = false, has_index = true;
  std::string name = attends && !rotates ? type + ", NoPE" : type;  ///< of its kind
  double base = 0;            ///< of its frequencies; 0: as other keys say
  double partial = 0;         ///< the part of a head that rotates; 0: as other keys say
  bool shares_index = false;  ///< it sees the keys that an earlier layer chose
  /// Sizes, and tokens of a pooled key. 0: as other keys say.
  std::size_t head_dim = 0, rotary_dim = 0, heads = 0, key_heads = 0, pooled = 0;

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

/// Says in config.found.key_layers that each layer from `first` on sees the keys of the last layer
/// before `first` that has its type. False, and nothing said, if no layer there has its type.
inline bool share_keys(findings& config, std::vector<scheduled_layer> const& layers,
                       std::size_t first) {
  std::string text;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto from = std::min(i + 1, first);
    while (from > 0 && layers[from - 1].type != layers[i].type) --from;
    if (from == 0) return false;
    all.push_back(from - 1);
    auto const words = layers[i].type + " sees those of layer " + shown(from - 1);
    if (i >= first && text.find(words) == text.npos)
      text += (text.empty() ? " write no keys or values: " : ", ") + words;
  }
  config.note("Layers from " + shown(first) + " on" + text + ".");
  config.found.key_layers = std::move(all);
  return true;
}

}}}  // namespace posenc::detail
