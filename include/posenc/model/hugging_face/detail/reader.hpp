// The settings of each kind of layers in a config.json. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/detail/read_layers.hpp"
#include "posenc/model/hugging_face/detail/layer_lists.hpp"
#include "posenc/model/hugging_face/detail/rotation.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Answers what read_layers.hpp asks of a config.json.
class hugging_face_reader {
 public:
  hugging_face_reader(json_object const& root, unknown_model unknown) : config(root, unknown) {}

  hugging_face_config config;

  layer_types listed_types() {
    auto types = listed_layer_types(config);
    if (types.empty()) return types;
    auto const& f = family_;
    bool const may_slide = !config.is_known || (f.slides && f.others.empty()) || f.window != 0 ||
                           f.window_needs_flag || f.max_window_layers != 0 || f.nope_slide ||
                           f.scaled_if_full || f.compressed;
    keys_.require(may_slide || !contains(types, sliding_attention), "layer_types",
                  "hold no sliding_attention, which " + config.found.type + " has not");
    config.supersede({"full_attention_interval", "sliding_window_pattern",
                      "_sliding_window_pattern", "max_window_layers", "use_sliding_window",
                      "global_attn_every_n_layers", "full_attn_idxs", "window_attn_skip_freq"});
    if (!contains(types, sliding_attention) && !family_.compressed)
      config.supersede({family_.window_key.data()});
    if (family_.last_full) types.back() = full_attention;
    return types;
  }

  /// Whether any layer slides, where no key lists the types.
  bool slides() {
    auto const flag = keys_.flag("use_sliding_window");
    if (flag == false || !config.window()) {
      if (flag == false) config.supersede({"sliding_window"});
      config.supersede({"sliding_window_pattern", "_sliding_window_pattern", "max_window_layers"});
      return false;
    }
    if (!family_.window_needs_flag || flag) return true;
    config.assumed("use_sliding_window", std::string("false"));
    config.supersede({"sliding_window", "max_window_layers"});
    return false;
  }

  layer_types types_by_pattern() {
    constexpr auto pattern = "sliding_window_pattern";
    if (keys_.has(pattern) && keys_.peek(pattern).is_string()) {  // LLLG in EXAONE 4
      return layer_types_by_letter(config, pattern,
                                   {{'L', sliding_attention}, {'G', full_attention}},
                                   "be a number, or letters L and G");
    }
    auto const n = keys_.count(
        {pattern, "_sliding_window_pattern", "global_attn_every_n_layers", "window_attn_skip_freq"},
        most_dims);
    return n ? full_every(config, *n, sliding_attention) : layer_types();
  }
  void assume_full_every() {
    constexpr char const* places[]{"", ", from the first on,", ", counted from the last back,"};
    auto const n = family_.full_every;
    auto const ordinal = n == 2 ? "nd" : n == 3 ? "rd" : "th";
    config.assumed("layer_types", "every " + shown(n) + ordinal + " layer" +
                                      places[static_cast<std::size_t>(family_.full_at)] +
                                      " full_attention, the others sliding_attention");
  }
  layer_types types_by_rule() {
    auto const limit = family_.max_window_layers;
    layer_types types(config.found.layers, std::string(full_attention));
    if (!family_.slides && !family_.nope_slide && limit == 0) {
      auto const key = std::string(family_.window_key);
      if (keys_.has(key)) {
        config.ignore(keys_.setting(key));
        config.note(key + " is not read: " + config.found.type + " has full attention.");
      }
      return types;
    }
    if (!config.is_known) {
      config.assume("layer_types", sliding_attention,
                    "sliding_window is given and layer_types is not: taken for every layer.");
    }
    auto const rotate = family_.nope_slide ? rotated_by_keys() : std::vector(types.size(), false);
    auto const first = limit == 0 ? 0
                       : keys_.has("max_window_layers")
                           ? keys_.count_or_zero("max_window_layers", most_dims).value_or(0)
                           : config.assumed("max_window_layers", limit);
    for (std::size_t i = 0; i < types.size(); ++i) {
      bool const slides = family_.even_slide ? i < first && i % 2 == 0 : i >= first && !rotate[i];
      if (slides) types[i] = sliding_attention;
    }
    return types;
  }

  static bool attends(std::size_t) { return true; }  // the types say it

