// What a config.json says of a kind of layers: heads, scale, window, positions. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/detail/layers.hpp"
#include "posenc/model/hugging_face/detail/rotation.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// What read_layers.hpp asks for: a kind of layers.
class hugging_face_reader : public hugging_face_layers {
 public:
  using hugging_face_layers::hugging_face_layers;

  static constexpr auto says_without_attention = " layers have no attention";

  std::size_t head_dim_of(std::string_view type) {
    auto const nope_dim = count("qk_nope_head_dim", most_dims);
    auto const rope_dim = count("qk_rope_head_dim", most_dims);
    require(!nope_dim || rope_dim, "qk_rope_head_dim", "be given where qk_nope_head_dim is");
    require(!rope_dim || is_known, "qk_rope_head_dim",
            "come with a known model_type, because only some scale scores by mscale");
    bool const is_narrow = family.nope_narrows && flag(family.nope_key).value_or(false);
    auto const dim = !nope_dim ? head_dim() : is_narrow ? *nope_dim : *nope_dim + *rope_dim;
    if (type == sliding_attention) return count("swa_head_dim", most_dims).value_or(dim);
    auto const global_dim = family.global_head_dim;
    if (type != full_attention || global_dim == 0) return dim;
    return count_or("global_head_dim", most_dims, global_dim);
  }

  /// The number of heads of a kind of layers, by the keys of most families; 0 if none is given.
  std::size_t known_heads(layer_description const& kind, bool of_keys) const {
    auto const number = [&](std::string const& name) -> std::size_t {
      auto const& given = peek(name);
      return given.is_number_unsigned() && !is_hidden(name) ? given.get<std::size_t>() : 0;
    };
    if (peek("num_attention_heads_per_layer").is_array()) return 0;
    std::string const name = of_keys ? "num_key_value_heads" : "num_attention_heads";
    auto const own = kind.name.starts_with(sliding_attention) ? number("swa_" + name)
                     : of_keys && peek("attention_k_eq_v") == true
                         ? number("num_global_key_value_heads")
                         : 0;
    return own != 0 ? own : number(name);
  }

  /// Whether keys have a bias, as the class of the model has it.
  std::optional<bool> has_key_bias(std::size_t) const {
    auto const* const rule = record_of(key_biases, &key_bias_rule::types, found.type);
    if (rule == nullptr) return {};
    return rule->key.empty() ? rule->by_default : flag(rule->key).value_or(rule->by_default);
  }

  bool clips_keys() const { return has("clip_qkv"); }

  double softmax_factor(std::size_t head_dim) {
    if (!family.flag_undivides) return scale_by_key(*this, head_dim);
    require(!flag("scale_attn_by_inverse_layer_idx").value_or(false),
            "scale_attn_by_inverse_layer_idx", "be false: a scale for each layer is not read");
    bool const divides = flag("scale_attn_weights").value_or(true);
    return divides ? 1 : std::sqrt(static_cast<double>(head_dim));
  }

  std::optional<std::size_t> needed_window(std::string_view type) {
    return needed(window(), family.window_key, "be given for layers of " + std::string(type));
  }
  bool sees_both_sides() const {
    using enum side_rule;
    if (family.sides == both_by_flag) return flag(use_bidirectional).value_or(false);
    if (family.sides == both_unless_decoder) return !flag("is_decoder").value_or(false);
    return family.sides == both || word_of_sides() == "all";
  }
  both_ways both_ways_in(std::string_view type) {
    using enum both_ways;
    bool const slides = type == sliding_attention;
    if (word_of_sides() == "vision") {
      note(
          "transformers 5.12 shows tokens of one image to each other in full_attention too, and "
          "beyond the window.");
      return slides ? image_within_window : none;
    }
    bool const is_off =
        path().empty() || (family.within == prefix && flag(use_bidirectional) == false);
    if (is_off || family.within != image || !slides) return is_off ? none : family.within;
    note("transformers up to 5.12 shows tokens of one image to each other beyond the window.");
    return image_within_window;
  }
  std::size_t chunk() { return count_or("attention_chunk_size", most_tokens, 8192); }

  void read_positions(layer_description& kind, scheduled_layer const& layer) {
    if (layer.rotates) hugging_face_rotation(*this, layer, kind).read();
    detail::require(is_finite(kind.softmax_factor), where(),
                    ": the factor on scores must be finite, got ", kind.softmax_factor);
  }

  /// Llama 4's; rope_parameters has the temperature of layers that rotate.
  void read_temperature(layer_description& kind, scheduled_layer const& layer) {
    if (layer.rotates || !family.nope_temperature) return;
    if (!truth("attn_temperature_tuning").value_or(true))
      return supersede({"attn_scale", "floor_scale"});
    auto const scale = positive_or("attn_scale", 0.1);
    kind.temperature = position_temperature{scale, positive_or("floor_scale", 8192), 1};
  }

