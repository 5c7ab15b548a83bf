// The settings of each kind of layers in a GGUF file.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/detail/read_layers.hpp"
#include "posenc/model/gguf/detail/rotation.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Answers what read_layers.hpp asks of a GGUF file.
class gguf_reader {
 public:
  gguf_reader(gguf_metadata const& metadata, unknown_model unknown,
              std::optional<std::variant<halves, interleaved>> const& layout)
      : config(metadata, unknown, layout) {
    auto const heads = config.heads(), key_heads = config.key_heads().value_or(heads);
    auto const recurrent = keys_.counts("attention.recurrent_layers", 1);
    if (recurrent) config.family.others = {};  // they are listed
    for (std::size_t i = 0; i < heads.size(); ++i)
      attends_.push_back(heads[i] != 0 && key_heads[i] != 0 &&
                         !(recurrent && (*recurrent)[i] == 1));
    if (family_.rotation == rotation_rule::sliding_and_dense_layers || family_.index.after_dense)
      dense_ = keys_.count_or_zero("leading_dense_block_count", most_dims).value_or(0);
    index_types_ = keys_.counts("attention.indexer.types", 1);
  }

  gguf_config config;

  layer_types listed_types() {
    layer_types types;
    if (!family_.compressed) return types;
    constexpr auto name = "attention.compress_ratios";
    auto const ratios = keys_.needed(keys_.counts(name, most_dims), name);
    for (auto const ratio : ratios) {
      keys_.require(ratio == 0 || ratio == 4 || ratio == 128, name,
                    "be 0, 4 or 128 for each layer");
      types.emplace_back(ratio == 0   ? sliding_attention
                         : ratio == 4 ? compressed_sparse_attention
                                      : heavily_compressed_attention);
    }
    return types;
  }

  bool slides() {
    if (family_.chunked_where_rotated) return false;
    bool const has_window = config.window().has_value();
    if (!has_window && keys_.has(pattern))
      config.note(keys_.key(pattern) + " is given, and no window: no layer slides.");
    return has_window;
  }

  layer_types types_by_pattern() {
    if (!keys_.is_list(pattern)) {
      auto n = keys_.count(pattern, 0, most_dims);
      // For these llama.cpp takes one number as the entry of each layer, and not as a period.
      if (n && family_.needs_layer_types) n = *n == 0 ? 1 : 0;
      return n ? full_every(config, *n, sliding_attention) : layer_types();
    }
    layer_types types;
    auto const slide = *keys_.counts(pattern, 1);
    for (auto const slides : slide)
      types.emplace_back(slides == 1 ? sliding_attention : full_attention);
    bool const is_ignored = (family_.reads & gguf_group::pattern_list) == 0;
    auto const n = family_.full_every;
    if (is_ignored && n != 1 && types != full_every(config, n, sliding_attention)) {
      config.note(keys_.key(pattern) + " is a list, which llama.cpp ignores for " +
                  config.found.type + ": there every " + shown(n) + "th layer sees all keys.");
    }
    return types;
  }
  void assume_full_every() { config.assumed(pattern, family_.full_every); }
  layer_types types_by_rule() {
    keys_.require(!family_.needs_layer_types, pattern, "be given");
    auto const window_is_given = keys_.key("attention.sliding_window") + " is given";
    if (family_.window_is_off) {
      config.assume(
          window_is_given +
          ": taken for every layer, as the model's own code has it. llama.cpp ignores it.");
    }
    if (family_.slides) return full_every(config, 0, sliding_attention);
    config.assume(window_is_given +
                  ", and no pattern of layers is known: none slides, as llama.cpp has it.");
    return full_every(config, 1, {});
  }

  bool attends(std::size_t layer) const { return attends_[layer]; }