  /// Which of the layers with attention rotate. Reads what lists say of each.
  std::vector<bool> rotated(layer_types const& types) {
    using enum rotation_rule;
    auto const rule = family_.rotation;
    auto result = rotated_by_keys();
    if (rule == no_layer) {
      auto const named = keys_.text("attention_type");
      keys_.require(!named || named->ends_with("nope"), "attention_type", "end in nope");
    }
    auto const nope_key = family_.nope_key;
    bool const is_nope_all = !nope_key.empty() && keys_.flag(nope_key).value_or(rule == no_layer);
    keys_.require(is_nope_all || nope_key.empty() || rule != no_layer, nope_key,
                  "be true: rotation in its latent attention is not read");
    auto const position = keys_.text("position_embedding_type");
    auto const rotary = family_.positions == position_rule::learned_or_rotary ? "rotary" : "rope";
    bool const is_rope = position == rotary || position == "rope_gptj" || position == "absolute";
    keys_.require(!position || is_rope || position == "nope", "position_embedding_type",
                  "be rope, rope_gptj or nope");
    bool const never = position == "nope" || rule == no_layer || is_nope_all ||
                       (rule == if_position_type_is_rope && position != "rope");
    bool const with_dense = rule == sliding_and_dense_layers;
    bool const only_sliding = (rule == sliding_layers || with_dense) && config.window();
    auto const dense = with_dense ? dense_layers() : std::vector(types.size(), false);
    bases_ = numbers_by_layer(config, "layer_rope_theta");  // 0 is NoPE
    bool const bases_decide = !bases_.empty();
    if (!bases_decide) bases_ = numbers_by_layer(config, "rope_theta");
    keys_.require(std::ranges::all_of(bases_, [](double x) { return x == 0 || x > 1; }),
                  bases_decide ? "layer_rope_theta" : "rope_theta",
                  "hold bases above 1, or 0 where a layer does not rotate");
    parts_ = numbers_by_layer(config, "partial_rotary_factors");
    own_ = own_keys(config, types);
    if (family_.shares_pooled)
      read_sources();
    else
      shares_index_ = layers_that_share_index(config);
    for (std::size_t i = 0; i < types.size(); ++i) {
      bool const slides = types[i] == sliding_attention;
      bool const is_nope = bases_decide ? bases_[i] == 0 : family_.full_are_nope && !slides;
      result[i] = result[i] && !never && !is_nope && (!only_sliding || slides || dense[i]);
    }
    return result;
  }

  /// Whether layers that rotate see a chunk.
  bool is_chunked() {
    if (!family_.chunked_where_rotated || keys_.has("layer_types")) return false;
    config.assumed(
        "layer_types",
        std::string("chunked_attention for layers with RoPE, full_attention for others"));
    return true;
  }

  void add_what_lists_say(scheduled_layer& layer, std::size_t i) {
    bool const slides = layer.type == sliding_attention;
    auto const sinks =
        keys_.flag(slides ? "add_swa_attention_sink_bias" : "add_full_attention_sink_bias");
    layer.sinks = sinks.value_or(family_.sinks || (family_.sliding_sinks && slides));
    add_own_sizes(layer, i);
    if (!pooled_.empty() && pooled_[i] != 0) {
      layer.pooled = pooled_[i];
      layer.name += ", " + shown(pooled_[i]) + (pooled_[i] == 1 ? " token" : " tokens") + " a key";
    }
    if (shares_index_[i]) {
      layer.shares_index = true;
      layer.name += ", shared index";
    }
    if (!layer.rotates) return;
    if (!bases_.empty()) {
      layer.base = bases_[i];
      layer.name += ", base " + shown(layer.base);
    }
    if (!parts_.empty()) layer.partial = parts_[i];
  }

  static constexpr auto says_without_attention = " layers have no attention";

