// Keys of a config.json that nobody read although their names say that they act. (nlohmann-json)
#pragma once

#include "posenc/model/hugging_face/layer_lists.hpp"

namespace posenc::inline POSENC_TARGET::detail {

// clang-format off
/// Parts of the names of keys that act on positions, on the scale of scores or on the mask.
inline constexpr auto words_of_positions = std::to_array<std::string_view>(
    {"rope", "rotary", "theta", "alibi", "position", "pos_emb", "nope", "window", "sliding", "swa_",
     "local_att", "global_att", "chunk_attention", "attention_chunk", "layer_type",
     "layer_pattern", "attention_type", "attn_type", "full_attention", "full_attn",
     "attention_every", "attn_layer", "sparse_attention", "bidirectional", "causal", "relative_",
     "compress_", "index_", "indexer", "attention_multiplier", "attn_multiplier", "key_multiplier",
     "query_pre_attn", "qk_scale", "attn_scale", "attn_scaling", "attention_scal", "softmax_scal",
     "scale_attn", "scale_qk", "scaling_factor", "softcap", "soft_cap", "sink", "temperature",
     "logn", "log_n", "log_scaling", "ntk", "yarn", "mscale"});

/// The same of keys that act on rotation alone.
inline constexpr std::array<std::string_view, 4> words_of_rotation{"rope", "rotary", "theta", "yarn"};

/// Keys with such a name that act on sampling, logits, routers or values.
inline constexpr auto keys_that_act_elsewhere = std::to_array<std::string_view>(
    {"temperature", "final_logit_softcapping", "logits_soft_cap", "routed_scaling_factor",
     "router_scaling_factor", "moe_router_scaling_factor", "moe_routed_scaling_factor",
     "moe_router_logit_softcapping", "mtp_loss_scaling_factor", "num_global_key_value_heads",
     "swa_num_key_value_heads", "swa_v_head_dim", "mlp_layer_types", "position_id_per_seconds",
     "hc_sinkhorn_iters"});

/// Keys of a rope_parameters that act nowhere.
inline constexpr auto rope_keys_without_effect = std::to_array<std::string_view>(
    {"finetuned", "max_position_embeddings"});

// clang-format on

/// Looks for keys of `object`, and of objects within it, that nobody read and whose names say that
/// they act. Throws std::invalid_argument for the first one. If the model is read as Llama's, each
/// one becomes a note instead.
inline void check_unread(hugging_face_config& config, json_object const& object,
                         bool is_of_rope = false) {
  for (auto const& [key, value] : object.whole().items()) {
    if (value.is_null() || object.is_asked(key)) continue;
    auto const has_word_of = [&name = key](auto const& words) {
      return std::ranges::any_of(
          words, [&](std::string_view word) { return name.find(word) != std::string::npos; });
    };
    bool const speaks = is_of_rope || has_word_of(words_of_positions);
    if (!speaks || contains(config.found.ignored, object.setting(key))) continue;
    config.ignore(object.setting(key));
    // Some writers leave a copy of a key of the text_config outside.
    if (object.path().empty() && !config.path().empty() && config.peek(key) == value) continue;
    bool const is_without_effect =
        is_of_rope
            ? contains(rope_keys_without_effect, key) || (value.is_object() && has_attention(key))
            : contains(keys_that_act_elsewhere, key) || contains(config.family.without_effect, key);
    bool const is_about_rotation = is_of_rope || has_word_of(words_of_rotation);
    if (is_without_effect || (!config.rotates() && is_about_rotation)) continue;
    object.require(!config.is_known, key, std::string("be a key that is read") + says_that_it_acts);
    config.note(object.path() + key + " is not read.");
  }
  for (auto const& [key, value] : object.whole().items()) {
    bool const is_rope = key == "rope_parameters" || key == "rope_scaling" || key == "rotary";
    bool const is_twin = key == "rope_scaling" && object.is_object("rope_parameters");
    if (value.is_object() && object.is_asked(key) && !is_twin) {
      check_unread(config, *object.object(key), is_of_rope || is_rope);
    }
  }
}

/// What was found, with the keys that were read and ignored; throws as check_unread does.
inline model_description settled(hugging_face_config& config) {
  auto& found = config.found;
  auto const& index = config.family.index;
  bool const some_have_index =
      std::ranges::any_of(found.kinds, [](auto const& kind) { return kind.index.has_value(); });
  for (auto const& rule : {index.heads, index.head_dim, index.chosen, index.block,
                           index.local_blocks, index.key_stride}) {
    auto const key = std::string(rule.key);
    if (!some_have_index && config.has(key)) config.ignore(config.setting(key));
  }
  check_unread(config, config.file);
  found.read = config.file.read();
  std::erase_if(found.read, [&](auto const& setting) { return contains(found.ignored, setting); });
  return std::move(found);
}

}  // namespace posenc::detail
