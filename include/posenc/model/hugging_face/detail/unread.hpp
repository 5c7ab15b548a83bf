// Keys of a config.json that no code has read: which of them are errors.
// (nlohmann-json)
#pragma once

#include <cmath>

#include "posenc/core/target.hpp"
#include "posenc/model/detail/family.hpp"
#include "posenc/model/hugging_face/detail/json_object.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// A layer that a key may be about, and the value of the key.
struct asked_layer {
  static constexpr double nothing = -1e300;  ///< no key has this value

  model_description const& model;
  layer_description const& layer;
  rotary_description const* rotary;  ///< of its heads or its index heads; null: they do not rotate
  double x;

  double head() const { return static_cast<double>(layer.head_dim); }
  double dims() const { return static_cast<double>(rotary->frequencies.at(1).rotary_dim()); }
  double context() const { return static_cast<double>(model.context.value_or(0)); }
  double scale() const { return layer.softmax_factor / std::sqrt(head()); }
  bool interleaves() const { return std::holds_alternative<interleaved>(rotary->layout); }
  /// The value of a parameter of the frequency rule, or `none` if the rule has no such parameter.
  double parameter(std::string_view key, double none = nothing) const {
    auto const found = std::ranges::find(rotary->parameters, key, &model_setting::key);
    return found == rotary->parameters.end()
               ? none
               : parsed_json(found->value, std::string(key)).get<double>();
  }
};

/// A topic: words in a key's name, and the layer's value for it, a number or a state (1: on, 0:
/// off). _of_some: only layers where it is not 0 count. _of_all: on if on in all layers.
// clang-format off
struct topic {
  enum {
    number, number_of_some, state, state_of_all, rotary_number, rotary_state, rotary_state_of_all
  } is;
  std::string_view words;  ///< with a space between
  double (*used)(asked_layer const&);
};

/// Parts of the names of keys that act on positions, on the scale of scores or on the mask. The
/// first topic with a word in a name has the key. Keys in rope_parameters begin with "rope.".
inline constexpr topic topics[]{
    {topic::rotary_number, "original_max_position", [](auto& a) {
       auto const whole = a.context() / (a.rotary->rule == "linear" ? a.parameter("factor") : 1);
       return a.parameter("original_max_position_embeddings", whole); }},
    {topic::number, "max_position", [](auto& a) { return a.context(); }},
    {topic::rotary_number, "partial_rotary rotary_pct rope_pct rotary_emb_fraction", [](auto& a) {
       if (a.rotary->rule == "proportional") return a.parameter("partial_rotary_factor");
       return std::floor(a.head() * a.x) == a.dims() ? a.x : a.dims() / a.head(); }},
    {topic::rotary_number, "rotary_dim rotary_ndims rope_dim rope_head_dim",
     [](auto& a) { return a.dims(); }},
    {topic::rotary_number, "theta rope_base rope.base rotary_base rotary_emb_base rope_local_base",
     [](auto& a) { return a.parameter("rope_theta"); }},
    {topic::rotary_number, "mscale rope.attention_factor",
     [](auto& a) { return a.rotary->frequencies.at(1).attention_factor(); }},
    {topic::rotary_number, "rope.factor rope_factor rope_scal rotary_scal yarn ntk", [](auto& a) {
       return a.rotary->rule != "default" ? a.parameter("factor") : a.x == 0 ? 0 : 1; }},
    {topic::rotary_number, "rope.beta_",  // of YaRN
     [](auto& a) { return a.rotary->rule == "yarn" ? asked_layer::nothing : a.x; }},
    {topic::rotary_state, "rope.interleaved", [](auto& a) -> double {
       auto const& axes = a.rotary->axes;
       return axes && axes->pairs() > 1 ? axes->axis(0) != axes->axis(1) : a.interleaves(); }},
    {topic::rotary_state, "rope_interleave rotary_interleave rotary_emb_interleave",
     [](auto& a) -> double { return a.interleaves(); }},
    {topic::state, "llama_4_scaling",
     [](auto& a) -> double { return a.layer.temperature.has_value(); }},
    {topic::rotary_state, "rope_is_neox_style",
     [](auto& a) -> double { return !a.interleaves(); }},
    {topic::state, "rope_3d 3d_rope",
     [](auto& a) -> double { return a.rotary != nullptr && a.rotary->axes.has_value(); }},
    {topic::state_of_all, "nope", [](auto& a) -> double { return a.rotary == nullptr; }},
    {topic::state, "by_inverse_layer rotary_value", [](auto&) { return 0.0; }},  // no model has it
    {topic::rotary_state_of_all, "rope rotary",
     [](auto& a) -> double { return a.rotary != nullptr; }},
    {topic::number, "=head_dim", [](auto& a) { return a.head(); }},
    {topic::state, "alibi", [](auto& a) -> double { return a.layer.alibi.has_value(); }},
    {topic::state, "relative_", [](auto& a) -> double { return a.layer.buckets.has_value(); }},
    {topic::state, "bidirectional", [](auto& a) -> double { return a.layer.ahead != 0; }},
    {topic::state, "causal", [](auto& a) -> double { return a.layer.ahead == 0; }},
    {topic::state, "sparse_attention index_ indexer",
     [](auto& a) -> double { return a.layer.index.has_value(); }},
    {topic::state, "compress_", [](auto& a) -> double { return a.layer.pooled != 0; }},
    {topic::number_of_some, "sliding_window window sliding swa_ local_att chunk_attention"
     " attention_chunk",
     [](auto& a) { return double(a.layer.window.value_or(a.layer.chunk.value_or(0))); }},
    {topic::state, "sink", [](auto& a) -> double { return a.layer.sinks; }},
    {topic::number_of_some, "softcap soft_cap",
     [](auto& a) { return a.layer.score_cap.value_or(0); }},
    {topic::state, "temperature logn log_n log_scaling",
     [](auto& a) -> double { return a.layer.temperature.has_value(); }},
    {topic::number, "query_pre_attn", [](auto& a) { return std::pow(a.scale(), -2); }},
    {topic::state, "scale_attn_weights", [](auto& a) -> double { return a.scale() != 1; }},
    {topic::number, "attention_multiplier attn_multiplier qk_scale attn_scaling attention_scal"
     " softmax_scal", [](auto& a) { return a.scale(); }},
    {topic::number, "scaling_factor key_multiplier", [](auto&) { return 1.0; }},
    {topic::state_of_all, "position pos_emb",
     [](auto& a) -> double { return !a.model.embedding.empty(); }},
    // posenc does not know what a key with such a word means, so the family must read it.
    {topic::state, "attn_scale scale_attn scale_qk global_att layer_type layer_pattern attn_type"
     " attention_type full_attention full_attn attention_every attn_layer",
     [](auto&) { return asked_layer::nothing; }}};