  std::size_t head_dim_of(std::string_view type) {
    constexpr auto rope_key = "qk_rope_head_dim";
    bool const has_rope_dim = keys_.has(rope_key);
    auto const nope_dim = keys_.count("qk_nope_head_dim", most_dims);
    auto const rope_dim = family_.rotation == rotation_rule::no_layer
                              ? keys_.count_or_zero(rope_key, most_dims)
                              : keys_.count(rope_key, most_dims);
    keys_.require(!nope_dim || has_rope_dim, rope_key, "be given where qk_nope_head_dim is");
    keys_.require(!rope_dim || config.is_known, rope_key,
                  "come with a known model_type, because only some scale scores by mscale");
    bool const is_narrow = family_.nope_narrows && keys_.flag(family_.nope_key).value_or(false);
    auto const dim = !nope_dim   ? config.head_dim()
                     : is_narrow ? *nope_dim
                                 : *nope_dim + rope_dim.value_or(0);
    auto const whole = family_.is_whole ? keys_.count("rope_head_dim", most_dims) : std::nullopt;
    keys_.require(whole.value_or(dim) == dim, "rope_head_dim",
                  "be head_dim, " + shown(dim) + ": pairs from both halves of a head are not read");
    if (type == sliding_attention) return keys_.count("swa_head_dim", most_dims).value_or(dim);
    auto const global_dim = family_.global_head_dim;
    if (type != full_attention || global_dim == 0) return dim;
    return config.count_or("global_head_dim", most_dims, global_dim);
  }

  double softmax_factor(std::size_t head_dim) {
    if (!family_.flag_undivides) return scale_by_key(config, head_dim);
    keys_.require(!keys_.flag("scale_attn_by_inverse_layer_idx").value_or(false),
                  "scale_attn_by_inverse_layer_idx",
                  "be false: a scale for each layer is not read");
    bool const divides = keys_.flag("scale_attn_weights").value_or(true);
    return divides ? 1 : std::sqrt(static_cast<double>(head_dim));
  }

  std::optional<std::size_t> needed_window(std::string_view type) {
    return keys_.needed(config.window(), family_.window_key,
                        "be given for layers of " + std::string(type));
  }
  bool sees_both_sides() const {
    using enum side_rule;
    if (family_.sides == both_by_flag) return keys_.flag(use_bidirectional).value_or(false);
    if (family_.sides == both_unless_decoder) return !keys_.flag("is_decoder").value_or(false);
    return family_.sides == both || word_of_sides() == "all";
  }
  both_ways both_ways_in(std::string_view type) {
    using enum both_ways;
    bool const slides = type == sliding_attention;
    if (word_of_sides() == "vision") {
      config.note(
          "transformers 5.12 shows tokens of one image to each other in full_attention too, and "
          "beyond the window.");
      return slides ? image_within_window : none;
    }
    bool const is_off = keys_.path().empty() ||
                        (family_.within == prefix && keys_.flag(use_bidirectional) == false);
    if (is_off || family_.within != image || !slides) return is_off ? none : family_.within;
    config.note(
        "transformers up to 5.12 shows tokens of one image to each other beyond the window.");
    return image_within_window;
  }
  std::size_t chunk() { return config.count_or("attention_chunk_size", most_tokens, 8192); }

  void read_positions(layer_description& kind, scheduled_layer const& layer) {
    if (layer.rotates) hugging_face_rotation(config, layer, kind).read();
    detail::require(is_finite(kind.softmax_factor), keys_.where(),
                    ": the factor on scores must be finite, got ", kind.softmax_factor);
    read_temperature(kind, layer);
  }

  /// Tokens of a pooled key (DeepSeek-V4).
  std::size_t pooled(std::string const& type) const {
    auto const rates = keys_.object("compress_rates");
    auto const given = rates ? rates->count(type, most_tokens) : std::nullopt;
    return given.value_or(type == compressed_sparse_attention ? 4 : 128);
  }

  /// A number of the file, or of its object of sparse attention (MiniMax-M3).
  std::optional<std::size_t> index_number(index_number_rule const& rule) const {
    auto const object = keys_.object("sparse_attention_config");
    auto const inner =
        object && !rule.within.empty() ? object->count(rule.within, most_tokens) : std::nullopt;
    auto const key = std::string(rule.key);
    if (inner && keys_.has(key)) object->refuse(rule.within, "not be given beside " + key);
    return inner ? inner : keys_.count(key, most_tokens);
  }
  void require_index_dims(std::string_view key, std::size_t head_dim, std::size_t dims) const {
    keys_.require(head_dim <= most_dims, key, "be at most 65536");
    keys_.require(dims <= head_dim, key, "have room for the " + shown(dims) + " dims that rotate");
  }

  void read_heads(layer_description& kind) const {
    kind.key_bias = key_bias();
    kind.clips_keys = keys_.has("clip_qkv");
    kind.heads = known_heads(kind, false);
    kind.key_heads = known_heads(kind, true);
  }

