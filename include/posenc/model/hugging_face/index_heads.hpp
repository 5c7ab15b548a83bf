// The heads that choose which keys a query sees, and pooled keys, by the keys of a config.json.
// (nlohmann-json)
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/hugging_face/layer_lists.hpp"
#include "posenc/model/layer_description.hpp"
#include "posenc/model/layer_schedule.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Whether each layer sees the keys that an earlier one chose (GLM-5).
inline std::vector<bool> layers_that_share_index(hugging_face_config& config) {
  std::vector<bool> shares(config.found.layers, false);
  if (config.family.index.heads.value == 0) return shares;
  auto const& keys = config.keys;
  auto given = keys.texts("indexer_types");
  if (!given && keys.is_text("index_topk_pattern")) {
    given = layer_types_by_letter(config, "index_topk_pattern", {{'F', "full"}, {'S', "shared"}},
                                  "hold letters F and S");
  } else if (!given) {
    given = keys.texts("index_topk_pattern");
  }
  auto const types = std::move(given).value_or(std::vector<std::string>());
  auto const every = keys.count_or_zero("index_topk_freq", most_dims).value_or(1);
  auto const first = keys.count("index_skip_topk_offset", most_dims).value_or(2);
  auto const key = keys.has("indexer_types") ? "indexer_types" : "index_topk_pattern";
  if (!types.empty()) require_entries(config, key, types.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    bool const by_number = i + 1 > first && (i + 1 - first) % every != 0;
    shares[i] = types.empty() ? by_number : types[i] == "shared";
  }
  keys.require(!shares.front(), key, "begin with a layer of its own choice");
  return shares;
}

/// A number under a key of the file, or under another in the object of sparse attention
/// (MiniMax-M3), or the family's.
inline std::size_t index_number(hugging_face_config& config, index_number_rule const& rule) {
  if (rule.key.empty()) return rule.value;
  auto const key = std::string(rule.key), within = std::string(rule.within);
  auto const object = config.keys.object("sparse_attention_config");
  auto const inner = object && !within.empty() ? object->count(within, most_tokens) : std::nullopt;
  if (inner && config.keys.has(key)) object->refuse(within, "not be given beside " + key);
  return inner ? *inner : config.count_or(key, most_tokens, rule.value);
}

/// Reads the index heads of a kind of layers that rotates.
inline void read_index_heads(hugging_face_config& config, scheduled_layer const& layer,
                             layer_description& kind) {
  auto const& rule = config.family.index;
  bool const has_index = rule.heads.value != 0 && !layer.shares_index &&
                         (rule.layers.empty() || rule.layers == layer.type);
  kind.shares_index = layer.shares_index;
  if (!has_index) return;
  auto const stride = index_number(config, rule.key_stride);
  auto const chosen = index_number(config, rule.chosen);
  index_heads index{.heads = index_number(config, rule.heads),
                    .head_dim = index_number(config, rule.head_dim),
                    .rotary = kind.rotary.at(0),
                    .chosen = rule.chosen_in_tokens ? chosen / stride : chosen,
                    .block = index_number(config, rule.block),
                    .local_blocks = index_number(config, rule.local_blocks),
                    .key_stride = stride};
  config.keys.require(index.head_dim <= most_dims, std::string(rule.head_dim.key),
                      "be at most 65536");
  auto const dims = index.rotary.frequencies.at(1).rotary_dim();
  config.keys.require(dims <= index.head_dim, std::string(rule.head_dim.key),
                      "have room for the " + shown(dims) + " dims that rotate");
  if (rule.chosen_in_tokens) index.block = stride;
  index.rotary.layout = halves();
  if (rule.interleaved) index.rotary.layout = interleaved();
  index.rotary.block = rule.last_dims ? rotary_block::last() : rotary_block::first();
  kind.index.emplace(std::move(index));
}

/// Reads how many tokens a compressed key stands for (DeepSeek-V4).
inline void read_pooled_keys(hugging_face_config& config, scheduled_layer const& layer,
                             layer_description& kind) {
  if (!config.family.compressed || layer.type == sliding_attention) return;
  bool const is_sparse = layer.type == "compressed_sparse_attention";
  auto const rates = config.keys.object("compress_rates");
  auto const given = rates ? rates->count(layer.type, most_tokens) : std::nullopt;
  kind.pooled = given.value_or(is_sparse ? 4 : 128);
}

}  // namespace posenc::detail
