// The type of each layer of a model, and the kinds that its layers share.
#pragma once

#include <span>

#include "posenc/model/layer_description.hpp"

namespace posenc::inline POSENC_TARGET {

/// A name for each layer, counted from 0: `nth` for one of each n, the last or that with index
/// `first`, and `others` elsewhere.
///
///     every_nth(62, 6, "full", "sliding")      Gemma 3: five local layers, then a global one
///     every_nth(48, 4, "nope", "rope")         Llama 4, SmolLM3: RoPE in three layers of four
///     every_nth(22, 3, "full", "sliding", 0)   ModernBERT: a global layer, then two local ones
///
/// Throws std::invalid_argument unless n is positive.
inline std::vector<std::string> every_nth(std::size_t layers, std::size_t n, std::string_view nth,
                                          std::string_view others,
                                          std::optional<std::size_t> first = {}) {
  detail::require(n > 0, "every_nth: n must be positive, got ", n);
  std::vector<std::string> names(layers, std::string(others));
  for (auto i = first.value_or(n - 1); i < layers; i += n) names[i] = nth;
  return names;
}

/// Which layers rotate, by Hugging Face's no_rope_layers. Despite its name a 1 means RoPE, a 0 no
/// RoPE. Throws std::invalid_argument for any other number.
inline std::vector<bool> layers_with_rope(std::span<double const> no_rope_layers) {
  std::vector<bool> result;
  for (auto const used : no_rope_layers) {
    detail::require(used == 0 || used == 1,
                    "no_rope_layers must hold 0 (no RoPE) or 1 (RoPE), got ", used, " at layer ",
                    result.size());
    result.push_back(used == 1);
  }
  return result;
}

namespace detail {

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

/// Full attention in one of n layers, the last or that with index `first`; others elsewhere. 0: in
/// none.
inline layer_types full_every(std::size_t layers, std::size_t n, std::string_view others,
                              std::optional<std::size_t> first = {}) {
  if (n == 0) return every_nth(layers, 1, others, {});
  return every_nth(layers, n, full_attention, others, first);
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

}  // namespace detail

}  // namespace posenc