  /// Reads a model without RoPE. False if layers are still to be read: they rotate or differ.
  bool read_without_rope() {
    switch (family_.positions) {
      case position_rule::rope:
        return false;
      case position_rule::alibi_if_flagged: {
        if (!keys_.flag("alibi").value_or(false)) return false;
        auto& kind = add_alibi(8);
        kind.alibi->factor = 1 / std::sqrt(static_cast<double>(kind.head_dim));
        break;
      }
      case position_rule::alibi_without_context:
        if (keys_.has("max_position_embeddings")) return false;
        config.found.context = keys_.count("model_max_length", most_tokens);
        config.assume(
            "max_position_embeddings is not given: ALiBi, as Baichuan's models of 13B have it.");
        [[fallthrough]];
      case position_rule::alibi:
        add_alibi(8);
        break;
      case position_rule::alibi_or_learned:
        read_alibi_or_learned();
        break;
      case position_rule::learned_buckets:
        config.found.embedding = "learned";
        [[fallthrough]];
      case position_rule::buckets: {
        auto const buckets = config.count_or("relative_attention_num_buckets", most_dims, 32);
        auto const distance = config.count_or("relative_attention_max_distance", most_tokens, 128);
        add_kind().buckets = bucket_bias{buckets, distance};
        break;
      }
      case position_rule::learned_or_rotary:
        if (keys_.text("position_embedding_type") == "rotary") return false;
        [[fallthrough]];
      case position_rule::learned_absolute:
        keys_.require(keys_.text("position_embedding_type").value_or("absolute") == "absolute",
                      "position_embedding_type",
                      "be absolute: relative keys and queries are not read");
        [[fallthrough]];
      case position_rule::learned:
      case position_rule::sinusoidal:
        config.found.embedding =
            family_.positions == position_rule::sinusoidal ? "sinusoidal" : "learned";
        if (family_.full_every != 1) return false;  // layers differ
        add_kind();
        break;
    }
    return true;
  }

  /// The norm of a layer; none if the flag that switches it is off.
  norm_rule norm_of(std::size_t) {
    auto rule = family_.norm;
    auto const key = std::string(rule.flag);
    if (key.empty()) return rule;
    auto const given = keys_.flag(key);
    if (!given) config.assumed(key, std::string(rule.by_default ? "true" : "false"));
    if (!given.value_or(rule.by_default)) rule.of = norm_scope::none;
    return rule;
  }
  double norm_eps(norm_scope of) const {
    if (of <= norm_scope::none) return 0;
    auto const given = of == norm_scope::centred ? keys_.positive("layer_norm_eps")
                                                 : keys_.positive({"rms_norm_eps", "norm_eps"});
    return given.value_or(0);
  }
  static constexpr char const* norm_prefix = "";
  std::size_t heads_of(std::size_t, bool of_keys) const {
    auto const all = config.heads();
    return of_keys ? keys_.count("num_key_value_heads", most_dims).value_or(all) : all;
  }

 private:
  json_object const& keys_ = config.keys;
  model_family const& family_ = config.family;

  /// Which layers rotate by no_rope_layers, or the family's interval.
  std::vector<bool> rotated_by_keys() {
    std::vector<bool> rotated(config.found.layers, true);
    if (auto const given = keys_.numbers("no_rope_layers"); given && !given->empty()) {
      require_entries(config, "no_rope_layers", given->size());
      for (std::size_t i = 0; i < given->size(); ++i) {
        auto const used = (*given)[i];
        detail::require(used == 0 || used == 1,
                        "no_rope_layers must hold 0 (no RoPE) or 1 (RoPE), got ", used,
                        " at layer ", i);
        if (i < rotated.size()) rotated[i] = used == 1;
      }
      config.supersede({"no_rope_layer_interval"});
      return rotated;
    }
    if (family_.nope_every == 0) return rotated;
    auto const n = config.count_or("no_rope_layer_interval", most_dims, family_.nope_every);
    for (auto i = n - 1; i < rotated.size(); i += n) rotated[i] = false;
    return rotated;
  }

