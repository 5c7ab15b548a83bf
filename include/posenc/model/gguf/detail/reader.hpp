// What a GGUF file or its architecture says of its layers: see read_layers.hpp.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/detail/read_layers.hpp"
#include "posenc/model/gguf/detail/rotation.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

class gguf_reader : public gguf_config {
 public:
  gguf_reader(gguf_metadata const& metadata, gguf_options const& options)
      : gguf_config(metadata, options) {
    auto const heads = this->heads(), key_heads = this->key_heads().value_or(heads);
    auto const recurrent = counts("attention.recurrent_layers", 1);
    if (recurrent) family.others = {};  // they are listed
    for (std::size_t i = 0; i < heads.size(); ++i)
      attends_.push_back(heads[i] != 0 && key_heads[i] != 0 &&
                         !(recurrent && (*recurrent)[i] == 1));
    if (family.rotation == rotation_rule::sliding_and_dense_layers || family.index.after_dense)
      dense_ = count_or_zero("leading_dense_block_count", most_dims).value_or(0);
  }

  layer_types listed_types() {
    layer_types types;
    if (!family.compressed) return types;
    constexpr auto name = "attention.compress_ratios";
    auto const ratios = needed(counts(name, most_dims), name);
    for (auto const ratio : ratios) {
      require(ratio == 0 || ratio == 4 || ratio == 128, name, "be 0, 4 or 128 for each layer");
      types.emplace_back(ratio == 0   ? sliding_attention
                         : ratio == 4 ? compressed_sparse_attention
                                      : heavily_compressed_attention);
    }
    return types;
  }

  bool slides() {
    if (family.chunked_where_rotated) return false;
    bool const has_window = window().has_value();
    if (!has_window && has(pattern))
      note(key(pattern) + " is given, and no window: no layer slides.");
    return has_window;
  }

  layer_types types_by_pattern() {
    if (!is_list(pattern)) {
      auto n = count(pattern, 0, most_dims);
      // For these llama.cpp takes one number as the entry of each layer, and not as a period.
      if (n && family.needs_layer_types) n = *n == 0 ? 1 : 0;
      return n ? full_every(*this, *n, sliding_attention) : layer_types();
    }
    layer_types types;
    auto const slide = *counts(pattern, 1);
    for (auto const slides : slide)
      types.emplace_back(slides == 1 ? sliding_attention : full_attention);
    bool const is_ignored = (family.reads & gguf_group::pattern_list) == 0;
    auto const n = family.full_every;
    if (is_ignored && n != 1 && types != full_every(*this, n, sliding_attention)) {
      note(key(pattern) + " is a list, which llama.cpp ignores for " + found.type +
           ": there every " + shown(n) + "th layer sees all keys.");
    }
    return types;
  }
  void assume_full_every() { assumed(pattern, family.full_every); }
  layer_types types_by_rule() {
    require(!family.needs_layer_types, pattern, "be given");
    auto const window_is_given = key("attention.sliding_window") + " is given";
    if (family.window_is_off) {
      assume(window_is_given +
             ": taken for every layer, as the model's own code has it. llama.cpp ignores it.");
    }
    if (family.slides) return full_every(*this, 0, sliding_attention);
    assume(window_is_given +
           ", and no pattern of layers is known: none slides, as llama.cpp has it.");
    return full_every(*this, 1, {});
  }

  bool attends(std::size_t layer) const { return attends_[layer]; }

