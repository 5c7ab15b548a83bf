// What a config.json says beside RoPE: ALiBi, buckets, sparse attention ... (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/layer_lists.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// What multiplies scores beside 1 / sqrt(head_dim).
inline double softmax_factor(hugging_face_config& config, std::size_t head_dim) {
  auto const& family = config.family;
  auto const dims = static_cast<double>(head_dim), root = std::sqrt(dims);
  if (family.undivided) return root;
  if (family.flag_undivides) {
    config.require(!config.flag("scale_attn_by_inverse_layer_idx").value_or(false),
                   "scale_attn_by_inverse_layer_idx",
                   "be false: a scale for each layer is not read");
    return config.flag("scale_attn_weights").value_or(true) ? 1 : root;
  }
  auto const key = std::string(family.scale_key);
  if (key.empty()) return 1;
  auto const given_or = [&](double of_dims) {
    return config.positive_or(key, family.scale_default != 0 ? family.scale_default : of_dims);
  };
  if (key == "query_pre_attn_scalar") return root / std::sqrt(given_or(dims));
  bool const is_all = key == "attention_multiplier" || key == "softmax_scale";
  return is_all ? root * given_or(1 / root) : given_or(1);
}

/// The one kind of a model whose layers are all alike and do not rotate.
inline layer_description& add_kind_without_rope(hugging_face_config& config) {
  layer_description kind{.name = std::string(full_attention),
                         .layers = std::vector<std::size_t>(config.found.layers),
                         .head_dim = config.head_dim()};
  std::iota(kind.layers.begin(), kind.layers.end(), std::size_t{0});
  kind.softmax_factor = softmax_factor(config, kind.head_dim);
  return config.found.kinds.emplace_back(std::move(kind));
}

inline layer_description& read_alibi(hugging_face_config& config, double max_bias = 8) {
  config.note(config.family.alibi_note);
  alibi_bias const alibi{config.heads(), max_bias};
  auto& kind = add_kind_without_rope(config);
  kind.alibi = alibi;
  return kind;
}

inline void read_alibi_or_learned(hugging_face_config& config) {
  auto const attention = config.needed(config.object("attn_config"), "attn_config");
  attention.require(!attention.flag("rope").value_or(false), "rope",
                    "be false: MPT's RoPE is not read");
  auto const scale = attention.positive("softmax_scale");
  // Where it is absent, transformers takes ALiBi, MosaicML's own code does not.
  bool const has_alibi = attention.needed(attention.flag("alibi"), "alibi");
  bool const has_learned = config.flag("learned_pos_emb").value_or(true);
  if (has_alibi) {
    read_alibi(config,
               config.or_assumed(attention.positive("alibi_bias_max"), "alibi_bias_max", 8.0));
  } else {
    if (has_learned) config.found.embedding = "learned";
    add_kind_without_rope(config);
  }
  auto& kind = config.found.kinds.front();
  if (scale) kind.softmax_factor = *scale * std::sqrt(static_cast<double>(kind.head_dim));
}

/// Reads a model without RoPE. Returns false if layers are still to be read: they rotate or differ.
inline bool read_other_than_rope(hugging_face_config& config) {
  switch (config.family.positions) {
    case position_rule::rope:
      return false;
    case position_rule::alibi_if_flagged: {
      if (!config.flag("alibi").value_or(false)) return false;
      auto& kind = read_alibi(config);
      kind.alibi->factor = 1 / std::sqrt(static_cast<double>(kind.head_dim));
      break;
    }
    case position_rule::alibi_without_context:
      if (config.has("max_position_embeddings")) return false;
      config.found.context = config.count("model_max_length", most_tokens);
      config.assume(
          "max_position_embeddings is not given: ALiBi, as Baichuan's models of 13B have it.");
      [[fallthrough]];
    case position_rule::alibi:
      read_alibi(config);
      break;
    case position_rule::alibi_or_learned:
      read_alibi_or_learned(config);
      break;
    case position_rule::buckets: {
      auto const buckets = config.count_or("relative_attention_num_buckets", most_dims, 32);
      auto const distance = config.count_or("relative_attention_max_distance", most_tokens, 128);
      add_kind_without_rope(config).buckets = bucket_bias{buckets, distance};
      break;
    }
    case position_rule::learned_absolute:
      config.require(config.text("position_embedding_type").value_or("absolute") == "absolute",
                     "position_embedding_type",
                     "be absolute: relative keys and queries are not read");
      [[fallthrough]];
    case position_rule::learned:
      config.found.embedding = "learned";
      if (config.family.full_every != 1) return false;  // some layers slide
      add_kind_without_rope(config);
      break;
  }
  return true;
}

