// What a config.json or its family says of its layers. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/detail/read_layers.hpp"
#include "posenc/model/hugging_face/detail/layer_lists.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Whether each layer sees the keys that an earlier one chose (GLM-5).
inline std::vector<bool> layers_that_share_index(hugging_face_config& config) {
  std::vector<bool> shares(config.found.layers, false);
  if (config.family.index.heads.key.empty()) return shares;
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

/// Numbers that a key gives for each layer, or for more; none if it is absent or one number.
inline std::vector<double> numbers_by_layer(hugging_face_config& config, std::string const& key) {
  if (!config.has(key) || !config.peek(key).is_array()) return {};
  auto given = *config.numbers(key);
  require_entries(config, key, given.size());
  config.require(std::ranges::min(given) >= 0, key, "hold no number below 0");
  given.resize(config.found.layers);
  return given;
}

/// What read_layers.hpp asks for: the layers.
class hugging_face_layers : public hugging_face_config {
 public:
  using hugging_face_config::hugging_face_config;

  layer_types listed_types() {
    auto types = listed_layer_types(*this);
    if (types.empty()) return types;
    auto const& f = family;
    bool const may_slide = !is_known || (f.slides && f.others.empty()) || f.window != 0 ||
                           f.window_needs_flag || f.max_window_layers != 0 || f.nope_slide ||
                           f.scaled_if_full || f.compressed;
    require(may_slide || !contains(types, sliding_attention), "layer_types",
            "hold no sliding_attention, which " + found.type + " has not");
    supersede({"full_attention_interval", "sliding_window_pattern", "_sliding_window_pattern",
               "max_window_layers", "use_sliding_window", "global_attn_every_n_layers",
               "full_attn_idxs"});
    if (!contains(types, sliding_attention) && !family.compressed)
      supersede({family.window_key.data()});
    if (family.last_full) types.back() = full_attention;
    return types;
  }

  /// Whether any layer slides, where no key lists the types.
  bool slides() {
    auto const flag = this->flag("use_sliding_window");
    if (flag == false || !window()) {
      if (flag == false) supersede({"sliding_window"});
      supersede({"sliding_window_pattern", "_sliding_window_pattern", "max_window_layers"});
      return false;
    }
    if (!family.window_needs_flag || flag) return true;
    assumed("use_sliding_window", std::string("false"));
    supersede({"sliding_window", "max_window_layers"});
    return false;
  }

  layer_types types_by_pattern() {
    constexpr auto pattern = "sliding_window_pattern";
    if (has(pattern) && peek(pattern).is_string()) {  // LLLG in EXAONE 4
      return layer_types_by_letter(*this, pattern,
                                   {{'L', sliding_attention}, {'G', full_attention}},
                                   "be a number, or letters L and G");
    }
    auto const n =
        count({pattern, "_sliding_window_pattern", "global_attn_every_n_layers"}, most_dims);
    return n ? full_every(*this, *n, sliding_attention) : layer_types();
  }
  void assume_full_every() {
    constexpr char const* places[]{"", ", from the first on,", ", counted from the last back,"};
    auto const n = family.full_every;
    auto const ordinal = n == 2 ? "nd" : n == 3 ? "rd" : "th";
    assumed("layer_types", "every " + shown(n) + ordinal + " layer" +
                               places[static_cast<std::size_t>(family.full_at)] +
                               " full_attention, the others sliding_attention");
  }
  layer_types types_by_rule() {
    auto const limit = family.max_window_layers;
    layer_types types(found.layers, std::string(full_attention));
    if (!family.slides && !family.nope_slide && limit == 0) {
      auto const key = std::string(family.window_key);
      if (has(key)) {
        ignore(setting(key));
        note(key + " is not read: " + found.type + " has full attention.");
      }
      return types;
    }
    if (!is_known) {
      assume("layer_types", sliding_attention,
             "sliding_window is given and layer_types is not: taken for every layer.");
    }
    auto const rotate = family.nope_slide ? rotated_by_keys() : std::vector(types.size(), false);
    auto const first = limit == 0 ? 0
                       : has("max_window_layers")
                           ? count_or_zero("max_window_layers", most_dims).value_or(0)
                           : assumed("max_window_layers", limit);
    for (std::size_t i = 0; i < types.size(); ++i) {
      bool const slides = family.even_slide ? i < first && i % 2 == 0 : i >= first && !rotate[i];
      if (slides) types[i] = sliding_attention;
    }
    return types;
  }

  static bool attends(std::size_t) { return true; }  // the types say it

  /// Which of the layers with attention rotate. Reads what lists say of each.
  std::vector<bool> rotated(layer_types const& types) {
    using enum rotation_rule;
    auto const rule = family.rotation;
    auto result = rotated_by_keys();
    if (rule == no_layer) {
      auto const named = text("attention_type");
      require(!named || named->ends_with("nope"), "attention_type", "end in nope");
    }
    auto const nope_key = family.nope_key;
    bool const is_nope_all = !nope_key.empty() && flag(nope_key).value_or(rule == no_layer);
    require(is_nope_all || nope_key.empty() || rule != no_layer, nope_key,
            "be true: rotation in its latent attention is not read");
    auto const position = text("position_embedding_type");
    auto const rotary = family.positions == position_rule::learned_or_rotary ? "rotary" : "rope";
    bool const is_rope = position == rotary || position == "rope_gptj" || position == "absolute";
    require(!position || is_rope || position == "nope", "position_embedding_type",
            "be rope, rope_gptj or nope");
    bool const never = position == "nope" || rule == no_layer || is_nope_all ||
                       (rule == if_position_type_is_rope && position != "rope");
    bool const with_dense = rule == sliding_and_dense_layers;
    bool const only_sliding = (rule == sliding_layers || with_dense) && window();
    auto const dense = with_dense ? dense_layers() : std::vector(types.size(), false);
    bases_ = numbers_by_layer(*this, "layer_rope_theta");  // 0 is NoPE
    bool const bases_decide = !bases_.empty();
    if (!bases_decide) bases_ = numbers_by_layer(*this, "rope_theta");
    require(std::ranges::all_of(bases_, [](double x) { return x == 0 || x > 1; }),
            bases_decide ? "layer_rope_theta" : "rope_theta",
            "hold bases above 1, or 0 where a layer does not rotate");
    parts_ = numbers_by_layer(*this, "partial_rotary_factors");
    shares_index_ = layers_that_share_index(*this);
    for (std::size_t i = 0; i < types.size(); ++i) {
      bool const slides = types[i] == sliding_attention;
      bool const is_nope = bases_decide ? bases_[i] == 0 : family.full_are_nope && !slides;
      result[i] = result[i] && !never && !is_nope && (!only_sliding || slides || dense[i]);
    }
    return result;
  }

  /// Whether layers that rotate see a chunk.
  bool is_chunked() {
    if (!family.chunked_where_rotated || has("layer_types")) return false;
    assumed("layer_types",
            std::string("chunked_attention for layers with RoPE, full_attention for others"));
    return true;
  }

  void add_what_lists_say(scheduled_layer& layer, std::size_t i) {
    bool const slides = layer.type == sliding_attention;
    auto const sinks =
        flag(slides ? "add_swa_attention_sink_bias" : "add_full_attention_sink_bias");
    layer.sinks = sinks.value_or(family.sinks || (family.sliding_sinks && slides));
    if (!layer.rotates) return;
    if (shares_index_[i]) {
      layer.shares_index = true;
      layer.name += ", shared index";
    }
    if (!bases_.empty()) {
      layer.base = bases_[i];
      layer.name += ", base " + shown(layer.base);
    }
    if (!parts_.empty()) layer.partial = parts_[i];
  }

 private:
  /// Which layers rotate by no_rope_layers, or the family's interval.
  std::vector<bool> rotated_by_keys() {
    std::vector<bool> rotated(found.layers, true);
    if (auto const given = numbers("no_rope_layers"); given && !given->empty()) {
      require_entries(*this, "no_rope_layers", given->size());
      for (std::size_t i = 0; i < given->size(); ++i) {
        auto const used = (*given)[i];
        detail::require(used == 0 || used == 1,
                        "no_rope_layers must hold 0 (no RoPE) or 1 (RoPE), got ", used,
                        " at layer ", i);
        if (i < rotated.size()) rotated[i] = used == 1;
      }
      supersede({"no_rope_layer_interval"});
      return rotated;
    }
    if (family.nope_every == 0) return rotated;
    auto const n = count_or("no_rope_layer_interval", most_dims, family.nope_every);
    for (auto i = n - 1; i < rotated.size(); i += n) rotated[i] = false;
    return rotated;
  }

  /// Which layers are no mixtures of experts: in Cohere 2 MoE these rotate though they do not
  /// slide.
  std::vector<bool> dense_layers() const {
    std::vector<bool> dense(found.layers, false);
    if (count("prefix_dense_sliding_window_pattern", most_dims).value_or(1) != 1) return dense;
    auto const types = texts("mlp_layer_types");
    if (types) require_entries(*this, "mlp_layer_types", types->size());
    auto const first = types ? 0 : count_or_zero("first_k_dense_replace", most_dims).value_or(0);
    for (std::size_t i = 0; i < dense.size(); ++i)
      dense[i] = types ? (*types)[i] == "dense" : i < first;
    return dense;
  }

  std::vector<double> bases_, parts_;  // of each layer, if a list has them
  std::vector<bool> shares_index_;
};

}}}  // namespace posenc::detail