  /// Which layers are no mixtures of experts: in Cohere 2 MoE these rotate though they do not
  /// slide.
  std::vector<bool> dense_layers() const {
    std::vector<bool> dense(config.found.layers, false);
    if (keys_.count("prefix_dense_sliding_window_pattern", most_dims).value_or(1) != 1)
      return dense;
    auto const types = keys_.texts("mlp_layer_types");
    if (types) require_entries(config, "mlp_layer_types", types->size());
    auto const first =
        types ? 0 : keys_.count_or_zero("first_k_dense_replace", most_dims).value_or(0);
    for (std::size_t i = 0; i < dense.size(); ++i)
      dense[i] = types ? (*types)[i] == "dense" : i < first;
    return dense;
  }

  /// Llama 4's; rope_parameters has the temperature of layers that rotate.
  void read_temperature(layer_description& kind, scheduled_layer const& layer) {
    if (layer.rotates || !family_.nope_temperature) return;
    if (!keys_.truth("attn_temperature_tuning").value_or(true))
      return config.supersede({"attn_scale", "floor_scale"});
    auto const scale = config.positive_or("attn_scale", 0.1);
    kind.temperature = position_temperature{scale, config.positive_or("floor_scale", 8192), 1};
  }

  /// The number of heads of a kind of layers, by the keys of most families; 0 if none is given.
  std::size_t known_heads(layer_description const& kind, bool of_keys) const {
    auto const whole_in = [&](std::string const& name) -> std::size_t {
      auto const& given = keys_.peek(name);
      return given.is_number_unsigned() && !keys_.is_hidden(name) ? given.get<std::size_t>() : 0;
    };
    if (keys_.peek("num_attention_heads_per_layer").is_array()) return 0;
    std::string const name = of_keys ? "num_key_value_heads" : "num_attention_heads";
    if (auto const i = kind.layers.front(); i < own_.size() && own_[i])
      if (auto const given = own_[i]->count(name, most_dims)) return *given;
    bool const is_global = kind.name.starts_with(full_attention) && family_.global_key_heads != 0;
    if (of_keys && is_global) return family_.global_key_heads;
    auto const own = kind.name.starts_with(sliding_attention) ? whole_in("swa_" + name)
                     : of_keys && keys_.peek("attention_k_eq_v") == true
                         ? whole_in("num_global_key_value_heads")
                         : 0;
    return own != 0 ? own : whole_in(name);
  }

  /// Whether keys have a bias, as the class of the model has it.
  std::optional<bool> key_bias() const {
    auto const* const rule = record_of(key_biases, &key_bias_rule::types, config.found.type);
    if (rule == nullptr) return {};
    return rule->key.empty() ? rule->by_default : keys_.flag(rule->key).value_or(rule->by_default);
  }

  static constexpr auto use_bidirectional = "use_bidirectional_attention";

  /// Gemma 4's: all, vision or, for false too, empty.
  std::string_view word_of_sides() const {
    if (family_.sides != side_rule::both_by_word) return {};
    auto const* const given = keys_.value_of(use_bidirectional);
    if (given == nullptr || *given == false) return {};
    for (std::string_view const word : {"all", "vision"})
      if (*given == word) return word;
    keys_.refuse(use_bidirectional, "be all, vision, false or null");
  }

  /// Sizes of heads that the file gives for layer i alone, or for all that slide (dots3).
  void add_own_sizes(scheduled_layer& layer, std::size_t i) {
    bool const is_local = family_.local_rope_dim != 0 && layer.type == sliding_attention;
    if (is_local && !own_[i]) {
      layer.rotary_dim = config.count_or("swa_qk_rope_head_dim", most_dims, family_.local_rope_dim);
      layer.head_dim = layer.rotary_dim +
                       config.count_or("swa_qk_nope_head_dim", most_dims, family_.local_nope_dim);
      keys_.require(
          keys_.count("swa_head_dim", most_dims).value_or(layer.head_dim) == layer.head_dim,
          "swa_head_dim", "be the sum of its parts, " + shown(layer.head_dim));
    }
    if (!own_[i]) return;
    auto const& own = *own_[i];
    layer.heads = own.count("num_attention_heads", most_dims).value_or(0);
    layer.key_heads = own.count("num_key_value_heads", most_dims).value_or(0);
    constexpr auto nope_key = "qk_nope_head_dim", rope_key = "qk_rope_head_dim";
    auto const nope = own.count(nope_key, most_dims), rope = own.count(rope_key, most_dims);
    own.require(nope.has_value() == rope.has_value(), nope ? rope_key : nope_key,
                "be given where the other is");
    if (rope) layer.rotary_dim = *rope;
    layer.head_dim =
        rope ? *nope + *rope : own.count("head_dim", most_dims).value_or(layer.head_dim);
  }