/// Whether each layer sees the keys that an earlier one chose (GLM-5).
inline std::vector<bool> layers_that_share_index(hugging_face_config& config) {
  std::vector<bool> shares(config.found.layers, false);
  if (config.family.index.heads.value == 0) return shares;
  constexpr auto pattern = "index_topk_pattern";
  auto given = config.texts("indexer_types");
  auto const key = given ? "indexer_types" : pattern;
  if (!given && config.peek(pattern).is_string()) {
    given = layer_types_by_letter(config, pattern, {{'F', "full"}, {'S', "shared"}},
                                  "hold letters F and S");
  }
  if (!given) given = config.texts(pattern);
  auto const every = config.count_or_zero("index_topk_freq", most_dims).value_or(1);
  auto const first = config.count("index_skip_topk_offset", most_dims).value_or(2);
  bool const is_listed = given && !given->empty();
  if (is_listed) require_entries(config, key, given->size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    shares[i] = is_listed ? (*given)[i] == "shared" : i + 1 > first && (i + 1 - first) % every != 0;
  }
  config.require(!shares.front(), key, "begin with a layer of its own choice");
  return shares;
}

/// A number of the file, of its object of sparse attention (MiniMax-M3), or of the family.
inline std::size_t index_number(hugging_face_config& config, index_number_rule const& rule) {
  if (rule.key.empty()) return rule.value;
  auto const key = std::string(rule.key);
  auto const object = config.object("sparse_attention_config");
  auto const inner =
      object && !rule.within.empty() ? object->count(rule.within, most_tokens) : std::nullopt;
  if (inner && config.has(key)) object->refuse(rule.within, "not be given beside " + key);
  return inner ? *inner : config.count_or(key, most_tokens, rule.value);
}

/// Reads the index heads of layers that rotate, and the tokens of a pooled key (DeepSeek-V4).
inline void read_sparse_attention(hugging_face_config& config, scheduled_layer const& layer,
                                  layer_description& kind) {
  auto const& rule = config.family.index;
  kind.shares_index = layer.shares_index;
  if (config.family.compressed && layer.type != sliding_attention) {
    auto const rates = config.object("compress_rates");
    auto const given = rates ? rates->count(layer.type, most_tokens) : std::nullopt;
    kind.pooled = given.value_or(layer.type == compressed_sparse_attention ? 4 : 128);
  }
  bool const is_of_type = rule.layers.empty() || rule.layers == layer.type;
  if (rule.heads.value == 0 || layer.shares_index || !is_of_type) return;
  auto const stride = index_number(config, rule.key_stride);
  auto const chosen = index_number(config, rule.chosen);
  index_heads index{.heads = index_number(config, rule.heads),
                    .head_dim = index_number(config, rule.head_dim),
                    .rotary = kind.rotary.at(0),
                    .chosen = rule.chosen_in_tokens ? chosen / stride : chosen,
                    .block = index_number(config, rule.block),
                    .local_blocks = index_number(config, rule.local_blocks),
                    .key_stride = stride};
  config.require(index.head_dim <= most_dims, rule.head_dim.key, "be at most 65536");
  auto const dims = index.rotary.frequencies.at(1).rotary_dim();
  config.require(dims <= index.head_dim, rule.head_dim.key,
                 "have room for the " + shown(dims) + " dims that rotate");
  if (rule.chosen_in_tokens) index.block = stride;
  index.rotary.layout = halves();
  if (rule.interleaved) index.rotary.layout = interleaved();
  index.rotary.block = rule.last_dims ? rotary_block::last() : rotary_block::first();
  kind.index.emplace(std::move(index));
}

}  // namespace posenc::detail