  /// Which of the layers with attention rotate.
  std::vector<bool> rotated(layer_types const& types) {
    using enum rotation_rule;
    bool const any_slides = contains(types, sliding_attention), is_chunked = has_chunks();
    bool const with_dense = family_.rotation == sliding_and_dense_layers;
    bool const only_sliding = any_slides && (family_.rotation == sliding_layers || with_dense);
    auto const first_of = any_slides ? family_.nope_first_of : 0;
    auto const every = family_.chunked_where_rotated && !is_chunked ? 0 : family_.nope_every;
    auto const assume_rope_in = [&](bool holds, std::string const& layers) {
      if (holds) config.assume(config.found.type + ": RoPE in " + layers + ".");
    };
    assume_rope_in(every != 0 && !is_chunked, "all but every " + shown(every) + "th layer");
    assume_rope_in(only_sliding && with_dense, "sliding layers and the first " + shown(dense_));
    assume_rope_in(only_sliding && !with_dense, "sliding layers only");
    assume_rope_in(first_of != 0, "all layers but the first of each " + shown(first_of));
    bool const never =
        family_.rotation == no_layer || !keys_.flag("rope.scaling.finetuned").value_or(true);
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
    config.assume(config.found.type + "'s files do not give its chunks: " + shown(chunk()) +
                  " positions, in all layers but every " + shown(family_.nope_every) +
                  "th, and RoPE in these layers alone, as llama.cpp has it.");
    return true;
  }
  static constexpr std::size_t chunk() { return 8192; }

  void add_what_lists_say(scheduled_layer& layer, std::size_t i) const {
    auto const name = "blk." + shown(i) + ".attn_";  // without such tensors the file tells nothing
    layer.sinks = config.file.has_tensors(name) ? config.file.has_tensor(name + "sinks.weight")
                                                : family_.sinks;
    layer.has_index =
        index_types_ ? (*index_types_)[i] == 1 : !family_.index.after_dense || i >= dense_;
    if (family_.positions != position_rule::rope) layer.name = layer.type;
  }

  static both_ways both_ways_in(std::string_view) { return both_ways::none; }  // no key says it
  static constexpr auto says_without_attention = " layers are recurrent or feed-forward only";

  std::size_t head_dim_of(std::string_view type) const {
    bool const slides = type == sliding_attention;
    auto const latent = keys_.count("attention.key_length_mla", most_dims);
    auto const all = latent ? latent : keys_.count("attention.key_length", most_dims);
    auto const* const local_key =
        latent ? "attention.key_length_mla_swa" : "attention.key_length_swa";
    auto const local = slides ? keys_.count(local_key, most_dims) : std::nullopt;
    return local ? *local : all ? *all : config.embedding_per_head();
  }

  double softmax_factor(std::size_t head_dim) {
    if (family_.embedding_scale_layers != config.found.layers)
      return scale_by_key(config, head_dim);
    auto const per_head = static_cast<double>(config.embedding_per_head());
    config.assume(keys_.key("attention.scale") +
                  " is not given: 1 / sqrt(embedding_length / head_count), as " +
                  config.found.type + " of " + shown(config.found.layers) + " layers has it.");
    return std::sqrt(static_cast<double>(head_dim)) / std::sqrt(per_head);
  }

  std::optional<std::size_t> needed_window(std::string_view) { return config.window(); }
  bool sees_both_sides() const {
    return family_.sides == side_rule::both || !keys_.flag("attention.causal").value_or(true);
  }

  void read_positions(layer_description& kind, scheduled_layer const& layer) {
    read_bias(kind);
    if (layer.rotates && !kind.alibi)
      gguf_rotation(config, layer.type == sliding_attention, kind).read();
    keys_.require(is_finite(kind.softmax_factor), "rope.scaling.yarn_log_multiplier",
                  "leave scores finite");
    read_temperature(kind, layer);
  }

  static std::size_t pooled(std::string_view type) {
    return type == compressed_sparse_attention ? 4 : 128;
  }
  std::optional<std::size_t> index_number(index_number_rule const& rule) const {
    return keys_.needed(keys_.count(rule.key, rule.least, most_tokens), rule.key);
  }
  void require_index_dims(std::string_view key, std::size_t head_dim, std::size_t dims) const {
    keys_.require(head_dim >= dims && head_dim <= most_dims, key,
                  "hold the " + shown(dims) + " rotary dims and be at most 65536");
  }

  void read_heads(layer_description& kind) const {
    kind.key_bias = has_key_bias(kind.layers.front());
    kind.clips_keys = keys_.positive_or_none("attention.clamp_kqv").has_value();
    kind.heads = known_heads(kind, false);
    kind.key_heads = known_heads(kind, true);
  }

  /// The norm of a layer. The tensors say it where files of one architecture differ.
  norm_rule norm_of(std::size_t layer) const {
    auto rule = family_.norm;
    auto const name = "blk." + shown(layer) + ".attn_";
    if (rule.optional && !config.file.has_tensor(name + "q_norm.weight"))
      rule.of = config.file.has_tensors(name) ? norm_scope::none : norm_scope::unknown;
    bool const is_maverick = keys_.count("expert_count", 0, most_dims) == std::size_t{128};
    if (rule.where_rotated && is_maverick) rule.of = norm_scope::none;
    return rule;
  }
  double norm_eps(norm_scope) const {
    return keys_.positive_or_none("attention.layer_norm_rms_epsilon").value_or(0);
  }
  static constexpr char const* norm_prefix = "attn_";

