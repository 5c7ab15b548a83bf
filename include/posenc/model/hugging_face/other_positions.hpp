// Families without RoPE: ALiBi, T5's buckets, learned embeddings. (nlohmann-json)
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/config.hpp"

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
      config.keys.require(!config.keys.flag("scale_attn_by_inverse_layer_idx").value_or(false),
                          "scale_attn_by_inverse_layer_idx",
                          "be false: a scale for each layer is not read");
      if (!config.keys.flag("scale_attn_weights").value_or(true)) return root;
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
  auto const attention = config.keys.object("attn_config");
  if (attention && attention->flag("rope").value_or(false)) {
    attention->refuse("rope", "be false: MPT's RoPE is not read");
  }
  auto const scale = attention ? attention->number("softmax_scale") : std::nullopt;
  if (scale) attention->require(*scale > 0, "softmax_scale", "be positive");
  auto const has_alibi = attention ? attention->flag("alibi") : std::nullopt;
  if (!has_alibi) {  // transformers takes ALiBi then, MosaicML's own code does not
    (attention ? *attention : config.keys).refuse(attention ? "alibi" : "attn_config", "be given");
  }
  bool const has_learned = config.keys.flag("learned_pos_emb").value_or(true);
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
  if (scale) kind.softmax_factor = *scale * std::sqrt(static_cast<double>(kind.head_dim));
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
  auto const& keys = config.keys;
  switch (config.family.positions) {
    case position_rule::rope:
      return false;
    case position_rule::alibi:
      return read_alibi(config), true;
    case position_rule::alibi_if_flagged:
      if (!keys.flag("alibi").value_or(false)) return false;
      read_alibi(config);
      config.found.kinds[0].alibi->factor =
          1 / std::sqrt(static_cast<double>(config.found.kinds[0].head_dim));
      return true;
    case position_rule::alibi_without_context:
      if (keys.has("max_position_embeddings")) return false;
      config.found.context = keys.count("model_max_length", most_tokens);
      config.assume(
          "max_position_embeddings is not given: ALiBi, as Baichuan's models of 13B have it.");
      return read_alibi(config), true;
    case position_rule::alibi_or_learned:
      return read_alibi_or_learned(config);
    case position_rule::buckets:
      return read_buckets(config), true;
    case position_rule::learned_absolute:
      keys.require(keys.text("position_embedding_type").value_or("absolute") == "absolute",
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

}  // namespace posenc::detail