  /// Reads which layers pool keys and which choose among them, for later ones too (DeepSeek-V4.1).
  void read_sources() {
    constexpr auto pools = "kv_source_layer_ids", chooses = "index_source_layer_ids",
                   candidate = "candidate_source_layer_id";
    pooled_ = pooled_tokens(config);
    auto const pool = sources_of(config, pools, pooled_);
    auto const choice = sources_of(config, chooses, pooled_);
    auto const listed = [&](auto const& test) {
      std::string text;
      for (std::size_t i = 0; i < pooled_.size(); ++i)
        if (pooled_[i] != 0 && test(i)) text += (text.empty() ? "" : ", ") + shown(i);
      return text;
    };
    for (std::size_t i = 0; i < pooled_.size(); ++i) shares_index_.push_back(choice[i] != i);
    config.note("Layers that pool keys: " + listed([&](auto i) { return pool[i] == i; }) +
                ". Each layer sees the pooled keys of the last one up to it, once it has seen all"
                " tokens that a key stands for.");
    config.note(
        "Layers that choose pooled keys: " + listed([&](auto i) { return choice[i] == i; }) +
        ". Each layer sees what the last one up to it chose.");
    auto const given = keys_.number(candidate);  // below 0: none
    if (given.value_or(0) < 0 || pooled_.empty()) return;
    auto const last = std::ranges::max(pool);
    auto const source =
        given ? whole_number(*given, most_dims) : std::optional(config.assumed(candidate, last));
    bool const is_choosing =
        source && *source < choice.size() && pooled_[*source] != 0 && choice[*source] == *source;
    keys_.require(is_choosing, candidate, "be among " + std::string(chooses));
    auto const blocks = config.count_or("candidate_topk_blocks", most_tokens, 2048);
    auto const block = config.count_or("candidate_block_size", most_tokens, 8);
    config.note("Layer " + shown(*source) + " keeps for each query the " + shown(blocks) +
                " best blocks of " + shown(block) +
                " pooled keys as candidates. Later layers choose among these: " +
                listed([&](auto i) { return choice[i] == i && i > *source; }) +
                ". Candidates are not described.");
  }

  /// The one kind of a model whose layers are all alike and do not rotate.
  layer_description& add_kind() {
    layer_description kind{.name = std::string(full_attention),
                           .layers = std::vector<std::size_t>(config.found.layers),
                           .head_dim = config.head_dim()};
    std::iota(kind.layers.begin(), kind.layers.end(), std::size_t{0});
    kind.softmax_factor = softmax_factor(kind.head_dim);
    read_visibility(*this, kind, kind.name);
    return config.found.kinds.emplace_back(std::move(kind));
  }

  layer_description& add_alibi(double max_bias) {
    config.note(family_.alibi_note);
    alibi_bias const alibi{config.heads(), max_bias};
    auto& kind = add_kind();
    kind.alibi = alibi;
    return kind;
  }

  void read_alibi_or_learned() {
    auto const attention = keys_.needed(keys_.object("attn_config"), "attn_config");
    attention.require(!attention.flag("rope").value_or(false), "rope",
                      "be false: MPT's RoPE is not read");
    auto const scale = attention.positive("softmax_scale");
    // If it is absent, transformers takes ALiBi, and MosaicML's code does not.
    bool const has_alibi = attention.needed(attention.flag("alibi"), "alibi");
    bool const has_learned = keys_.flag("learned_pos_emb").value_or(true);
    if (has_learned && !has_alibi) config.found.embedding = "learned";
    auto const max_bias = [&] {
      return config.or_assumed(attention.positive("alibi_bias_max"), "alibi_bias_max", 8.0);
    };
    auto& kind = has_alibi ? add_alibi(max_bias()) : add_kind();
    if (scale) kind.softmax_factor = *scale * std::sqrt(static_cast<double>(kind.head_dim));
  }

  std::vector<double> bases_, parts_;  // of each layer, if a list has them
  std::vector<bool> shares_index_;
  std::vector<std::size_t> pooled_;              // tokens of a pooled key, if layers share it
  std::vector<std::optional<json_object>> own_;  // of each layer, if it has keys of its own
};

static_assert(front_end<hugging_face_reader>);

}}}  // namespace posenc::detail
