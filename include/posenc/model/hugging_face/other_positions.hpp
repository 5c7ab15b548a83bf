// What a config.json says beside RoPE: ALiBi, T5's buckets, learned embeddings, and which keys
// sparse attention sees. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/hugging_face/layer_lists.hpp"
#include "posenc/model/layer_schedule.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// What multiplies scores beside 1 / sqrt(head_dim).
inline double softmax_factor(hugging_face_config& config, std::size_t head_dim) {
  auto const& family = config.family;
  auto const dims = static_cast<double>(head_dim), root = std::sqrt(dims);
  /// The key, or the default of the family, or `of_dims`.
  auto const given_or = [&](char const* key, double of_dims) {
    auto const value = family.scale_default != 0 ? family.scale_default : of_dims;
    return config.positive_or(key, value);
  };
  switch (family.scale) {
    case score_scale::head_dim:
      break;
    case score_scale::query_pre_attn_scalar:
      return root / std::sqrt(given_or("query_pre_attn_scalar", dims));
    case score_scale::attention_multiplier:
      return root * given_or("attention_multiplier", 1 / root);
    case score_scale::softmax_scale:
      return root * given_or("softmax_scale", 1 / root);
    case score_scale::qk_scale_factor:
      return given_or("qk_scale_factor", 1);
    case score_scale::key_multiplier:
      return given_or("key_multiplier", 1);
    case score_scale::head_dim_if_flagged:
      config.require(!config.flag("scale_attn_by_inverse_layer_idx").value_or(false),
                     "scale_attn_by_inverse_layer_idx",
                     "be false: a scale for each layer is not read");
      if (!config.flag("scale_attn_weights").value_or(true)) return root;
      break;
    case score_scale::none:
      return root;
  }
  return 1;
}

/// The one kind of a model whose layers are all alike and do not rotate.
inline layer_description& add_kind_without_rope(hugging_face_config& config) {
  auto& kind = config.add_kind_of_all_layers();
  kind.softmax_factor = softmax_factor(config, kind.head_dim);
  return kind;
}

inline void read_alibi(hugging_face_config& config, double max_bias = 8) {
  if (!config.family.alibi_note.empty()) config.note(std::string(config.family.alibi_note));
  add_kind_without_rope(config).alibi = alibi_bias{config.heads(), max_bias};
}

/// Returns false, and reads no layers, if some of them slide.
inline bool read_learned_embeddings(hugging_face_config& config) {
  config.found.embedding = "learned";
  if (config.family.sliding != sliding_rule::none) return false;
  add_kind_without_rope(config);
  return true;
}

inline bool read_alibi_or_learned(hugging_face_config& config) {
  auto const attention = config.object("attn_config");
  if (attention && attention->flag("rope").value_or(false)) {
    attention->refuse("rope", "be false: MPT's RoPE is not read");
  }
  double scale = 0;  // 0: not given
  if (attention) {
    auto const given = attention->number("softmax_scale");
    if (given) attention->require(*given > 0, "softmax_scale", "be positive");
    scale = given.value_or(0);
  }
  auto const has_alibi = attention ? attention->flag("alibi") : std::nullopt;
  if (!has_alibi) {  // transformers takes ALiBi then, MosaicML's own code does not
    (attention ? *attention : static_cast<json_object const&>(config))
        .refuse(attention ? "alibi" : "attn_config", "be given");
  }
  bool const has_learned = config.flag("learned_pos_emb").value_or(true);
  if (!*has_alibi && !has_learned) {
    add_kind_without_rope(config);
  } else if (!*has_alibi) {
    read_learned_embeddings(config);
  } else {
    auto const max_bias = attention->number("alibi_bias_max");
    if (max_bias) attention->require(*max_bias > 0, "alibi_bias_max", "be positive");
    read_alibi(config, max_bias ? *max_bias : config.assumed("alibi_bias_max", 8.0));
  }
  auto& kind = config.found.kinds.front();
  if (scale > 0) kind.softmax_factor = scale * std::sqrt(static_cast<double>(kind.head_dim));
  return true;
}

