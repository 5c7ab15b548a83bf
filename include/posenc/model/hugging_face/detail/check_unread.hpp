// Which keys act, and which that nobody read are errors. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/detail/family.hpp"
#include "posenc/model/hugging_face/detail/json_object.hpp"
#include "posenc/model/hugging_face/detail/unread.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Keys of a config.json that act only where the class of the model reads them, which its record
/// says: elsewhere transformers ignores them. A rule for types of layers goes with layer_types,
/// last_dims with the keys of latent attention, and a default of the part with its key. Beside
/// these a record names partial_rotary_factor where transformers 5 reads it for plain RoPE, too.
inline constexpr std::string_view keys_of_some_families =
    // lists of layers
    "layer_types layers_block_type block_types _block_types attention_layers attention_types"
    " block_configs"
    " hybrid_override_pattern hybrid_layer_pattern attn_type_list compress_ratios"
    " linear_attn_config attn_layer_indices full_attn_idxs sparse_attention_config"
    " cross_attention_layers"
    " sliding_window_pattern _sliding_window_pattern global_attn_every_n_layers"
    " use_sliding_window no_rope_layers no_rope_layer_interval layer_rope_theta"
    // rotation
    " position_embedding_type rope_interleave rope_is_neox_style rotary_emb_interleaved rotary_dim"
    " attn_rotary_emb rotary_pct rope_pct rotary_emb_fraction rotary_emb_base "
    "partial_rotary_factors"
    " qk_nope_head_dim qk_rope_head_dim alpha"
    // scores
    " attn_logit_softcapping llama_4_scaling llama_4_scaling_beta swa_head_dim short_mscale"
    " long_mscale"
    " add_swa_attention_sink_bias add_full_attention_sink_bias";

/// Looks for keys of `object`, and of objects within it, that nobody read, whose names say that
/// they act, and which are not without effect. Throws std::invalid_argument for the first one. If
/// the model is read as Llama's, each one becomes a note instead.
inline void check_unread(auto& config, json_object const& object, bool is_of_rope = false) {
  auto& found = config.found;
  for (auto const& [key, value] : object.whole().items()) {
    if (value.is_null() || object.is_read(key)) continue;
    unread_key const unread(is_of_rope ? "rope." + key : key);
    bool const acts = key == "head_dim" ? object.is_hidden(key) : unread.speaks();
    if (!acts || contains(found.ignored, object.setting(key))) continue;
    config.ignore(object.setting(key));
    // Some writers leave a copy of a key of the text_config outside, or of the newer spelling.
    bool const is_outside = object.path().empty() && !config.path().empty();
    if (is_outside && config.peek(key) == value) continue;
    if (key == "rope_scaling" && object.peek("rope_parameters") == value) continue;
    bool const is_of_layers = has_attention(key) || (config.family.compressed && key == "main");
    bool const is_of_other_layers = is_of_rope && value.is_object() && is_of_layers;
    bool const is_known_so = is_of_other_layers || (is_of_rope && key == "finetuned") ||
                             contains(words_of(keys_that_act_elsewhere), key) ||
                             contains(words_of(config.family.without_effect), key) ||
                             (is_outside && contains(words_of(config.outside_without_effect), key));
    if (is_known_so || unread.is_without_effect(found, value)) continue;
    object.require(!config.is_known || !object.is_hidden(key), key,
                   "be absent or change nothing, because " + found.type + " does not read it");
    object.require(!config.is_known, key, std::string("be a key that is read") + says_that_it_acts);
    config.note(object.path() + key + " is not read.");
  }
  for (auto const& [key, value] : object.whole().items()) {
    bool const is_rope = key == "rope_parameters" || key == "rope_scaling" || key == "rotary";
    bool const is_twin = key == "rope_scaling" && object.is_object("rope_parameters");
    if (value.is_object() && object.is_read(key) && !is_twin)
      check_unread(config, *object.object(key), is_of_rope || is_rope);
  }
}

}}}  // namespace posenc::detail