  /// Tokens of a pooled key (DeepSeek-V4).
  std::size_t pooled(std::string const& type) const {
    auto const rates = object("compress_rates");
    auto const given = rates ? rates->count(type, most_tokens) : std::nullopt;
    return given.value_or(type == compressed_sparse_attention ? 4 : 128);
  }

  /// A number of the file, or of its object of sparse attention (MiniMax-M3).
  std::optional<std::size_t> index_number(index_number_rule const& rule) const {
    auto const object = this->object("sparse_attention_config");
    auto const inner =
        object && !rule.within.empty() ? object->count(rule.within, most_tokens) : std::nullopt;
    auto const key = std::string(rule.key);
    if (inner && has(key)) object->refuse(rule.within, "not be given beside " + key);
    return inner ? inner : count(key, most_tokens);
  }
  void require_index_dims(std::string_view key, std::size_t head_dim, std::size_t dims) const {
    require(head_dim <= most_dims, key, "be at most 65536");
    require(dims <= head_dim, key, "have room for the " + shown(dims) + " dims that rotate");
  }

  /// Reads a model without RoPE. False if layers are still to be read: they rotate or differ.
  bool read_without_rope() {
    switch (family.positions) {
      case position_rule::rope:
        return false;
      case position_rule::alibi_if_flagged: {
        if (!flag("alibi").value_or(false)) return false;
        auto& kind = add_alibi(8);
        kind.alibi->factor = 1 / std::sqrt(static_cast<double>(kind.head_dim));
        break;
      }
      case position_rule::alibi_without_context:
        if (has("max_position_embeddings")) return false;
        found.context = count("model_max_length", most_tokens);
        assume("max_position_embeddings is not given: ALiBi, as Baichuan's models of 13B have it.");
        [[fallthrough]];
      case position_rule::alibi:
        add_alibi(8);
        break;
      case position_rule::alibi_or_learned:
        read_alibi_or_learned();
        break;
      case position_rule::learned_buckets:
        found.embedding = "learned";
        [[fallthrough]];
      case position_rule::buckets: {
        auto const buckets = count_or("relative_attention_num_buckets", most_dims, 32);
        auto const distance = count_or("relative_attention_max_distance", most_tokens, 128);
        add_kind().buckets = bucket_bias{buckets, distance};
        break;
      }
      case position_rule::learned_or_rotary:
        if (text("position_embedding_type") == "rotary") return false;
        [[fallthrough]];
      case position_rule::learned_absolute:
        require(text("position_embedding_type").value_or("absolute") == "absolute",
                "position_embedding_type", "be absolute: relative keys and queries are not read");
        [[fallthrough]];
      case position_rule::learned:
      case position_rule::sinusoidal:
        found.embedding = family.positions == position_rule::sinusoidal ? "sinusoidal" : "learned";
        if (family.full_every != 1) return false;  // layers differ
        add_kind();
        break;
    }
    return true;
  }

 private:
  static constexpr auto use_bidirectional = "use_bidirectional_attention";

  /// Gemma 4's: all, vision or, for false too, empty.
  std::string_view word_of_sides() const {
    if (family.sides != side_rule::both_by_word) return {};
    auto const* const given = value_of(use_bidirectional);
    if (given == nullptr || *given == false) return {};
    for (std::string_view const word : {"all", "vision"})
      if (*given == word) return word;
    refuse(use_bidirectional, "be all, vision, false or null");
  }

  /// The one kind of a model whose layers are all alike and do not rotate.
  layer_description& add_kind() {
    layer_description kind{.name = std::string(full_attention),
                           .layers = std::vector<std::size_t>(found.layers),
                           .head_dim = head_dim()};
    std::iota(kind.layers.begin(), kind.layers.end(), std::size_t{0});
    kind.softmax_factor = softmax_factor(kind.head_dim);
    read_visibility(*this, kind, kind.name);
    return found.kinds.emplace_back(std::move(kind));
  }

  layer_description& add_alibi(double max_bias) {
    note(family.alibi_note);
    alibi_bias const alibi{heads(), max_bias};
    auto& kind = add_kind();
    kind.alibi = alibi;
    return kind;
  }

  void read_alibi_or_learned() {
    auto const attention = needed(object("attn_config"), "attn_config");
    attention.require(!attention.flag("rope").value_or(false), "rope",
                      "be false: MPT's RoPE is not read");
    auto const scale = attention.positive("softmax_scale");
    // Where it is absent, transformers takes ALiBi, MosaicML's own code does not.
    bool const has_alibi = attention.needed(attention.flag("alibi"), "alibi");
    bool const has_learned = flag("learned_pos_emb").value_or(true);
    if (has_learned && !has_alibi) found.embedding = "learned";
    auto const max_bias = [&] {
      return or_assumed(attention.positive("alibi_bias_max"), "alibi_bias_max", 8.0);
    };
    auto& kind = has_alibi ? add_alibi(max_bias()) : add_kind();
    if (scale) kind.softmax_factor = *scale * std::sqrt(static_cast<double>(kind.head_dim));
  }
};

}}}  // namespace posenc::detail