/// Keys with such a name that act on sampling, logits, routers or values.
inline constexpr std::string_view keys_that_act_elsewhere =
    "temperature final_logit_softcapping logits_soft_cap routed_scaling_factor"
    " router_scaling_factor moe_router_scaling_factor moe_routed_scaling_factor"
    " moe_router_logit_softcapping num_global_key_value_heads swa_num_key_value_heads"
    " swa_v_head_dim mlp_layer_types position_id_per_seconds hc_sinkhorn_iters";

/// Ends of the names of keys that hold a number as it is used.
inline constexpr std::string_view ends_of_numbers =
    "theta base base_freq window window_size chunk_size capping cap dim dims factor pct fraction"
    " multiplier scale scaling scalar embeddings beta_fast beta_slow";
// clang-format on

/// A key that nobody read. Its name begins with "rope." within rope_parameters.
class unread_key {
 public:
  explicit unread_key(std::string name) : name_(std::move(name)) {
    for (auto const& one : topics)
      for (auto const word : words_of(one.words))
        if (about_ == nullptr && has(word)) about_ = &one, word_ = word;
  }

  /// Whether its name says that it acts.
  bool speaks() const { return about_ != nullptr; }

  /// Whether it says what was found anyway. A switch is off, and no layer has what its word means;
  /// or it is on, its name is that word, and layers have it. A number, or the name of a rule, is
  /// the one that was used, in all layers that the key is about: 1 for a factor where there is
  /// none.
  bool is_without_effect(model_description const& found, json const& value) const {
    auto const rotates = [](auto const& kind) { return !kind.rotary.empty(); };
    auto const is = about_->is;
    if (is >= topic::rotary_number && std::ranges::none_of(found.kinds, rotates)) return true;
    if (value == false && names_what_is_absent(found)) return true;
    if (has("mtp")) return true;  // layers that predict further tokens are not read
    if (value.is_string() && name_.starts_with("rope") && name_.ends_with("_type")) {
      auto const has_rule = [&](auto& k) { return !rotates(k) || value == k.rotary[0].rule; };
      return std::ranges::all_of(found.kinds, has_rule);
    }
    if (value.is_array()) return says_what_layers_are(found, value);
    if (name_ == "position_embedding_type") {
      auto const is_so = [&](auto& k) {
        return !rotates(k) || value == "rope" ||
               (value == "rope_gptj" && std::holds_alternative<interleaved>(k.rotary[0].layout));
      };
      return std::ranges::any_of(found.kinds, rotates) && std::ranges::all_of(found.kinds, is_so);
    }
    if (!value.is_boolean() && !value.is_number()) return false;
    auto const x = value.is_boolean() ? (value == true ? 1.0 : 0.0) : value.get<double>();
    bool is_equal = true, acts = false, is_about_any = false;
    for (auto const& kind : found.kinds) {
      auto const* rotary = rotates(kind) ? &kind.rotary[0] : nullptr;
      if (has("index")) rotary = kind.index ? &kind.index->rotary : nullptr;
      bool const needs_rotary = is == topic::rotary_number || is == topic::rotary_state;
      if (!is_about(found, kind) || (needs_rotary && rotary == nullptr)) continue;
      auto const used = about_->used({found, kind, rotary, x});
      if (is == topic::number_of_some && x != 0 && used == 0) continue;
      // A scale is computed here by a root and a quotient, and a file may hold it rounded to float.
      auto const tolerance = is <= topic::number_of_some ? 0x1p-23 * std::abs(x) : 0;
      is_equal = is_equal && std::abs(used - x) <= tolerance;
      acts = acts || used > 0;
      is_about_any = true;
    }
    auto const attends = [](auto const& kind) { return kind.head_dim != 0; };
    if (!is_about_any)  // there are no layers of that type
      return is == topic::rotary_number || std::ranges::none_of(found.kinds, attends);
    if (x == 0) return is_equal;
    bool const is_number = is <= topic::number_of_some || is == topic::rotary_number;
    if (is_number == value.is_boolean()) return false;
    auto const ends = [&](auto end) { return name_.ends_with(end); };
    if (is_number) return is_equal && std::ranges::any_of(words_of(ends_of_numbers), ends);
    return is_the_word() && (is == topic::state ? acts : is_equal);
  }