  /// Which of the layers with attention rotate.
  std::vector<bool> rotated(layer_types const& types) {
    using enum rotation_rule;
    bool const any_slides = contains(types, sliding_attention), is_chunked = has_chunks();
    bool const with_dense = family.rotation == sliding_and_dense_layers;
    bool const only_sliding = any_slides && (family.rotation == sliding_layers || with_dense);
    auto const first_of = any_slides ? family.nope_first_of : 0;
    auto const every = family.chunked_where_rotated && !is_chunked ? 0 : family.nope_every;
    auto const assume_rope_in = [&](bool holds, std::string const& layers) {
      if (holds) assume(found.type + ": RoPE in " + layers + ".");
    };
    assume_rope_in(every != 0 && !is_chunked, "all but every " + shown(every) + "th layer");
    assume_rope_in(only_sliding && with_dense, "sliding layers and the first " + shown(dense_));
    assume_rope_in(only_sliding && !with_dense, "sliding layers only");
    assume_rope_in(first_of != 0, "all layers but the first of each " + shown(first_of));
    bool const never =
        family.rotation == no_layer || !flag("rope.scaling.finetuned").value_or(true);
    std::vector<bool> result;
    for (std::size_t i = 0; i < types.size(); ++i) {
      bool const is_nope = (every != 0 && (i + 1) % every == 0) ||
                           (first_of != 0 && i % first_of == 0) ||
                           (only_sliding && types[i] != sliding_attention && i >= dense_);
      result.push_back(!never && !is_nope);
    }
    return result;
  }

  bool is_chunked() {
    if (!has_chunks()) return false;
    assume(found.type + "'s files do not give its chunks: " + shown(chunk()) +
           " positions, in all layers but every " + shown(family.nope_every) +
           "th, and RoPE in these layers alone, as llama.cpp has it.");
    return true;
  }
  static constexpr std::size_t chunk() { return 8192; }

  void add_what_lists_say(scheduled_layer& layer, std::size_t i) const {
    auto const name = "blk." + shown(i) + ".attn_";  // without such tensors the file tells nothing
    layer.sinks = file.has_tensors(name) ? file.has_tensor(name + "sinks.weight") : family.sinks;
    layer.has_index = !family.index.after_dense || i >= dense_;
    if (family.positions != position_rule::rope) layer.name = layer.type;
  }

  static constexpr auto says_without_attention = " layers are recurrent or feed-forward only";
  static bool is_null(std::string_view) { return false; }

  std::size_t head_dim_of(std::string_view type) const {
    bool const slides = type == sliding_attention;
    auto const latent = count("attention.key_length_mla", most_dims);
    auto const all = latent ? latent : count("attention.key_length", most_dims);
    auto const local = slides ? count("attention.key_length_swa", most_dims) : std::nullopt;
    return local ? *local : all ? *all : embedding_per_head();
  }

  double softmax_factor(std::size_t head_dim) {
    if (family.embedding_scale_layers != found.layers) return scale_by_key(*this, head_dim);
    auto const per_head = static_cast<double>(embedding_per_head());
    assume(key("attention.scale") + " is not given: 1 / sqrt(embedding_length / head_count), as " +
           found.type + " of " + shown(found.layers) + " layers has it.");
    return std::sqrt(static_cast<double>(head_dim)) / std::sqrt(per_head);
  }

  std::optional<std::size_t> needed_window(std::string_view) { return window(); }
  bool sees_both_sides() const {
    return family.sides == side_rule::both || !flag("attention.causal").value_or(true);
  }

  void read_positions(layer_description& kind, scheduled_layer const& layer) {
    read_bias(kind);
    if (layer.rotates && !kind.alibi)
      gguf_rotation(*this, layer.type == sliding_attention, kind).read();
    require(is_finite(kind.softmax_factor), "rope.scaling.yarn_log_multiplier",
            "leave scores finite");
  }

  void read_temperature(layer_description& kind, scheduled_layer const& layer) {
    if (family.nope_temperature) {
      if (layer.rotates || layer.type != full_attention) return;
      assume(found.type + "'s files do not give its temperature: 0.1, 8192, as llama.cpp has it.");
      kind.temperature = position_temperature{0.1, 8192, 1};
      return;
    }
    auto const scale = number("attention.temperature_scale");
    if (!scale || *scale == 0) return;
    constexpr auto name = "attention.temperature_length";
    auto const length = count(name, most_tokens);
    auto const original = count("rope.scaling.original_context_length", most_tokens);
    auto const floor = needed(length     ? length
                              : original ? original
                                         : found.context,
                              name, "be given where attention.temperature_scale is");
    if (!length) assume(key(name) + " is not given: the original context, " + shown(floor) + ".");
    kind.temperature = position_temperature{*scale, static_cast<double>(floor), 0};
  }