inline void read_buckets(hugging_face_config& config) {
  auto const buckets = config.count_or("relative_attention_num_buckets", most_dims, 32);
  auto const distance = config.count_or("relative_attention_max_distance", most_tokens, 128);
  add_kind_without_rope(config).buckets = bucket_bias{buckets, distance};
}

/// Reads the positions of a model without RoPE. Returns false if its layers are still to be read,
/// because they rotate or differ.
inline bool read_other_than_rope(hugging_face_config& config) {
  switch (config.family.positions) {
    case position_rule::rope:
      return false;
    case position_rule::alibi:
      return read_alibi(config), true;
    case position_rule::alibi_if_flagged:
      if (!config.flag("alibi").value_or(false)) return false;
      read_alibi(config);
      config.found.kinds[0].alibi->factor =
          1 / std::sqrt(static_cast<double>(config.found.kinds[0].head_dim));
      return true;
    case position_rule::alibi_without_context:
      if (config.has("max_position_embeddings")) return false;
      config.found.context = config.count("model_max_length", most_tokens);
      config.assume(
          "max_position_embeddings is not given: ALiBi, as Baichuan's models of 13B have it.");
      return read_alibi(config), true;
    case position_rule::alibi_or_learned:
      return read_alibi_or_learned(config);
    case position_rule::buckets:
      return read_buckets(config), true;
    case position_rule::learned_absolute:
      config.require(config.text("position_embedding_type").value_or("absolute") == "absolute",
                     "position_embedding_type",
                     "be absolute: relative keys and queries are not read");
      return read_learned_embeddings(config);
    case position_rule::learned:
      return read_learned_embeddings(config);
    case position_rule::refused:
      break;
  }
  return false;
}

/// Whether each layer sees the keys that an earlier one chose (GLM-5).
inline std::vector<bool> layers_that_share_index(hugging_face_config& config) {
  std::vector<bool> shares(config.found.layers, false);
  if (config.family.index.heads.value == 0) return shares;
  auto given = config.texts("indexer_types");
  if (!given && config.is_text("index_topk_pattern")) {
    given = layer_types_by_letter(config, "index_topk_pattern", {{'F', "full"}, {'S', "shared"}},
                                  "hold letters F and S");
  } else if (!given) {
    given = config.texts("index_topk_pattern");
  }
  auto const types = std::move(given).value_or(std::vector<std::string>());
  auto const every = config.count_or_zero("index_topk_freq", most_dims).value_or(1);
  auto const first = config.count("index_skip_topk_offset", most_dims).value_or(2);
  auto const key = config.has("indexer_types") ? "indexer_types" : "index_topk_pattern";
  if (!types.empty()) require_entries(config, key, types.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    bool const by_number = i + 1 > first && (i + 1 - first) % every != 0;
    shares[i] = types.empty() ? by_number : types[i] == "shared";
  }
  config.require(!shares.front(), key, "begin with a layer of its own choice");
  return shares;
}

/// A number under a key of the file, or under another in the object of sparse attention
/// (MiniMax-M3), or the family's.
inline std::size_t index_number(hugging_face_config& config, index_number_rule const& rule) {
  if (rule.key.empty()) return rule.value;
  auto const key = std::string(rule.key), within = std::string(rule.within);
  auto const object = config.object("sparse_attention_config");
  auto const inner = object && !within.empty() ? object->count(within, most_tokens) : std::nullopt;
  if (inner && config.has(key)) object->refuse(within, "not be given beside " + key);
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
  config.require(index.head_dim <= most_dims, std::string(rule.head_dim.key), "be at most 65536");
  auto const dims = index.rotary.frequencies.at(1).rotary_dim();
  config.require(dims <= index.head_dim, std::string(rule.head_dim.key),
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
  auto const rates = config.object("compress_rates");
  auto const given = rates ? rates->count(layer.type, most_tokens) : std::nullopt;
  kind.pooled = given.value_or(is_sparse ? 4 : 128);
}

}  // namespace posenc::detail