 private:
  /// Whether the name holds a part. After = it is the whole name that must be so.
  bool has(std::string_view part) const {
    return part.starts_with('=') ? name_ == part.substr(1) : name_.find(part) != name_.npos;
  }

  /// Whether a list says of each layer what was found: no_rope_layers whether it rotates, others
  /// its type.
  bool says_what_layers_are(model_description const& found, json const& list) const {
    if (list.size() != found.layers) return false;
    bool const is_of_rope = name_ == "no_rope_layers";
    for (auto const& kind : found.kinds)
      for (auto const i : kind.layers) {
        bool const is_full = kind.head_dim != 0 && !kind.window && !kind.chunk;
        bool const is_so = is_of_rope ? list[i] == (kind.rotary.empty() ? 0 : 1)
                           : list[i] == full_attention
                               ? is_full
                               : list[i] == sliding_attention && kind.window;
        if (!is_so) return false;
      }
    return true;
  }

  /// Whether a word in its name is about something that some models have, and here no layer.
  bool names_what_is_absent(model_description const& found) const {
    return std::ranges::any_of(topics, [&](topic const& one) {
      bool const is_of_some = one.is == topic::state || one.is == topic::number_of_some;
      auto const is_named = [&](auto word) { return has(word); };
      return is_of_some && std::ranges::any_of(words_of(one.words), is_named) &&
             std::ranges::all_of(found.kinds, [&](auto& kind) {
               auto const* rotary = kind.rotary.empty() ? nullptr : &kind.rotary[0];
               return kind.head_dim == 0 || one.used({found, kind, rotary, 0}) == 0;
             });
    });
  }

  /// Whether it is about the layers of a kind. Rotary numbers: `local`, `swa`, `sliding` name
  /// layers with a window, other keys the rest, or all if all rotating layers have one; `compress`
  /// names layers that pool keys.
  bool is_about(model_description const& model, layer_description const& layer) const {
    auto const any_kind = [&](auto const& test) { return std::ranges::any_of(model.kinds, test); };
    if (layer.head_dim == 0) return false;
    if (about_->is != topic::rotary_number) return true;
    if (any_kind([](auto& k) { return k.pooled != 0; }))
      return has("compress") == (layer.pooled != 0);
    if (has("local") || has("swa") || has("sliding")) return layer.window.has_value();
    return !layer.window || !any_kind([](auto& k) { return !k.rotary.empty() && !k.window; });
  }

  /// use_rope, rope, rope_embeddings ...: what such a switch is about is the word alone.
  bool is_the_word() const {
    std::string_view rest = name_;
    for (std::string_view const start : {"use_", "indexer_", "is_"})
      if (rest.starts_with(start)) rest.remove_prefix(start.size());
    if (!rest.starts_with(word_)) return false;
    rest.remove_prefix(word_.size());
    constexpr std::string_view ends[]{"", "d", "s", "_embedding", "_pos_emb"};
    return contains(ends, rest);
  }

  std::string name_;
  std::string_view word_ = {};
  topic const* about_ = nullptr;
};

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
    " window_attn_skip_freq"
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
    bool const is_outside = object.path().empty() && !config.keys.path().empty();
    if (is_outside && config.keys.peek(key) == value) continue;
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
    config.note(shown_key(object.path() + key) + " is not read.");
  }
  for (auto const& [key, value] : object.whole().items()) {
    bool const is_rope = key == "rope_parameters" || key == "rope_scaling" || key == "rotary";
    bool const is_twin = key == "rope_scaling" && object.is_object("rope_parameters");
    if (value.is_object() && object.is_read(key) && !is_twin)
      check_unread(config, *object.object(key), is_of_rope || is_rope);
  }
}

}}}  // namespace posenc::detail