  static std::size_t pooled(std::string_view type) {
    return type == compressed_sparse_attention ? 4 : 128;
  }
  std::optional<std::size_t> index_number(index_number_rule const& rule) const {
    return needed(count(rule.key, rule.least, most_tokens), rule.key);
  }
  void require_index_dims(std::string_view key, std::size_t head_dim, std::size_t dims) const {
    require(head_dim >= dims && head_dim <= most_dims, key,
            "hold the " + shown(dims) + " rotary dims and be at most 65536");
  }

  /// The norm of a layer. The tensors say it where files of one architecture differ.
  norm_rule norm_of(std::size_t layer) const {
    auto rule = family.norm;
    auto const name = "blk." + shown(layer) + ".attn_";
    if (rule.optional && !file.has_tensor(name + "q_norm.weight"))
      rule.of = file.has_tensors(name) ? norm_scope::none : norm_scope::unknown;
    bool const is_maverick = count("expert_count", 0, most_dims) == std::size_t{128};
    if (rule.where_rotated && is_maverick) rule.of = norm_scope::none;
    return rule;
  }
  /// Not known where the file lacks the tensors of the layer.
  std::optional<bool> has_key_bias(std::size_t layer) const {
    auto const k = "blk." + shown(layer) + ".attn_",
               name = k + (file.has_tensor(k + "k.weight") ? "k" : "qkv");
    if (!file.has_tensor(name + ".weight")) return {};
    return file.has_tensor(name + ".bias");
  }
  bool clips_keys() const { return positive_or_none("attention.clamp_kqv").has_value(); }
  double norm_eps(norm_scope) const {
    return positive_or_none("attention.layer_norm_rms_epsilon").value_or(0);
  }
  static constexpr char const* norm_prefix = "attn_";
  /// What was found, with the keys that act and the ignored ones; throws as settle_keys does.
  model_description settled() { return settle_keys(), std::move(found); }

 private:
  static constexpr auto pattern = "attention.sliding_window_pattern";

  bool has_chunks() const {
    return family.chunked_where_rotated &&
           count("attention.sliding_window", 0, most_tokens) != std::size_t{0};
  }

  /// T5's buckets, ALiBi, or learned embeddings.
  void read_bias(layer_description& kind) {
    using enum position_rule;
    if (family.positions == buckets) {
      kind.buckets = bucket_bias{needed_count("attention.relative_buckets_count", most_dims), 128};
      assume("GGUF has no key for the buckets' max_distance: 128, as llama.cpp has it.");
    }
    if (family.rotation != rotation_rule::no_layer && family.alibi_if_layers == 0) return;
    constexpr auto max_bias = "attention.max_alibi_bias";
    auto given = positive_or_none(max_bias);
    bool const has_alibi = family.positions == alibi || family.alibi_if_layers == found.layers;
    if (!given && has_alibi) given = assumed(max_bias, 8.0);
    if (given) {
      auto const all = heads();
      bool const are_equal = std::ranges::all_of(all, [&](auto n) { return n == all.front(); });
      require(are_equal && all.front() != 0, "attention.head_count",
              "be above 0 and the same for all layers with ALiBi");
      kind.alibi = alibi_bias{all.front(), *given};
    } else if (family.positions == alibi_or_learned) {
      found.embedding = "learned";
    }
  }

  std::vector<bool> attends_;
  std::size_t dense_ = 0;  // the first layers that are no mixtures of experts
};

}}}  // namespace posenc::detail