  std::size_t heads_of(std::size_t layer, bool of_keys) const {
    auto const all = config.heads();
    return (of_keys ? config.key_heads().value_or(all) : all)[layer];
  }

 private:
  architecture_keys const& keys_ = config.keys;
  model_family const& family_ = config.family;

  void read_temperature(layer_description& kind, scheduled_layer const& layer) {
    if (family_.nope_temperature) {
      if (layer.rotates || layer.type != full_attention) return;
      config.assume(config.found.type +
                    "'s files do not give its temperature: 0.1, 8192, as llama.cpp has it.");
      kind.temperature = position_temperature{0.1, 8192, 1};
      return;
    }
    auto const scale = keys_.number("attention.temperature_scale");
    if (!scale || *scale == 0) return;
    constexpr auto name = "attention.temperature_length";
    auto const length = keys_.count(name, most_tokens);
    auto const original = keys_.count("rope.scaling.original_context_length", most_tokens);
    auto const floor = keys_.needed(length     ? length
                                    : original ? original
                                               : config.found.context,
                                    name, "be given where attention.temperature_scale is");
    if (!length)
      config.assume(keys_.key(name) + " is not given: the original context, " + shown(floor) + ".");
    kind.temperature = position_temperature{*scale, static_cast<double>(floor), 0};
  }

  /// Not known where the file lacks the tensors of the layer.
  std::optional<bool> has_key_bias(std::size_t layer) const {
    auto const k = "blk." + shown(layer) + ".attn_",
               name = k + (config.file.has_tensor(k + "k.weight") ? "k" : "qkv");
    if (!config.file.has_tensor(name + ".weight")) return {};
    return config.file.has_tensor(name + ".bias");
  }
  /// The number of heads of a kind of layers; 0 if its layers differ.
  std::size_t known_heads(layer_description const& kind, bool of_keys) const {
    auto const all = config.heads(), each = of_keys ? config.key_heads().value_or(all) : all;
    auto const first = each[kind.layers.front()];  // once: a list of all layers each time is slow
    auto const is_first = [&](std::size_t layer) { return each[layer] == first; };
    return std::ranges::all_of(kind.layers, is_first) ? first : 0;
  }

  static constexpr auto pattern = "attention.sliding_window_pattern";

  bool has_chunks() const {
    return family_.chunked_where_rotated &&
           keys_.count("attention.sliding_window", 0, most_tokens) != std::size_t{0};
  }

  /// T5's buckets, ALiBi, or learned embeddings.
  void read_bias(layer_description& kind) {
    using enum position_rule;
    if (family_.positions == buckets) {
      constexpr auto relative_count = "attention.relative_buckets_count";
      kind.buckets =
          bucket_bias{keys_.needed(keys_.count(relative_count, most_dims), relative_count), 128};
      config.assume("GGUF has no key for the buckets' max_distance: 128, as llama.cpp has it.");
    }
    if (family_.rotation != rotation_rule::no_layer && family_.alibi_if_layers == 0) return;
    constexpr auto max_bias = "attention.max_alibi_bias";
    auto given = keys_.positive_or_none(max_bias);
    bool const has_alibi =
        family_.positions == alibi || family_.alibi_if_layers == config.found.layers;
    if (!given && has_alibi) given = config.assumed(max_bias, 8.0);
    if (given) {
      auto const all = config.heads();
      bool const are_equal = std::ranges::all_of(all, [&](auto n) { return n == all.front(); });
      keys_.require(are_equal && all.front() != 0, "attention.head_count",
                    "be above 0 and the same for all layers with ALiBi");
      kind.alibi = alibi_bias{all.front(), *given};
    } else if (family_.positions == alibi_or_learned) {
      config.found.embedding = "learned";
    }
  }

  std::vector<bool> attends_;
  std::optional<std::vector<std::size_t>> index_types_;  // 1: the layer chooses keys
  std::size_t dense_ = 0;  // the first layers that are no mixtures of experts
};

static_assert(front_end<gguf_reader>);

}}}  // namespace posenc::detail
